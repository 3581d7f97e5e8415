//! Whether a Newton direction is short: then the step counts as solved.
//!
//! A direction may be short because the minimum is near, or because little was solved: after a few iterations of a weak preconditioner
//! all that is soft is still missing from it. So the solve of a short direction is continued to ever smaller residuals, until that
//! no longer changes where any vertex goes:
//!
//! ```text
//! d₀ at the residual η₀;   dᵢ at ηᵢ = η₀ / 10ⁱ;   short if max |dᵢ| <= limit and max |dᵢ - dᵢ₋₁| <= limit / 10
//! ```
//!
//! A direction that turns out to be long is none the worse: the descent goes on along it.

use glam::DVec3;

/// The factor from one residual to the next.
const STAGE: f64 = 0.1;
/// The smallest relative residual to which a direction is solved.
const SMALLEST_RESIDUAL: f64 = 1e-9;
/// A change of a direction that counts as none, over the limit.
const LEAST_CHANGE: f64 = 0.1;

/// The test, with its workspace.
#[derive(Default)]
pub(crate) struct ShortStep {
    before: Vec<DVec3>,
}

impl ShortStep {
    /// Whether a direction that was solved to a relative residual moves no vertex farther than `limit`, in metres. `solve` continues from
    /// the direction to a smaller residual and returns the one it reached; `None` if it cannot. An infinite residual is one that is unknown.
    pub(crate) fn is_short(
        &mut self,
        direction: &mut [DVec3],
        residual: f64,
        limit: f64,
        solve: &mut dyn FnMut(&mut [DVec3], f64) -> Option<f64>,
    ) -> bool {
        let is_long = |direction: &[DVec3]| farthest(direction.iter().copied()) > limit;
        if limit <= 0.0 || is_long(direction) {
            return false;
        }
        let mut residual = residual;
        if residual > 1.0 {
            let Some(found) = solve(direction, 1.0) else { return false };
            residual = found;
        }
        while residual > SMALLEST_RESIDUAL {
            self.before.clear();
            self.before.extend_from_slice(direction);
            let Some(found) = solve(direction, STAGE * residual) else { return false };
            if is_long(direction) {
                return false;
            }
            let changes = direction.iter().zip(&self.before).map(|(now, before)| *now - *before);
            if farthest(changes) <= LEAST_CHANGE * limit {
                return true;
            }
            residual = found.min(STAGE * residual);
        }
        !is_long(direction)
    }
}

/// The length of the longest vector.
pub(crate) fn farthest(vectors: impl Iterator<Item = DVec3>) -> f64 {
    vectors.map(|d| d.length_squared()).fold(0.0, f64::max).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stiff unknown that is solved at once, and a soft one that is reached only at the residual `found`.
    fn soft_mode(found: f64, length: f64, limit: f64) -> bool {
        let mut direction = [DVec3::X * 1e-6, DVec3::ZERO];
        let mut solve = |direction: &mut [DVec3], residual: f64| {
            if residual < found {
                direction[1] = DVec3::Y * length;
            }
            Some(residual)
        };
        ShortStep::default().is_short(&mut direction, 0.5, limit, &mut solve)
    }

    #[test]
    fn what_the_next_stage_finds_counts() {
        assert!(!soft_mode(0.1, 1.0, 1e-3));
        assert!(soft_mode(0.1, 1e-4, 1e-3));
        // Without a limit nothing is short.
        assert!(!soft_mode(0.1, 0.0, 0.0));
    }

    #[test]
    fn a_solve_that_fails_proves_nothing() {
        let mut direction = [DVec3::ZERO];
        assert!(!ShortStep::default().is_short(&mut direction, 0.1, 1.0, &mut |_, _| None));
    }

    #[test]
    fn what_is_solved_tightly_is_not_solved_again() {
        let mut direction = [DVec3::ZERO];
        let mut never = |_: &mut [DVec3], _: f64| -> Option<f64> { panic!("solved again") };
        assert!(ShortStep::default().is_short(&mut direction, 1e-10, 1.0, &mut never));
    }
}
