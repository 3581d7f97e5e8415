//! The finest octants intersected by a triangle mesh (Milne 2016, section 6): each triangle descends from the root into
//! every octant that it overlaps.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::octant::Octant;

/// Triangles per task.
const CHUNK: usize = 256;

/// All finest octants under a root of height `root` that some triangles, in finest cells, overlap or touch; sorted.
pub(super) fn rasterise(positions: &[DVec3], triangles: &[[u32; 3]], root: u8) -> Vec<Octant> {
    let of_chunk = |chunk: &[[u32; 3]]| {
        let mut found = Vec::new();
        for triangle in chunk {
            let corners = triangle.map(|v| positions[v as usize]);
            if corners.iter().all(|p| p.is_finite()) {
                descend(&RasterTriangle::new(corners), Octant::new([0; 3], root), &mut found);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    };
    let parts: Vec<Vec<Octant>> = triangles.par_chunks(CHUNK).map(of_chunk).collect();
    let mut all = parts.concat();
    all.par_sort_unstable();
    all.dedup();
    all
}

fn descend(triangle: &RasterTriangle, octant: Octant, found: &mut Vec<Octant>) {
    let half = 0.5 * f64::from(octant.size());
    let centre = DVec3::from_array(octant.anchor().map(f64::from)) + half;
    if !triangle.overlaps(centre, half) {
        return;
    }
    if octant.height() == 0 {
        found.push(octant.on_surface());
        return;
    }
    (0..8).for_each(|number| descend(triangle, octant.child(number), found));
}

/// A triangle with its candidate separating axes from a box.
struct RasterTriangle {
    corners: [DVec3; 3],
    low: DVec3,
    high: DVec3,
    normal: DVec3,
}

impl RasterTriangle {
    fn new(corners: [DVec3; 3]) -> Self {
        let [a, b, c] = corners;
        Self { corners, low: a.min(b).min(c), high: a.max(b).max(c), normal: (b - a).cross(c - a) }
    }

    /// Whether it intersects the cube around `centre`: no axis separates them (Akenine-Möller 2001).
    fn overlaps(&self, centre: DVec3, half: f64) -> bool {
        if (self.low - centre).max_element() > half || (centre - self.high).max_element() > half {
            return false;
        }
        let away = self.normal.dot(self.corners[0] - centre).abs();
        let extent = half * (self.normal.x.abs() + self.normal.y.abs() + self.normal.z.abs());
        away <= extent && !self.edge_separates(centre, half)
    }

    fn edge_separates(&self, centre: DVec3, half: f64) -> bool {
        let corners = self.corners.map(|p| p - centre);
        let edges = [corners[1] - corners[0], corners[2] - corners[1], corners[0] - corners[2]];
        let separates = |axis: DVec3| {
            let along = corners.map(|p| p.dot(axis));
            let extent = half * (axis.x.abs() + axis.y.abs() + axis.z.abs());
            let (low, high) = (along[0].min(along[1]).min(along[2]), along[0].max(along[1]).max(along[2]));
            low > extent || high < -extent
        };
        edges.iter().any(|e| {
            separates(DVec3::new(0.0, -e.z, e.y))
                || separates(DVec3::new(e.z, 0.0, -e.x))
                || separates(DVec3::new(-e.y, e.x, 0.0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slanted_triangle_fills_every_octant_in_which_a_dense_sample_of_it_lies() {
        let corners = [DVec3::new(0.3, 0.4, 0.2), DVec3::new(14.6, 3.3, 5.1), DVec3::new(4.2, 15.2, 11.7)];
        let octants = rasterise(&corners, &[[0, 1, 2]], 4);
        assert!(octants.windows(2).all(|pair| pair[0] < pair[1]));
        let mut sampled: Vec<Octant> = Vec::new();
        for i in 0..=400 {
            for j in 0..=400 - i {
                let (u, v) = (f64::from(i) / 400.0, f64::from(j) / 400.0);
                let point = corners[0] + u * (corners[1] - corners[0]) + v * (corners[2] - corners[0]);
                sampled.push(Octant::new(point.to_array().map(|c| c as u16), 0));
            }
        }
        sampled.sort_unstable();
        sampled.dedup();
        assert!(sampled.iter().all(|octant| octants.binary_search(octant).is_ok()));
        // Samples may miss octants that are only touched at a tip, but not many.
        assert!(octants.len() < sampled.len() + sampled.len() / 20, "{} {}", octants.len(), sampled.len());
    }

    #[test]
    fn triangles_without_area_and_not_finite_ones_do_no_harm() {
        let positions = [DVec3::splat(1.5), DVec3::new(6.5, 1.5, 1.5), DVec3::NAN];
        let octants = rasterise(&positions, &[[0, 0, 0], [0, 1, 0], [0, 1, 2]], 3);
        assert_eq!(octants.len(), 6);
    }
}
