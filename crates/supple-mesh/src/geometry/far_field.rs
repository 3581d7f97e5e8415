//! The far field of a patch of triangles in the winding number: a Taylor series of the dipole potential around the
//! patch's centre up to its second derivatives (Barill 2018, equations 10 to 13, taken in full). Only the symmetric
//! parts of the moments matter, since the derivatives are symmetric.

use glam::DVec3;

/// The moments of a patch: with `y` from the centre to a point of the patch and `n` the normal, the integrals of
/// `n`, `y n` and `y y n` over the patch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FarField {
    /// Area in square metres.
    area: f64,
    /// Area-weighted centre.
    pub center: DVec3,
    /// Largest distance from the centre to a corner.
    pub radius: f64,
    zeroth: DVec3,
    first: [f64; 6],
    second: [f64; 10],
}

/// The entries of a symmetric tensor of order two, and how often each occurs in the full tensor.
const PAIRS: [([usize; 2], f64); 6] =
    [([0, 0], 1.0), ([1, 1], 1.0), ([2, 2], 1.0), ([0, 1], 2.0), ([0, 2], 2.0), ([1, 2], 2.0)];

/// The same of order three.
const TRIPLES: [([usize; 3], f64); 10] = [
    ([0, 0, 0], 1.0),
    ([1, 1, 1], 1.0),
    ([2, 2, 2], 1.0),
    ([0, 0, 1], 3.0),
    ([0, 0, 2], 3.0),
    ([0, 1, 1], 3.0),
    ([1, 1, 2], 3.0),
    ([0, 2, 2], 3.0),
    ([1, 2, 2], 3.0),
    ([0, 1, 2], 6.0),
];

impl FarField {
    /// 4 pi times the patch's winding number; `r` goes from the query to the patch's centre.
    pub(super) fn at(&self, r: DVec3) -> f64 {
        let inverse_square = r.length_squared().recip();
        let (m, t) = (&self.first, &self.second);
        let first_trace = m[0] + m[1] + m[2];
        let second_trace = DVec3::new(t[0] + t[5] + t[7], t[3] + t[1] + t[8], t[4] + t[6] + t[2]);
        let first_along: f64 =
            PAIRS.iter().zip(m).map(|(([i, j], times), m)| times * m * r[*i] * r[*j]).sum();
        let second_along: f64 =
            TRIPLES.iter().zip(t).map(|(([i, j, k], times), t)| times * t * r[*i] * r[*j] * r[*k]).sum();
        let first = first_trace - 3.0 * inverse_square * first_along;
        let second = 2.5 * inverse_square * second_along - 1.5 * second_trace.dot(r);
        let inverse_cube = inverse_square * inverse_square.sqrt();
        inverse_cube * (self.zeroth.dot(r) + first + 3.0 * inverse_square * second)
    }

    /// The moments of one triangle.
    pub(super) fn of_triangle(&[a, b, c]: &[DVec3; 3]) -> Self {
        let zeroth = 0.5 * (b - a).cross(c - a);
        let center = (a + b + c) / 3.0;
        let arms = [a - center, b - center, c - center];
        let radius = arms.iter().map(|arm| arm.length()).fold(0.0, f64::max);
        // The integral of y y^T over a triangle is its area times the mean of its corners' over 4.
        let second = std::array::from_fn(|e| arms.iter().map(|&arm| cubic(arm, zeroth, e) / 12.0).sum());
        Self { area: zeroth.length(), center, radius, zeroth, first: [0.0; 6], second }
    }

    /// The moments of several patches about their common centre.
    pub(super) fn of_parts(parts: &[Self]) -> Self {
        let area: f64 = parts.iter().map(|p| p.area).sum();
        let weighted = parts.iter().map(|p| p.area * p.center).sum::<DVec3>() / area;
        let plain = parts.iter().map(|p| p.center).sum::<DVec3>() / parts.len().max(1) as f64;
        let center = if area > 0.0 && weighted.is_finite() { weighted } else { plain };
        let mut sum = Self { area, center, ..Self::default() };
        for part in parts {
            sum.add_moved(part);
        }
        sum
    }

    fn add_moved(&mut self, part: &Self) {
        let d = part.center - self.center;
        self.radius = self.radius.max(d.length() + part.radius);
        self.zeroth += part.zeroth;
        let n = part.zeroth;
        for (e, ([i, j], _)) in PAIRS.iter().enumerate() {
            self.first[e] += part.first[e] + 0.5 * (d[*i] * n[*j] + d[*j] * n[*i]);
        }
        for (e, ([i, j, k], _)) in TRIPLES.iter().enumerate() {
            let m = |i: usize, j: usize| part.first[pair(i, j)];
            let mixed = (d[*i] * m(*j, *k) + d[*j] * m(*i, *k) + d[*k] * m(*i, *j)) / 3.0;
            self.second[e] += part.second[e] + 2.0 * mixed + cubic(d, n, e);
        }
    }
}

/// Entry `e` of the symmetric part of `y y n`.
fn cubic(y: DVec3, n: DVec3, e: usize) -> f64 {
    let [i, j, k] = TRIPLES[e].0;
    (y[i] * y[j] * n[k] + y[i] * n[j] * y[k] + n[i] * y[j] * y[k]) / 3.0
}

/// The index of an entry in [`PAIRS`].
fn pair(i: usize, j: usize) -> usize {
    if i == j { i } else { 2 + i + j }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::winding_number::solid_angle;

    fn patch() -> Vec<[DVec3; 3]> {
        let at =
            |i: u32| DVec3::new(f64::from(i * 7 % 5), f64::from(i * 3 % 7), f64::from(i * 5 % 11)) / 12.0;
        (0..9).map(|i| [at(i), at(2 * i + 1), at(3 * i + 2)]).collect()
    }

    #[test]
    fn the_error_falls_with_the_fifth_power_of_the_distance() {
        // The first truncated term is of order (radius / distance)^5: the series stops after distance^-4.
        let fields: Vec<FarField> = patch().iter().map(FarField::of_triangle).collect();
        let field = FarField::of_parts(&[FarField::of_parts(&fields[..4]), FarField::of_parts(&fields[4..])]);
        let error = |distance: f64| {
            let query = field.center + distance * DVec3::new(0.48, 0.6, 0.64);
            let exact: f64 = patch().iter().map(|t| solid_angle(t, query)).sum();
            (field.at(field.center - query) - exact).abs()
        };
        for distance in [8.0, 16.0] {
            let ratio = error(distance) / error(2.0 * distance);
            assert!((24.0..42.0).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn a_patch_is_the_same_however_it_is_grouped() {
        let fields: Vec<FarField> = patch().iter().map(FarField::of_triangle).collect();
        let at_once = FarField::of_parts(&fields);
        let nested =
            FarField::of_parts(&[FarField::of_parts(&fields[..2]), FarField::of_parts(&fields[2..])]);
        assert!(at_once.center.distance(nested.center) < 1e-14);
        let differences = at_once.second.iter().zip(&nested.second).map(|(a, b)| (a - b).abs());
        assert!(differences.fold(0.0, f64::max) < 1e-14);
    }
}
