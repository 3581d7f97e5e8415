//! Naive surface nets (Gibson 1998, "Constrained elastic surface nets", without the relaxation): every cube of the
//! grid with corners on both sides of the surface gets a vertex at the mean of the sign changes of the field along
//! its edges, and every grid edge that crosses the surface connects the vertices of the four cubes around it to a
//! quadrilateral, split along its shorter diagonal.

use glam::Vec3;

/// In the table of cubes: a cube without a vertex.
const NO_VERTEX: u32 = u32::MAX;

/// Samples of a field on a grid, x fastest; negative inside.
pub(super) struct Samples<'a> {
    pub(super) values: &'a [f32],
    pub(super) counts: [u32; 3],
}

/// Vertices in grid units, and triangles that face outwards.
#[derive(Debug, Default)]
pub(super) struct Net {
    pub(super) positions: Vec<Vec3>,
    pub(super) triangles: Vec<[u32; 3]>,
}

impl Samples<'_> {
    /// The distance in the list between neighbours along each axis.
    fn strides(&self) -> [usize; 3] {
        let [nx, ny, _] = self.counts.map(|n| n as usize);
        [1, nx, nx * ny]
    }

    fn index(&self, [x, y, z]: [u32; 3]) -> usize {
        let [_, row, plane] = self.strides();
        x as usize + row * y as usize + plane * z as usize
    }

    /// The surface of the field. It must not reach the outermost layer of samples.
    pub(super) fn net(&self) -> Net {
        let mut net = Net::default();
        let mut vertex_of_cube = vec![NO_VERTEX; self.values.len()];
        let mut cubes = Vec::new();
        let [nx, ny, nz] = self.counts.map(|n| n.saturating_sub(1));
        for z in 0..nz {
            for y in 0..ny {
                for x in 0..nx {
                    let cube = self.index([x, y, z]);
                    if let Some(within) = self.vertex_in(cube) {
                        vertex_of_cube[cube] = net.positions.len() as u32;
                        net.positions.push(Vec3::new(x as f32, y as f32, z as f32) + within);
                        cubes.push([x, y, z]);
                    }
                }
            }
        }
        for cube in cubes {
            (0..3).for_each(|axis| self.join_cubes(cube, axis, &vertex_of_cube, &mut net));
        }
        net
    }

    /// The vertex of a cube, from its lowest corner; `None` where all corners are on one side.
    fn vertex_in(&self, cube: usize) -> Option<Vec3> {
        let strides = self.strides();
        let mut values = [0.0; 8];
        for (corner, value) in values.iter_mut().enumerate() {
            let offset = (0..3).filter(|axis| corner >> axis & 1 == 1).map(|axis| strides[axis]);
            *value = self.values[cube + offset.sum::<usize>()];
        }
        let inside = values.iter().filter(|value| **value < 0.0).count();
        if inside == 0 || inside == 8 {
            return None;
        }
        let place = |corner: usize| Vec3::from_array([0, 1, 2].map(|axis| (corner >> axis & 1) as f32));
        let (mut sum, mut count) = (Vec3::ZERO, 0.0);
        for corner in 0..8 {
            for other in (0..3).map(|axis| corner | 1 << axis).filter(|other| *other != corner) {
                let (here, there) = (values[corner], values[other]);
                if (here < 0.0) != (there < 0.0) {
                    let along = here / (here - there);
                    sum += (1.0 - along) * place(corner) + along * place(other);
                    count += 1.0;
                }
            }
        }
        Some(sum / count)
    }

    /// Joins the four cubes around the edge that leaves a cube's lowest corner along `axis`, where it crosses the surface.
    fn join_cubes(&self, cube: [u32; 3], axis: usize, vertex_of_cube: &[u32], net: &mut Net) {
        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
        if cube[b] == 0 || cube[c] == 0 || cube[axis] + 2 >= self.counts[axis] {
            return;
        }
        let (start, strides) = (self.index(cube), self.strides());
        let leaves = match (self.values[start] < 0.0, self.values[start + strides[axis]] < 0.0) {
            (true, false) => true,
            (false, true) => false,
            _ => return,
        };
        let offsets = [0, strides[b], strides[c], strides[b] + strides[c]];
        let [first, next_b, next_c, opposite] = offsets.map(|offset| vertex_of_cube[start - offset]);
        let between = |a: u32, b: u32| net.positions[a as usize].distance_squared(net.positions[b as usize]);
        let quad = if between(first, opposite) < between(next_b, next_c) {
            match leaves {
                true => [[first, next_b, opposite], [first, opposite, next_c]],
                false => [[first, opposite, next_b], [first, next_c, opposite]],
            }
        } else {
            match leaves {
                true => [[next_b, opposite, next_c], [next_b, next_c, first]],
                false => [[next_b, next_c, opposite], [next_b, first, next_c]],
            }
        };
        net.triangles.extend(quad);
    }
}
