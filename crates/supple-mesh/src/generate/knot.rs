//! A strip of cloth tied into an overhand knot: a flat strip bent along the polynomial trefoil of Shastri (1992),
//! `(t³ - 3t, t⁴ - 4t², 0.4 (t⁵ - 10t))`, with straight ends. Lengths along the centre line are preserved.

use glam::DVec3;

use super::{ClothGrid, GridPattern, KnotShape, check_length};
use crate::SurfaceMesh;
use supple_core::Error;

/// The knotted part of the curve ends at plus and minus this parameter.
const KNOT_END: f64 = 2.1;
/// Length of each straight end, in the curve's unit.
const TAIL: f64 = 4.0;
/// Segments of the curve for measuring its length.
const PIECES: u32 = 8192;
/// A strip must be at least this many times as long as wide: the shorter it is, the closer its turns are.
const SLENDERNESS: f64 = 80.0;

impl KnotShape {
    /// The strip as triangles, numbered as those of a flat [`ClothGrid`] of its length and width.
    pub fn surface(&self, resolution: f64) -> Result<SurfaceMesh, Error> {
        check_length("knot's length", self.length)?;
        check_length("knot's width", self.width)?;
        if self.length < SLENDERNESS * self.width {
            return Err(Error::Invalid(format!(
                "a knot in a strip of {} m by {} m: it would intersect itself; make it at least {SLENDERNESS} times as long as \
                 wide",
                self.length, self.width
            )));
        }
        let flat = ClothGrid {
            size: [self.length, self.width],
            vertices: self.vertices,
            pattern: GridPattern::Regular,
            seed: 0,
        };
        let mut mesh = flat.surface(resolution)?;
        let curve = KnotCurve::new(self.length);
        mesh.positions.iter_mut().for_each(|p| *p = curve.place(p.x + 0.5 * self.length, p.z));
        Ok(mesh)
    }
}

/// The centre line of the strip as a polygon, with the length up to each of its corners.
struct KnotCurve {
    corners: Vec<DVec3>,
    lengths: Vec<f64>,
}

impl KnotCurve {
    fn new(length: f64) -> Self {
        let parameter = |i: u32| KNOT_END * (2.0 * f64::from(i) / f64::from(PIECES) - 1.0);
        let knot = (0..=PIECES).map(|i| trefoil(parameter(i)));
        let tail = |t: f64| trefoil(t) + TAIL * t.signum() * tangent(t);
        let mut corners: Vec<DVec3> = [tail(-KNOT_END)].into_iter().chain(knot).collect();
        corners.push(tail(KNOT_END));
        let mut lengths = vec![0.0];
        for pair in corners.windows(2) {
            lengths.push(lengths[lengths.len() - 1] + pair[0].distance(pair[1]));
        }
        let scale = length / lengths[lengths.len() - 1];
        corners.iter_mut().for_each(|p| *p *= scale);
        lengths.iter_mut().for_each(|l| *l *= scale);
        Self { corners, lengths }
    }

    /// The point at a length along the curve and a distance across it, as closely along z as the curve allows.
    fn place(&self, along: f64, across: f64) -> DVec3 {
        let after = self.lengths.partition_point(|&l| l < along).clamp(1, self.lengths.len() - 1);
        let [from, to] = [after - 1, after].map(|i| self.corners[i]);
        let [low, high] = [after - 1, after].map(|i| self.lengths[i]);
        let direction = (to - from).normalize();
        let side = (DVec3::Z - DVec3::Z.project_onto_normalized(direction)).normalize();
        from.lerp(to, (along - low) / (high - low)) + across * side
    }
}

fn trefoil(t: f64) -> DVec3 {
    DVec3::new(t.powi(3) - 3.0 * t, t.powi(4) - 4.0 * t * t, 0.4 * (t.powi(5) - 10.0 * t))
}

fn tangent(t: f64) -> DVec3 {
    DVec3::new(3.0 * t * t - 3.0, 4.0 * t.powi(3) - 8.0 * t, 0.4 * (5.0 * t.powi(4) - 10.0)).normalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::triangle_overlap::triangles_overlap;

    #[test]
    fn the_strip_keeps_its_length_and_width_and_does_not_cut_itself() {
        let shape = KnotShape { length: 4.0, width: 0.05, vertices: [401, 3] };
        let mesh = shape.surface(1.0).unwrap();
        let middle: Vec<DVec3> = mesh.positions[401..802].to_vec();
        let length: f64 = middle.windows(2).map(|p| p[0].distance(p[1])).sum();
        assert!((length / 4.0 - 1.0).abs() < 1e-3, "{length}");
        let widths = (0..401).map(|i| mesh.positions[i].distance(mesh.positions[802 + i]));
        assert!(widths.into_iter().all(|w| (w / 0.05 - 1.0).abs() < 1e-9));
        let triangles = mesh.triangles();
        for (i, &a) in triangles.iter().enumerate() {
            for &b in &triangles[i + 1..] {
                let shared = a.iter().filter(|v| b.contains(v)).count();
                assert!(shared > 0 || !triangles_overlap(&mesh.positions, a, b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn the_strip_is_knotted_as_a_trefoil_is() {
        // Seen along z the middle line crosses itself three times, alternately over and under: t = s at the roots of
        // s² + st + t² = 3 with s² + t² = 4 or s = -t.
        let [a, b, c] = [(2.0 + 3.0f64.sqrt()).sqrt(), (2.0 - 3.0f64.sqrt()).sqrt(), 3.0f64.sqrt()];
        let order = [-a, -c, -b, b, c, a];
        let partner = [b, c, a, -a, -c, -b];
        let over: Vec<bool> = order
            .iter()
            .zip(partner)
            .map(|(&t, s)| {
                let (here, there) = (trefoil(t), trefoil(s));
                assert!((here - there).truncate().length() < 1e-12);
                here.z > there.z
            })
            .collect();
        assert!(over.windows(2).all(|pair| pair[0] != pair[1]), "{over:?}");
    }

    #[test]
    fn strips_too_wide_for_a_knot_are_refused() {
        let error = KnotShape { length: 1.0, width: 0.1, vertices: [100, 5] }.surface(1.0).unwrap_err();
        assert!(error.to_string().contains("80 times as long as wide"), "{error}");
    }
}
