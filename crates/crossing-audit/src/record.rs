//! The record of one frame: a header in JSON, then states.
//!
//! ```text
//! "SUPSTATE"  u32 version = 1  u32 length  header (JSON of this length)
//! then records until the end of the file:
//! u32 kind  u32 origin  u64 count  count numbers of 64 bits
//! ```
//!
//! Everything is little-endian. Numbers of a state: time, the coordinates of all points (those of bodies, then those of colliders), eight
//! per solid. Numbers of a step's end: time, the intended coordinates of the colliders' points, eight per solid, the number of hard pins,
//! point and three coordinates of each, then the points released from contact.

use anyhow::{Context, Result, bail, ensure};
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// First bytes of a file.
pub const MAGIC: &[u8; 8] = b"SUPSTATE";
/// The version that is read.
pub const VERSION: u32 = 1;

/// What can touch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The frame's number.
    pub frame: u32,
    /// Whether states follow one another by straight displacements; otherwise each stands by itself.
    #[serde(default = "yes")]
    pub swept: bool,
    /// Surfaces of triangles: bodies, then colliders.
    pub surfaces: Vec<Surface>,
    /// Spheres, capsules and half-spaces.
    pub solids: Vec<SolidName>,
    /// Which of them must not cross: two surfaces, or a surface and a solid (numbered after the surfaces). A surface and itself: contact of a
    /// body with itself.
    pub pairs: Vec<[usize; 2]>,
}

fn yes() -> bool {
    true
}

/// A surface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Surface {
    /// The name of its body or collider.
    pub name: String,
    /// Whether it is a collider.
    pub collider: bool,
    /// Whether it encloses a volume.
    pub closed: bool,
    /// Its first point, and the one after its last.
    pub points: [usize; 2],
    /// Corners of its triangles, among all points. Corners at the same place at the start have the same number.
    pub triangles: Vec<[usize; 3]>,
}

/// A shape without triangles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SolidName {
    /// The name of its collider.
    pub name: String,
    /// What it is.
    pub kind: SolidKind,
}

/// Kinds of solids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SolidKind {
    /// Everything within a radius of a segment: eight numbers are its ends, the radius and 0. A sphere has equal ends.
    Capsule,
    /// Eight numbers are a point of the plane, the normal to the free side and two zeros.
    Plane,
}

/// A solid at some time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solid {
    /// What it is.
    pub kind: SolidKind,
    /// First end, or a point of the plane.
    pub a: DVec3,
    /// Second end, or the normal.
    pub b: DVec3,
    /// Radius.
    pub radius: f64,
}

/// Everything at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// In seconds.
    pub time: f64,
    /// All points.
    pub points: Vec<DVec3>,
    /// All solids.
    pub solids: Vec<Solid>,
}

/// Where things belong at the end of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepEnd {
    /// In seconds.
    pub time: f64,
    /// The colliders' points.
    pub driven: Vec<DVec3>,
    /// The solids.
    pub solids: Vec<Solid>,
    /// Hard pins and their targets.
    pub pins: Vec<(usize, DVec3)>,
    /// Points released from contact in this step.
    pub released: Vec<usize>,
}

/// One record.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// A state to which the step returns, or where it starts.
    Restart(State),
    /// A state reached from the one before on straight lines; where in the step is the origin.
    Piece(State, u32),
    /// A step ends.
    End(StepEnd),
}

/// The record of a frame.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameRecord {
    /// What can touch.
    pub header: Header,
    /// States in order.
    pub records: Vec<Record>,
}

impl Header {
    /// Points of bodies and of colliders.
    pub fn point_counts(&self) -> [usize; 2] {
        let end = |collider: bool| {
            self.surfaces.iter().filter(|s| s.collider == collider).map(|s| s.points[1]).max().unwrap_or(0)
        };
        let bodies = end(false);
        [bodies, end(true).saturating_sub(bodies)]
    }

    fn check(&self) -> Result<()> {
        let [bodies, driven] = self.point_counts();
        for surface in &self.surfaces {
            let [begin, end] = surface.points;
            ensure!(begin <= end, "surface `{}` has its points from {begin} to {end}", surface.name);
            ensure!(
                !surface.collider || begin >= bodies,
                "collider `{}` has points among those of bodies",
                surface.name
            );
            let outside = surface.triangles.iter().flatten().find(|p| **p >= bodies + driven);
            if let Some(point) = outside {
                bail!("surface `{}` uses point {point} of {}", surface.name, bodies + driven);
            }
        }
        let things = self.surfaces.len() + self.solids.len();
        if let Some([a, b]) = self.pairs.iter().find(|[a, b]| *a >= self.surfaces.len() || *b >= things) {
            bail!("the pair {a}, {b} is not one of a surface and one of {things} surfaces and solids");
        }
        Ok(())
    }
}

/// Reads the record of a frame.
pub fn read(bytes: &[u8]) -> Result<FrameRecord> {
    let mut rest = bytes;
    ensure!(take(&mut rest, 8)? == MAGIC, "not a record of states: it does not start with SUPSTATE");
    let version = word(&mut rest)?;
    ensure!(version == VERSION, "version {version} of the record; this program reads {VERSION}");
    let length = word(&mut rest)? as usize;
    let header: Header = serde_json::from_slice(take(&mut rest, length)?).context("the header is damaged")?;
    header.check()?;
    let mut records = Vec::new();
    while !rest.is_empty() {
        records.push(one(&header, &mut rest).with_context(|| format!("record {}", records.len()))?);
    }
    Ok(FrameRecord { header, records })
}

/// Writes the record of a frame.
pub fn write(frame: &FrameRecord) -> Result<Vec<u8>> {
    let header = serde_json::to_vec(&frame.header)?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header);
    for record in &frame.records {
        let (kind, origin, numbers) = match record {
            Record::Restart(state) => (0u32, 0, state_numbers(state)),
            Record::Piece(state, origin) => (1, *origin, state_numbers(state)),
            Record::End(end) => (2, 0, end_numbers(end)),
        };
        bytes.extend(kind.to_le_bytes());
        bytes.extend(origin.to_le_bytes());
        bytes.extend((numbers.len() as u64).to_le_bytes());
        bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    }
    Ok(bytes)
}

fn state_numbers(state: &State) -> Vec<f64> {
    let mut numbers = vec![state.time];
    numbers.extend(state.points.iter().flat_map(|p| p.to_array()));
    numbers.extend(state.solids.iter().flat_map(solid_numbers));
    numbers
}

fn end_numbers(end: &StepEnd) -> Vec<f64> {
    let mut numbers = vec![end.time];
    numbers.extend(end.driven.iter().flat_map(|p| p.to_array()));
    numbers.extend(end.solids.iter().flat_map(solid_numbers));
    numbers.push(end.pins.len() as f64);
    numbers.extend(end.pins.iter().flat_map(|(point, p)| [*point as f64, p.x, p.y, p.z]));
    numbers.extend(end.released.iter().map(|point| *point as f64));
    numbers
}

fn solid_numbers(solid: &Solid) -> [f64; 8] {
    let Solid { a, b, radius, .. } = solid;
    [a.x, a.y, a.z, b.x, b.y, b.z, *radius, 0.0]
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    ensure!(rest.len() >= count, "the file ends too early");
    let (head, tail) = rest.split_at(count);
    *rest = tail;
    Ok(head)
}

fn word(rest: &mut &[u8]) -> Result<u32> {
    Ok(u32::from_le_bytes(take(rest, 4)?.try_into()?))
}

fn one(header: &Header, rest: &mut &[u8]) -> Result<Record> {
    let (kind, origin) = (word(rest)?, word(rest)?);
    let count = u64::from_le_bytes(take(rest, 8)?.try_into()?);
    ensure!(count <= rest.len() as u64 / 8, "the file ends too early");
    let numbers = take(rest, 8 * count as usize)?;
    let mut numbers = numbers.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap_or_default()));
    let mut numbers = Numbers { left: &mut numbers };
    let [bodies, driven] = header.point_counts();
    let record = match kind {
        0 => Record::Restart(numbers.state(header, bodies + driven)?),
        1 => Record::Piece(numbers.state(header, bodies + driven)?, origin),
        2 => Record::End(numbers.end(header, driven)?),
        _ => bail!("unknown kind {kind}"),
    };
    ensure!(numbers.left.next().is_none(), "it has too many numbers");
    Ok(record)
}

struct Numbers<'a> {
    left: &'a mut dyn Iterator<Item = f64>,
}

impl Numbers<'_> {
    fn number(&mut self) -> Result<f64> {
        let number = self.left.next().context("it has too few numbers")?;
        ensure!(number.is_finite(), "a number is not finite");
        Ok(number)
    }

    fn vector(&mut self) -> Result<DVec3> {
        Ok(DVec3::new(self.number()?, self.number()?, self.number()?))
    }

    fn vectors(&mut self, count: usize) -> Result<Vec<DVec3>> {
        (0..count).map(|_| self.vector()).collect()
    }

    fn solids(&mut self, header: &Header) -> Result<Vec<Solid>> {
        let mut solid = |name: &SolidName| -> Result<Solid> {
            let (a, b, radius) = (self.vector()?, self.vector()?, self.number()?);
            self.number()?;
            Ok(Solid { kind: name.kind, a, b, radius })
        };
        header.solids.iter().map(&mut solid).collect()
    }

    fn state(&mut self, header: &Header, points: usize) -> Result<State> {
        Ok(State { time: self.number()?, points: self.vectors(points)?, solids: self.solids(header)? })
    }

    fn end(&mut self, header: &Header, driven: usize) -> Result<StepEnd> {
        let (time, driven, solids) = (self.number()?, self.vectors(driven)?, self.solids(header)?);
        let pins = self.number()? as usize;
        let pins = (0..pins).map(|_| Ok((self.number()? as usize, self.vector()?)));
        let pins = pins.collect::<Result<Vec<_>>>()?;
        let released = std::iter::from_fn(|| self.left.next()).map(|point| point as usize).collect();
        Ok(StepEnd { time, driven, solids, pins, released })
    }
}
