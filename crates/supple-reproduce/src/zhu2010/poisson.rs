//! Figure 10's reference: a V(1,1)-cycle for the Laplacian on a periodic cube, lexicographic Gauss-Seidel, full
//! weighting and trilinear interpolation.

/// A periodic cube of points.
struct Cube {
    n: usize,
    u: Vec<f64>,
    b: Vec<f64>,
}

impl Cube {
    fn new(n: usize) -> Self {
        Self { n, u: vec![0.0; n * n * n], b: vec![0.0; n * n * n] }
    }

    fn index(&self, at: [usize; 3]) -> usize {
        at[0] + self.n * (at[1] + self.n * at[2])
    }

    fn neighbours(&self, at: [usize; 3]) -> f64 {
        let mut sum = 0.0;
        for axis in 0..3 {
            for step in [1, self.n - 1] {
                let mut near = at;
                near[axis] = (at[axis] + step) % self.n;
                sum += self.u[self.index(near)];
            }
        }
        sum
    }

    fn points(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let n = self.n;
        (0..n * n * n).map(move |p| [p % n, p / n % n, p / (n * n)])
    }

    /// In units of the square of the spacing.
    fn smooth(&mut self) {
        for at in self.points() {
            let p = self.index(at);
            self.u[p] = (self.neighbours(at) - self.b[p]) / 6.0;
        }
    }

    fn residual(&self) -> Vec<f64> {
        self.points()
            .map(|at| self.b[self.index(at)] - self.neighbours(at) + 6.0 * self.u[self.index(at)])
            .collect()
    }
}

/// The neighbours of a coarse point on the finer cube, with the weights of the trilinear interpolation.
fn around(at: [usize; 3], n: usize) -> impl Iterator<Item = ([usize; 3], f64)> {
    (0..27).map(move |k| {
        let steps = [k % 3, k / 3 % 3, k / 9];
        let near = std::array::from_fn(|axis| (2 * at[axis] + n + steps[axis] - 1) % n);
        (near, steps.iter().map(|s| if *s == 1 { 1.0 } else { 0.5 }).product())
    })
}

fn cycle(cubes: &mut [Cube]) {
    let Some((fine, rest)) = cubes.split_first_mut() else { return };
    let Some(coarse) = rest.first_mut() else {
        (0..100).for_each(|_| fine.smooth());
        return;
    };
    fine.smooth();
    let residual = fine.residual();
    for at in coarse.points() {
        let sum: f64 = around(at, fine.n).map(|(near, weight)| weight * residual[fine.index(near)]).sum();
        let p = coarse.index(at);
        // An eighth is the mean, and the spacing's square is four times as large.
        coarse.b[p] = 4.0 * sum / 8.0;
    }
    coarse.u.fill(0.0);
    cycle(rest);
    let coarse = &rest[0];
    for at in coarse.points() {
        let value = coarse.u[coarse.index(at)];
        for (near, weight) in around(at, fine.n) {
            let p = fine.index(near);
            fine.u[p] += weight * value;
        }
    }
    fine.smooth();
}

/// The factor of the residual in cycles 12 to 17 from random values.
pub(super) fn periodic_poisson_rate(n: usize) -> f64 {
    let sizes = std::iter::successors(Some(n), |n| (*n > 4).then_some(n / 2));
    let mut cubes: Vec<Cube> = sizes.map(Cube::new).collect();
    let mut state = 1u64;
    for u in &mut cubes[0].u {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *u = (state >> 33) as f64 / (1u64 << 31) as f64 - 0.5;
    }
    let mut norms = Vec::new();
    for _ in 0..18 {
        cycle(&mut cubes);
        norms.push(cubes[0].residual().iter().map(|r| r * r).sum::<f64>().sqrt());
    }
    (norms[17] / norms[11]).powf(1.0 / 6.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The asymptotic rate of this cycle is a quarter; the paper's 0.19 is what its third cycle from random values shows.
    #[test]
    fn the_laplacian_converges_as_theory_says() {
        let rate = periodic_poisson_rate(32);
        assert!((0.23..=0.27).contains(&rate), "{rate}");
    }
}
