//! The surface of an implicit shape as triangles: naive surface nets on a grid, then every vertex moved onto the zero
//! set in double precision.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::ImplicitShape;
use super::manifold::separate_sheets;
use super::naive_surface_nets::Samples;
use super::prepared::Prepared;
use crate::SurfaceMesh;
use crate::stuffing::SignedField;
use supple_core::{Error, memory};

/// Maximum size of the grid.
pub const MAX_SAMPLES: f64 = 2e8;
/// Working memory per sample, in bytes.
const SAMPLE_BYTES: f64 = 10.0;

/// The surface of a shape on a grid of cubes with sides of `cell` metres: a closed manifold that faces outward, its
/// vertices on the zero set. Parts thinner than a cell may be lost; where parts come within a cell of each other,
/// their vertices may coincide.
pub fn surface(shape: &ImplicitShape, cell: f64) -> Result<SurfaceMesh, Error> {
    shape.validate()?;
    let shape = &Prepared::new(shape);
    let grid = SampleGrid::new(shape.bounds(), cell)?;
    let samples = grid.sample(shape);
    let net = Samples { values: &samples, counts: grid.counts }.net();
    if net.triangles.is_empty() {
        let size = (shape.bounds().1 - shape.bounds().0).max_element();
        return Err(Error::Invalid(format!(
            "no point of a grid with a cell of {cell} m lies inside the shape, whose size is {size} m; use a smaller \
             cell"
        )));
    }
    let mut positions = net.positions.iter().map(|p| grid.position(p.as_dvec3())).collect();
    let mut triangles = net.triangles;
    separate_sheets(&mut positions, &mut triangles);
    positions.par_iter_mut().for_each(|p| *p = project(shape, *p, cell));
    Ok(SurfaceMesh::from_triangles(positions, &triangles))
}

struct SampleGrid {
    counts: [u32; 3],
    low: DVec3,
    cell: f64,
}

impl SampleGrid {
    /// A grid centred on the bounds with two cells to spare on every side.
    fn new((low, high): (DVec3, DVec3), cell: f64) -> Result<Self, Error> {
        if !(cell.is_finite() && cell > 0.0) {
            return Err(Error::Invalid(format!("the cell is {cell} m; it must be a positive length")));
        }
        let cells = ((high - low) / cell).ceil() + 4.0;
        let samples = (cells + 1.0).to_array().iter().product::<f64>();
        if samples > MAX_SAMPLES {
            return Err(Error::Invalid(format!(
                "a cell of {cell} m needs a grid of {samples:.3e} samples; the limit is {MAX_SAMPLES:.0e}: use a larger \
                 cell"
            )));
        }
        let what = format!("a grid of {samples:.3e} samples for a cell of {cell} m");
        let remedy = |excess: f64| format!("use a cell of at least {:.2e} m", cell * excess.cbrt());
        memory::require(&what, SAMPLE_BYTES * samples, remedy)?;
        let counts = (cells + 1.0).to_array().map(|n| n as u32);
        Ok(Self { counts, low: 0.5 * (low + high) - 0.5 * cell * cells, cell })
    }

    fn position(&self, coordinates: DVec3) -> DVec3 {
        self.low + self.cell * coordinates
    }

    /// The field at every grid point in units of the cell, x fastest. Only signs and the values next to the surface
    /// matter, so single precision suffices, and rows are skipped in strides where the surface is far.
    fn sample(&self, shape: &Prepared) -> Vec<f32> {
        let [nx, ny, nz] = self.counts;
        let mut samples = vec![0.0; nx as usize * ny as usize * nz as usize];
        samples.par_chunks_mut(nx as usize).enumerate().for_each(|(row, samples)| {
            let (y, z) = ((row as u32 % ny).into(), (row as u32 / ny).into());
            let mut x = 0;
            while x < samples.len() {
                let value = shape.value(self.position(DVec3::new(x as f64, y, z))) / self.cell;
                // The field changes by no more than one per cell: the next samples have the same sign.
                let same = ((value.abs() - 1.0).max(1.0) as usize).min(samples.len() - x);
                samples[x..x + same].fill(keep_sign(value));
                x += same;
            }
        });
        samples
    }
}

/// The value in single precision; one that would round to zero keeps its sign.
fn keep_sign(value: f64) -> f32 {
    if value < 0.0 { (value as f32).min(-f32::MIN_POSITIVE) } else { value as f32 }
}

/// Newton steps along the gradient, none longer than a fifth of the cell, so that neighbours do not fold over.
fn project(shape: &Prepared, start: DVec3, cell: f64) -> DVec3 {
    let mut point = start;
    for _ in 0..20 {
        let value = shape.value(point);
        if value.abs() < 1e-13 * cell {
            break;
        }
        let gradient = gradient(shape, point, 1e-5 * cell);
        let slope = gradient.length_squared();
        if slope < 0.01 {
            break;
        }
        point -= (gradient * (value / slope)).clamp_length_max(0.2 * cell);
    }
    if point.is_finite() && point.distance(start) < cell { point } else { start }
}

fn gradient(shape: &Prepared, point: DVec3, step: f64) -> DVec3 {
    let slope =
        |axis: DVec3| (shape.value(point + step * axis) - shape.value(point - step * axis)) / (2.0 * step);
    DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z))
}
