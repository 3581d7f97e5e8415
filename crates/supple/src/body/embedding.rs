//! Material points as short lists of (unknown, weight). Positions gather through the weights, forces scatter through
//! their transpose.

use glam::DVec3;

/// Points given by weights on unknowns; each point's weights sum to 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Embedding {
    starts: Vec<u32>,
    weights: Vec<(u32, f64)>,
}

impl Embedding {
    /// Point `i` is unknown `unknown_of_point[i]` itself.
    pub fn of_vertices(unknown_of_point: &[u32]) -> Self {
        Self {
            starts: (0..=unknown_of_point.len() as u32).collect(),
            weights: unknown_of_point.iter().map(|&v| (v, 1.0)).collect(),
        }
    }

    /// One list per point.
    pub fn from_lists(lists: impl IntoIterator<Item = Vec<(u32, f64)>>) -> Self {
        let mut embedding = Self::default();
        embedding.clear();
        lists.into_iter().for_each(|list| embedding.push(list));
        embedding
    }

    /// Removes all points.
    pub fn clear(&mut self) {
        self.weights.clear();
        self.starts.clear();
        self.starts.push(0);
    }

    /// Adds a point.
    pub fn push(&mut self, weights: impl IntoIterator<Item = (u32, f64)>) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.weights.extend(weights);
        self.starts.push(self.weights.len() as u32);
    }

    /// Removes all points from number `count` on.
    pub fn truncate(&mut self, count: usize) {
        if count < self.len() {
            self.starts.truncate(count + 1);
            self.weights.truncate(self.starts[count] as usize);
        }
    }

    /// Moves a point that is an unknown itself to another unknown.
    pub fn set_vertex(&mut self, point: usize, unknown: u32) {
        self.weights[self.starts[point] as usize] = (unknown, 1.0);
    }

    /// Replaces the unknown number `place` of a point, keeping its weight.
    pub fn set_unknown(&mut self, point: usize, place: usize, unknown: u32) {
        self.weights[self.starts[point] as usize + place].0 = unknown;
    }

    /// Appends the points of another embedding whose unknowns start at `first_unknown` here.
    pub fn append(&mut self, other: &Self, first_unknown: u32) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        let base = self.weights.len() as u32;
        self.weights.extend(other.weights.iter().map(|&(v, w)| (v + first_unknown, w)));
        self.starts.extend(other.starts.iter().skip(1).map(|start| start + base));
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The unknowns and weights of a point.
    pub fn weights(&self, point: usize) -> &[(u32, f64)] {
        &self.weights[self.starts[point] as usize..self.starts[point + 1] as usize]
    }

    /// The position of a point.
    pub fn position(&self, point: usize, x: &[DVec3]) -> DVec3 {
        match self.weights(point) {
            [(v, 1.0)] => x[*v as usize],
            weights => weights.iter().map(|&(v, w)| w * x[v as usize]).sum(),
        }
    }

    /// The positions of all points.
    pub fn positions(&self, x: &[DVec3], positions: &mut [DVec3]) {
        positions.iter_mut().enumerate().for_each(|(point, position)| *position = self.position(point, x));
    }

    /// Distributes a force on a point to its unknowns.
    pub fn scatter(&self, point: usize, force: DVec3, to: &mut [DVec3]) {
        for &(v, w) in self.weights(point) {
            to[v as usize] += w * force;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scatter_is_the_transpose_of_gather() {
        let mut points = Embedding::of_vertices(&[1, 0]);
        points.append(&Embedding::from_lists([vec![(0, 0.25), (1, 0.75)]]), 1);
        let x = [DVec3::new(1.0, 2.0, 3.0), DVec3::new(-1.0, 0.5, 2.0), DVec3::new(4.0, 4.0, -1.0)];
        let force = DVec3::new(0.3, -2.0, 1.0);
        for point in 0..points.len() {
            let mut scattered = [DVec3::ZERO; 3];
            points.scatter(point, force, &mut scattered);
            let work: f64 = scattered.iter().zip(&x).map(|(f, x)| f.dot(*x)).sum();
            assert!((work - force.dot(points.position(point, &x))).abs() < 1e-14);
        }
    }
}
