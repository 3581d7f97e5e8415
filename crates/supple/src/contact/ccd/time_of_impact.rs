//! When two moving primitives would touch: additive continuous collision detection (Li, Kaufman and Jiang 2021,
//! "Codimensional incremental potential contact", algorithm 1). The distance cannot shrink faster than
//! [`PrimitivePair::approach`], so a step of `d / approach` is always safe; such steps are accumulated until little of the initial
//! distance is left. No polynomial is solved, so there is no root to miss. This holds up to rounding: distance and bound
//! are computed in double precision without error bounds; the margin that is kept absorbs their rounding in practice, not provably.

use glam::DVec3;

use crate::contact::distance::closest_points::PrimitivePair;

/// The fraction of the initial distance that remains when a motion ends.
const MIN_SEPARATION_FRACTION: f64 = 0.1;
/// The same where the distance is small already.
const MAX_SEPARATION_LEFT: f64 = 0.9;
/// The fraction of a safe step that is taken.
const CONSERVATIVE_RESCALING: f64 = 0.9;
/// The fraction of a distance at the floor by which the first step may change it.
const FIRST_AT_FLOOR: f64 = 0.5;
/// Steps after which the search stops early, with less than the whole displacement.
const MAX_STEPS: u32 = 400;

/// The fraction of its activation distance below which a pair approaches only slowly.
const MIN_PROGRESS: f64 = 1e-3;
/// The fraction of its activation distance to which a pair comes by any number of motions. One that is nearer keeps what it has, up to
/// [`LEAST_LOSS`] per motion, which allows for rounding where primitives slide along each other.
const FLOOR: f64 = 1e-5;
const LEAST_LOSS: f64 = 1e-4;

/// The distance to which a pair at some `distance` may come in one motion: a tenth of it, but no less than a small part of its activation
/// distance `reach`, and no more than that itself, so that only motions into the active range are ever shortened. Points that are very
/// near already lose at most a tenth of their distance, and at the floor none: otherwise repeated motions would exhaust double precision.
fn enough(distance: f64, reach: f64) -> f64 {
    let left = (MIN_PROGRESS * reach / distance).clamp(MIN_SEPARATION_FRACTION, MAX_SEPARATION_LEFT);
    let floor = (FLOOR * reach).min((1.0 - LEAST_LOSS) * distance);
    (left * distance).max(floor).min(reach)
}

/// The fraction, 0 to `until`, of the `moves` that four points may make before their distance has shrunk so far that a pair with the
/// activation distance `reach` in metres must be tested again; less than the time of impact up to rounding, and zero for NaN. A displacement along
/// which two primitives pass each other for hundreds of times their distance may be shortened as well.
pub fn time_of_impact(
    kind: PrimitivePair,
    points: &[DVec3; 4],
    moves: &[DVec3; 4],
    reach: f64,
    until: f64,
) -> f64 {
    time_of_impact_within(kind, points, moves, [reach, 0.0], until)
}

/// The same where the distance of the primitives may be less than that of the uniformly moving points by up to `slack` metres.
pub fn time_of_impact_within(
    kind: PrimitivePair,
    points: &[DVec3; 4],
    moves: &[DVec3; 4],
    [reach, slack]: [f64; 2],
    until: f64,
) -> f64 {
    let distance = |gone: f64| kind.distance(&std::array::from_fn(|i| points[i] + gone * moves[i])) - slack;
    additive_advance(distance, kind.approach(moves), reach, until)
}

/// The fraction up to `until` of a displacement that may be made before a distance, of which `distance(fraction)` is a lower bound and
/// which changes by no more than `approach` over the whole displacement, has shrunk so far that it must be tested again.
pub(crate) fn additive_advance(distance: impl Fn(f64) -> f64, approach: f64, reach: f64, until: f64) -> f64 {
    let first = distance(0.0);
    if !first.is_finite() || !approach.is_finite() || first < 0.0 {
        return 0.0;
    }
    let enough = enough(first, reach);
    if first - enough >= approach * until {
        return until;
    }
    let mut gone = 0.0;
    // At the floor the first step is safe, but may come too near: then there is none.
    let at_floor = first <= 2.0 * FLOOR * reach;
    let mut step = if at_floor { FIRST_AT_FLOOR * first } else { first - enough } / approach;
    for _ in 0..MAX_STEPS {
        let next = gone + step;
        if next >= until && !at_floor {
            return until;
        }
        let next = next.min(until);
        let distance = distance(next);
        if (gone > 0.0 || at_floor) && distance < enough {
            break;
        }
        if next >= until {
            return until;
        }
        gone = next;
        step = CONSERVATIVE_RESCALING * distance / approach;
    }
    gone
}

/// Whether [`time_of_impact`] returns the whole `until` for every pair that is no nearer than `distance` and approaches by no
/// more than `approach` over the whole displacement.
pub(crate) fn is_collision_free(distance: f64, approach: f64, reach: f64, until: f64) -> bool {
    distance > 0.0 && distance - enough(distance, reach) > (1.0 + 1e-9) * approach * until
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::tests::vector;
    use proptest::prelude::*;

    /// Smaller than distances of random points.
    const REACH: f64 = 1e-6;

    /// The first root in (0, 1] of the cubic volume of the four moving points at which the primitives truly touch, by an
    /// independent method: signs of the volume on a fine grid, then bisection, then the inside test.
    fn touching_time(kind: PrimitivePair, p: &[DVec3; 4], m: &[DVec3; 4]) -> Option<f64> {
        let at = |t: f64| -> [DVec3; 4] { std::array::from_fn(|i| p[i] + t * m[i]) };
        let volume = |t: f64| {
            let [a, b, c, d] = at(t);
            (b - a).cross(c - a).dot(d - a)
        };
        const CELLS: usize = 2000;
        for i in 0..CELLS {
            let (mut low, mut high) = (i as f64 / CELLS as f64, (i + 1) as f64 / CELLS as f64);
            if volume(low) * volume(high) > 0.0 {
                continue;
            }
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if volume(low) * volume(middle) > 0.0 { low = middle } else { high = middle }
            }
            if kind.distance(&at(low)) < 1e-9 {
                return Some(low);
            }
        }
        None
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn motion_ends_before_the_true_time_of_impact(
            p in prop::array::uniform4(vector(1.0)),
            m in prop::array::uniform4(vector(2.0)),
        ) {
            for kind in [PrimitivePair::VertexTriangle, PrimitivePair::EdgeEdge] {
                let free = time_of_impact(kind, &p, &m, REACH, 1.0);
                prop_assert!((0.0..=1.0).contains(&free));
                if let Some(touching) = touching_time(kind, &p, &m) {
                    prop_assert!(free < touching, "{kind:?}: {free} is not before {touching}");
                } else {
                    // A pair that never touches is shortened only where it comes near.
                    let at = |t: f64| -> [DVec3; 4] { std::array::from_fn(|i| p[i] + t * m[i]) };
                    // That is where its distance may have vanished at the speed of its approach. Passing at a hundredth of the way is near.
                    let approach = kind.approach(&m);
                    let span = kind.distance(&at(free)) / approach;
                    let passing = (0..=400).map(|i| kind.distance(&at(free + span * f64::from(i) / 400.0)));
                    let nearest = passing.fold(f64::INFINITY, f64::min);
                    prop_assert!(free == 1.0 || nearest < 0.01 * approach, "{kind:?}: {free} {nearest}");
                }
            }
        }

        #[test]
        fn some_distance_is_always_left(
            p in prop::array::uniform4(vector(1.0)),
            m in prop::array::uniform4(vector(50.0)),
        ) {
            for kind in [PrimitivePair::VertexTriangle, PrimitivePair::EdgeEdge] {
                let free = time_of_impact(kind, &p, &m, REACH, 1.0);
                let end: [DVec3; 4] = std::array::from_fn(|i| p[i] + free * m[i]);
                prop_assert!(kind.distance(&end) > 0.05 * kind.distance(&p).min(1e-6));
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_surely_free_is_free(
            p in prop::array::uniform4(vector(1.0)),
            m in prop::array::uniform4(vector(0.3)),
            (reach, until, less) in (1e-6..3.0f64, 0.1..1.0f64, 0.5..1.0f64),
        ) {
            let free = |kind: &PrimitivePair| is_collision_free(less * kind.distance(&p), kind.approach(&m), reach, until);
            let kinds: Vec<PrimitivePair> = [PrimitivePair::VertexTriangle, PrimitivePair::EdgeEdge].into_iter().filter(free).collect();
            prop_assume!(!kinds.is_empty());
            for kind in kinds {
                prop_assert_eq!(time_of_impact(kind, &p, &m, reach, until), until);
            }
        }
    }

    proptest! {
        /// However often a vertex tries to pass a triangle, it stays where double precision can tell on which side it is.
        #[test]
        fn repeated_motions_do_not_exhaust_the_distance(
            (start, angle) in (-12.0..-3.0f64, 0.0..1.5f64),
            reach in 1e-4..1e-2f64,
        ) {
            let first = 10f64.powf(start) * reach.min(1e-3) / 1e-3;
            let mut p = [[0.2, first, 0.2], [0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]].map(DVec3::from);
            let mut moves = [DVec3::ZERO; 4];
            moves[0] = DVec3::new(angle.sin(), -angle.cos(), 0.0) * 1e-3;
            let kind = PrimitivePair::VertexTriangle;
            let tries = 300;
            for _ in 0..tries {
                p[0] += time_of_impact(kind, &p, &moves, reach, 1.0) * moves[0];
            }
            let least = (FLOOR * reach).min(first) * (1.0 - LEAST_LOSS).powi(tries);
            prop_assert!(kind.distance(&p) >= 0.99 * least, "{} of {first}, {least}", kind.distance(&p));
        }

        /// The floor stops no motion that leads away or along.
        #[test]
        fn what_is_at_the_floor_may_leave(start in -12.0..-3.0f64, away in 0.0..1.0f64) {
            let mut p = [[0.2, 10f64.powf(start), 0.2], [0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]].map(DVec3::from);
            let mut moves = [DVec3::ZERO; 4];
            moves[0] = DVec3::new(0.1, away, 0.0);
            let kind = PrimitivePair::VertexTriangle;
            if away > 0.2 {
                prop_assert_eq!(time_of_impact(kind, &p, &moves, 1e-3, 1.0), 1.0);
            }
            // Two vertices of an edge that slides along: nothing approaches.
            p[0].y = 1e-10;
            moves[0] = DVec3::ZERO;
            prop_assert_eq!(time_of_impact(kind, &p, &moves, 1e-3, 1.0), 1.0);
        }
    }

    #[test]
    fn common_motion_is_no_approach() {
        let p = [[0.2, 1e-3, 0.2], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]].map(DVec3::from);
        let away = [DVec3::new(3.0, -200.0, 7.0); 4];
        assert_eq!(time_of_impact(PrimitivePair::VertexTriangle, &p, &away, REACH, 1.0), 1.0);
    }
}
