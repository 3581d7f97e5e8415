//! The disc of section 9.2: `(x - 1/2)^2 + (y - 1/2)^2 <= 1/16` in plane strain, deformed by
//!
//! ```text
//! phi(x, y) = 2 x / sqrt(pi) (cos(pi y / 2), sin(pi y / 2)),                                                   (17)
//! P = mu (F + F^T - 2 I) + lambda tr(F - I) I,     F = grad phi,
//! f = div P = mu laplace(phi) + (mu + lambda) grad div(phi),     t = P N on the outline.
//! ```
//!
//! The paper fixes two quadrants of the outline (a figure shows which), and prescribes tractions on the others. Here
//! the left and the right quadrants are fixed.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

pub(super) const CENTRE: f64 = 0.5;
pub(super) const RADIUS: f64 = 0.25;

/// Lamé's parameters for Young's modulus 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct DiscMaterial {
    pub mu: f64,
    pub lambda: f64,
}

impl DiscMaterial {
    /// From Poisson's ratio.
    pub(super) fn new(ratio: f64) -> Self {
        Self { mu: 0.5 / (1.0 + ratio), lambda: ratio / ((1.0 + ratio) * (1.0 - 2.0 * ratio)) }
    }

    /// `P` of the known deformation.
    pub(super) fn stress(self, at: [f64; 2]) -> [[f64; 2]; 2] {
        let f = gradient(at);
        let dilation = self.lambda * (f[0][0] + f[1][1] - 2.0);
        let shear = self.mu * (f[0][1] + f[1][0]);
        let normal = |k: usize| 2.0 * self.mu * (f[k][k] - 1.0) + dilation;
        [[normal(0), shear], [shear, normal(1)]]
    }

    /// The divergence of the stress; the body is in equilibrium under its negative.
    pub(super) fn divergence(self, [x, y]: [f64; 2]) -> [f64; 2] {
        let (sin, cos) = (FRAC_PI_2 * y).sin_cos();
        let scale = 2.0 / PI.sqrt() * FRAC_PI_2;
        let both = self.mu + self.lambda;
        [
            scale * cos * (both - self.mu * FRAC_PI_2 * x),
            -scale * sin * (both * (1.0 + FRAC_PI_2 * x) + self.mu * FRAC_PI_2 * x),
        ]
    }
}

/// `F` of equation 17.
fn gradient([x, y]: [f64; 2]) -> [[f64; 2]; 2] {
    let (sin, cos) = (FRAC_PI_2 * y).sin_cos();
    let scale = 2.0 / PI.sqrt();
    [[scale * cos, -scale * FRAC_PI_2 * x * sin], [scale * sin, scale * FRAC_PI_2 * x * cos]]
}

/// The displacement `phi - X`, the exact solution.
pub(super) fn displacement([x, y]: [f64; 2]) -> [f64; 2] {
    let (sin, cos) = (FRAC_PI_2 * y).sin_cos();
    let scale = 2.0 * x / PI.sqrt();
    [scale * cos - x, scale * sin - y]
}

/// Whether a point is in one of the quadrants whose outline is fixed.
pub(super) fn in_fixed_quadrant([x, y]: [f64; 2]) -> bool {
    (x - CENTRE).abs() >= (y - CENTRE).abs()
}

/// The distance from the centre.
pub(super) fn distance([x, y]: [f64; 2]) -> f64 {
    (x - CENTRE).hypot(y - CENTRE)
}

/// A point of the outline.
pub(super) fn on_outline(angle: f64) -> [f64; 2] {
    let (sin, cos) = angle.sin_cos();
    [CENTRE + RADIUS * cos, CENTRE + RADIUS * sin]
}

/// A force on a point of the outline, with the outward normal there.
pub(super) struct PointForce {
    pub at: [f64; 2],
    pub normal: [f64; 2],
    pub force: [f64; 2],
}

/// The traction of both free quadrants as forces on the corners of a polygon with this many segments per quadrant:
/// half of length times traction goes to each end.
pub(super) fn outline_forces(material: DiscMaterial, segments: usize) -> Vec<PointForce> {
    let mut forces = Vec::new();
    for quadrant in [FRAC_PI_4, 5.0 * FRAC_PI_4] {
        let angle = |place: f64| quadrant + FRAC_PI_2 * place / segments as f64;
        for n in 0..segments {
            let ends = [angle(n as f64), angle((n + 1) as f64)];
            let (sin, cos) = angle(n as f64 + 0.5).sin_cos();
            let stress = material.stress(on_outline(angle(n as f64 + 0.5)));
            let half = RADIUS * (0.5 * (ends[1] - ends[0])).sin();
            let force = stress.map(|row| half * (row[0] * cos + row[1] * sin));
            forces.extend(ends.map(|end| PointForce { at: on_outline(end), normal: [cos, sin], force }));
        }
    }
    forces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The closed forms agree with differences of the solution.
    #[test]
    fn gradient_and_divergence_are_those_of_the_deformation() {
        let (material, h) = (DiscMaterial::new(0.3), 1e-4);
        for at in [[0.5, 0.7], [0.3, 0.45], [0.66, 0.52]] {
            let step = |k: usize, by: f64| std::array::from_fn(|i| at[i] + if i == k { by } else { 0.0 });
            let mut divergence = [0.0; 2];
            for k in 0..2 {
                let [a, b] = [step(k, -h), step(k, h)];
                let [ua, ub] = [displacement(a), displacement(b)];
                let [pa, pb] = [material.stress(a), material.stress(b)];
                for i in 0..2 {
                    let unit = if i == k { 1.0 } else { 0.0 };
                    assert!(((ub[i] - ua[i]) / (2.0 * h) + unit - gradient(at)[i][k]).abs() < 1e-6);
                    divergence[i] += (pb[i][k] - pa[i][k]) / (2.0 * h);
                }
            }
            let found = material.divergence(at);
            (0..2).for_each(|i| assert!((found[i] - divergence[i]).abs() < 1e-6, "{found:?} {divergence:?}"));
        }
    }

    /// Forces on the outline and inside it balance the reactions of fixed points: zero if the whole outline is free.
    #[test]
    fn forces_on_the_outline_are_the_integral_of_tractions() {
        let material = DiscMaterial::new(0.3);
        let sum = |segments| {
            let forces = outline_forces(material, segments);
            [0, 1].map(|i| forces.iter().map(|f| f.force[i]).sum::<f64>())
        };
        let (coarse, fine) = (sum(40), sum(80));
        (0..2).for_each(|i| assert!((coarse[i] - fine[i]).abs() < 1e-4 * fine[i].abs().max(0.1)));
    }
}
