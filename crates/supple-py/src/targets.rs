//! Vertices driven by the caller, numbered over all bodies like positions.

use glam::DVec3;
use supple::Error;
use supple::scene::PinStrength;
use supple::simulation::{BodyId, PinId, Simulation};

/// The vertices driven now.
#[derive(Default)]
pub(crate) struct Targets {
    vertices: Vec<u32>,
    stiffness: Option<f64>,
    /// The targets of the vertices.
    places: Vec<DVec3>,
    /// The pin of each body, and which of the vertices it contains.
    pins: Vec<(PinId, Vec<usize>)>,
}

/// The targets of vertices as stored in checkpoints.
pub(crate) struct SavedTargets {
    vertices: Vec<u32>,
    stiffness: Option<f64>,
    places: Vec<DVec3>,
}

impl SavedTargets {
    /// Their number, the stiffness (NaN for hard pins), the vertices, the positions.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend((self.vertices.len() as u32).to_le_bytes());
        bytes.extend(self.stiffness.unwrap_or(f64::NAN).to_le_bytes());
        bytes.extend(self.vertices.iter().flat_map(|vertex| vertex.to_le_bytes()));
        bytes.extend(self.places.iter().flat_map(|place| place.to_array()).flat_map(f64::to_le_bytes));
    }

    /// Reads them from the front of `bytes`; `None` if they are truncated.
    pub(crate) fn read(bytes: &mut &[u8]) -> Option<Self> {
        let count = u32::from_le_bytes(take(bytes)?);
        // Never more than there are bytes for, whatever the stored count.
        if bytes.len() < 8 + 28 * count as usize {
            return None;
        }
        let stiffness = f64::from_le_bytes(take(bytes)?);
        let vertices = (0..count).map(|_| Some(u32::from_le_bytes(take(bytes)?))).collect::<Option<_>>()?;
        let mut number = || Some(f64::from_le_bytes(take(bytes)?));
        let places =
            (0..count).map(|_| Some(DVec3::new(number()?, number()?, number()?))).collect::<Option<_>>()?;
        Some(Self { vertices, stiffness: (!stiffness.is_nan()).then_some(stiffness), places })
    }
}

/// The next `N` bytes.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = bytes.split_first_chunk()?;
    *bytes = left;
    Some(*taken)
}

impl Targets {
    /// For a checkpoint.
    pub(crate) fn saved(&self) -> SavedTargets {
        let Self { vertices, stiffness, places, .. } = self;
        SavedTargets { vertices: vertices.clone(), stiffness: *stiffness, places: places.clone() }
    }

    /// Restores the targets of a checkpoint.
    pub(crate) fn restore(&mut self, simulation: &mut Simulation, saved: SavedTargets) -> Result<(), Error> {
        self.set(simulation, saved.vertices, &saved.places, saved.stiffness)
    }

    /// Drives these vertices to these positions, replacing earlier targets. On error nothing changes.
    pub(crate) fn set(
        &mut self,
        simulation: &mut Simulation,
        vertices: Vec<u32>,
        places: &[DVec3],
        stiffness: Option<f64>,
    ) -> Result<(), Error> {
        refuse_bad_places(&vertices, places)?;
        if vertices != self.vertices || stiffness != self.stiffness {
            let mut next = Self { vertices, stiffness, ..Self::default() };
            if let Err(error) = next.hold(simulation) {
                next.release(simulation)?;
                return Err(error);
            }
            std::mem::replace(self, next).release(simulation)?;
        }
        self.places = places.to_vec();
        self.pins.iter().try_for_each(|(pin, held)| {
            let own: Vec<DVec3> = held.iter().map(|&i| places[i]).collect();
            simulation.set_targets(*pin, &own)
        })
    }

    /// Releases all vertices.
    pub(crate) fn release(&mut self, simulation: &mut Simulation) -> Result<(), Error> {
        let pins = std::mem::take(self).pins;
        pins.into_iter().try_for_each(|(pin, _)| simulation.unpin(pin))
    }

    fn hold(&mut self, simulation: &mut Simulation) -> Result<(), Error> {
        let hold = self.stiffness.map_or(PinStrength::Hard, PinStrength::Stiffness);
        for (body, first, count) in bodies(simulation) {
            let is_own = |vertex: u32| (first..first + count).contains(&(vertex as usize));
            let held: Vec<usize> = (0..self.vertices.len()).filter(|&i| is_own(self.vertices[i])).collect();
            if !held.is_empty() {
                let own: Vec<u32> = held.iter().map(|&i| self.vertices[i] - first as u32).collect();
                self.pins.push((simulation.hold_vertices(body, &own, hold)?, held));
            }
        }
        Ok(())
    }
}

fn refuse_bad_places(vertices: &[u32], places: &[DVec3]) -> Result<(), Error> {
    if vertices.len() != places.len() {
        let (n, m) = (vertices.len(), places.len());
        return Err(Error::Invalid(format!(
            "{n} vertices and {m} positions; there must be one position per vertex"
        )));
    }
    if let Some(i) = places.iter().position(|place| !place.is_finite()) {
        return Err(Error::Invalid(format!("position {i} is {}; it must be finite", places[i])));
    }
    let mut sorted = vertices.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::Invalid(format!("vertex {} is listed twice", pair[0]))),
        None => Ok(()),
    }
}

/// Every body with its first vertex and its number of vertices.
fn bodies(simulation: &Simulation) -> Vec<(BodyId, usize, usize)> {
    let scene_state = simulation.scene_state();
    let mut first = 0;
    let body = |(id, body): (&BodyId, &supple::body::Body)| {
        let count = body.embedding.len();
        first += count;
        (*id, first - count, count)
    };
    scene_state.body_ids.iter().zip(&scene_state.bodies).map(body).collect()
}
