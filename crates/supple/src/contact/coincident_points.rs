//! Points joined by a seam, or separated by a tear: contact treats them as one when it tests for common vertices.

use crate::body::ActiveSeam;
use crate::body::Body;
use supple_mesh::geometry::DisjointSets;

/// Which points are sewn to which.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CoincidentPoints {
    /// For each point the first of those that coincide with it, if there is any seam.
    group: Vec<u32>,
    /// Pairs of groups, sorted: vertices and the ends of the edges to which they are sewn.
    pairs: Vec<[u32; 2]>,
    /// For each group whether it is in a pair.
    paired: Vec<bool>,
}

impl CoincidentPoints {
    /// The points of some seams and pairs of `torn` points; `stands_for` gives the representative of each point.
    pub(super) fn new(bodies: &[Body], seams: &[ActiveSeam], stands_for: &[u32], torn: &[[u32; 2]]) -> Self {
        if seams.is_empty() && torn.is_empty() {
            return Self::default();
        }
        let points = point_of_unknown(bodies, stands_for);
        let mut sets = DisjointSets::new(stands_for.len());
        torn.iter().for_each(|[a, b]| sets.join(*a as usize, *b as usize));
        let mut partial = Vec::new();
        for seam in seams {
            let [first, second] = seam.bodies.map(|body| &points[body]);
            for sewn in &seam.stitches {
                let ends = |side: [(u32, f64); 2], points: &[u32]| -> Vec<u32> {
                    side.iter().filter(|(_, w)| *w != 0.0).map(|(v, _)| points[*v as usize]).collect()
                };
                match (&ends(sewn.first, first)[..], &ends(sewn.second, second)[..]) {
                    (&[a], &[b]) => sets.join(a as usize, b as usize),
                    (one, other) => {
                        partial.extend(one.iter().flat_map(|&a| other.iter().map(move |&b| [a, b])));
                    }
                }
            }
        }
        let group: Vec<u32> = (0..stands_for.len()).map(|point| sets.find(point).0 as u32).collect();
        let ordered = |[a, b]: [u32; 2]| {
            let [a, b] = [a, b].map(|p| group[p as usize]);
            [a.min(b), a.max(b)]
        };
        let mut pairs: Vec<[u32; 2]> = partial.into_iter().map(ordered).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut paired = vec![false; group.len()];
        pairs.as_flattened().iter().for_each(|&p| paired[p as usize] = true);
        Self { group, pairs, paired }
    }

    /// Whether a point of one list is sewn to one of the other.
    pub(super) fn any(&self, first: &[u32], second: &[u32]) -> bool {
        !self.group.is_empty() && first.iter().any(|&a| second.iter().any(|&b| self.are_sewn(a, b)))
    }

    fn are_sewn(&self, a: u32, b: u32) -> bool {
        // Points of colliders follow those of bodies and are sewn to nothing.
        let group = |p: u32| self.group.get(p as usize).copied();
        let (Some(a), Some(b)) = (group(a), group(b)) else { return false };
        let paired = || self.paired[a as usize] && self.paired[b as usize];
        a == b || (paired() && self.pairs.binary_search(&[a.min(b), a.max(b)]).is_ok())
    }
}

/// For each body and unknown the point that represents it.
fn point_of_unknown(bodies: &[Body], stands_for: &[u32]) -> Vec<Vec<u32>> {
    let mut first = 0;
    let of_body = |body: &Body| {
        let mut points = vec![0; body.start.len()];
        for point in 0..body.embedding.len() {
            if let [(v, _)] = body.embedding.weights(point) {
                points[*v as usize] = stands_for[first + point];
            }
        }
        first += body.embedding.len();
        points
    };
    bodies.iter().map(of_body).collect()
}
