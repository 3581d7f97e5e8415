//! Delaunay triangulations by flipping edges (Lawson 1977): of an existing triangulation, or of points.

use glam::DVec2;

const NO_TRIANGLE: u32 = u32::MAX;

/// Flips the inner edges of a planar triangulation (counter-clockwise, without folds) until no triangle's circumcircle
/// contains the opposite corner of a neighbour, up to rounding. The boundary stays.
pub(super) fn flip_to_delaunay(points: &[DVec2], triangles: &mut [[u32; 3]]) {
    let mut neighbors = neighbors(triangles);
    let mut pending: Vec<u32> = (0..triangles.len() as u32).rev().collect();
    while let Some(t) = pending.pop() {
        for corner in 0..3 {
            let other = neighbors[t as usize][corner];
            if other != NO_TRIANGLE && is_illegal(points, triangles, t, corner, other) {
                flip(triangles, &mut neighbors, t, corner, other);
                pending.extend([t, other]);
                break;
            }
        }
    }
}

/// For each triangle and corner, the triangle across the opposite edge.
fn neighbors(triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let mut edges: Vec<([u32; 2], u32, usize)> = Vec::with_capacity(3 * triangles.len());
    for (t, triangle) in triangles.iter().enumerate() {
        for corner in 0..3 {
            let (a, b) = (triangle[(corner + 1) % 3], triangle[(corner + 2) % 3]);
            edges.push(([a.min(b), a.max(b)], t as u32, corner));
        }
    }
    edges.sort_unstable();
    let mut neighbors = vec![[NO_TRIANGLE; 3]; triangles.len()];
    for pair in edges.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        let [(_, t, i), (_, u, j)] = [pair[0], pair[1]];
        neighbors[t as usize][i] = u;
        neighbors[u as usize][j] = t;
    }
    neighbors
}

fn corner_towards(neighbors: [u32; 3], triangle: u32) -> usize {
    neighbors.iter().position(|&n| n == triangle).expect("neighbours know each other")
}

fn is_illegal(points: &[DVec2], triangles: &[[u32; 3]], t: u32, corner: usize, other: u32) -> bool {
    let triangle = triangles[t as usize];
    let shared = [triangle[(corner + 1) % 3], triangle[(corner + 2) % 3]];
    let opposite = triangles[other as usize].into_iter().find(|v| !shared.contains(v));
    let opposite = opposite.expect("two triangles share two vertices");
    in_circle(triangle.map(|v| points[v as usize]), points[opposite as usize])
}

/// True where `p` lies inside the circumcircle of a counter-clockwise triangle by more than rounding: cocircular points
/// are left alone, so that the flipping ends.
fn in_circle([a, b, c]: [DVec2; 3], p: DVec2) -> bool {
    let (a, b, c) = (a - p, b - p, c - p);
    let (aa, bb, cc) = (a.length_squared(), b.length_squared(), c.length_squared());
    let determinant = aa * b.perp_dot(c) - bb * a.perp_dot(c) + cc * a.perp_dot(b);
    determinant > 1e-12 * (aa + bb + cc).powi(2)
}

/// Replaces the edge of `t` opposite its `corner`, shared with `other`, by the other diagonal.
fn flip(triangles: &mut [[u32; 3]], neighbors: &mut [[u32; 3]], t: u32, corner: usize, other: u32) {
    let far = corner_towards(neighbors[other as usize], t);
    let [ti, oi] = [t as usize, other as usize];
    let (a, b, c) = (triangles[ti][corner], triangles[ti][(corner + 1) % 3], triangles[ti][(corner + 2) % 3]);
    let d = triangles[oi][far];
    let (across_b, across_c) = (neighbors[ti][(corner + 1) % 3], neighbors[ti][(corner + 2) % 3]);
    // In `other` the shared edge runs backwards: its corners after `d` are `c`, `b`.
    let (next_c, next_b) = (neighbors[oi][(far + 1) % 3], neighbors[oi][(far + 2) % 3]);
    triangles[ti] = [a, b, d];
    neighbors[ti] = [next_c, other, across_c];
    triangles[oi] = [a, d, c];
    neighbors[oi] = [next_b, across_b, t];
    relink(neighbors, next_c, other, t);
    relink(neighbors, across_b, t, other);
}

fn relink(neighbors: &mut [[u32; 3]], triangle: u32, old: u32, new: u32) {
    if triangle != NO_TRIANGLE {
        let corner = corner_towards(neighbors[triangle as usize], old);
        neighbors[triangle as usize][corner] = new;
    }
}

/// The Delaunay triangulation of points, none twice, by inserting one at a time: neighbours in the list should be
/// close to each other. Triangles are counter-clockwise.
pub(super) fn triangulate(points: &[DVec2]) -> Vec<[u32; 3]> {
    let Some(&first) = points.first() else { return Vec::new() };
    let (low, high) = points.iter().fold((first, first), |(low, high), p| (low.min(*p), high.max(*p)));
    // Four corners so far away that they do not affect the triangles of the points.
    let (centre, extent) = (0.5 * (low + high), 20.0 * (high - low).max_element().max(f64::MIN_POSITIVE));
    let count = points.len() as u32;
    let mut all = points.to_vec();
    all.extend(
        [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]].map(|c| centre + extent * DVec2::from(c)),
    );
    let triangles = vec![[count, count + 1, count + 2], [count, count + 2, count + 3]];
    let neighbors = neighbors(&triangles);
    let mut growing = Growing { points: &all, triangles, neighbors, last: 0 };
    (0..count).for_each(|p| growing.insert(p));
    growing.triangles.retain(|t| t.iter().all(|&v| v < count));
    growing.triangles
}

/// An incremental Delaunay triangulation.
struct Growing<'a> {
    points: &'a [DVec2],
    triangles: Vec<[u32; 3]>,
    neighbors: Vec<[u32; 3]>,
    /// The triangle of the last point.
    last: u32,
}

impl Growing<'_> {
    fn insert(&mut self, p: u32) {
        let t = self.locate(self.points[p as usize]);
        let [a, b, c] = self.triangles[t as usize];
        let [across_a, across_b, across_c] = self.neighbors[t as usize];
        let (second, third) = (self.triangles.len() as u32, self.triangles.len() as u32 + 1);
        self.triangles[t as usize] = [p, b, c];
        self.neighbors[t as usize] = [across_a, second, third];
        self.triangles.extend([[p, c, a], [p, a, b]]);
        self.neighbors.extend([[across_b, third, t], [across_c, t, second]]);
        relink(&mut self.neighbors, across_b, t, second);
        relink(&mut self.neighbors, across_c, t, third);
        self.last = t;
        self.make_legal(vec![t, second, third], p);
    }

    /// Flips edges opposite to a new point until all circles around its triangles are empty.
    fn make_legal(&mut self, mut pending: Vec<u32>, p: u32) {
        while let Some(t) = pending.pop() {
            let Some(corner) = self.triangles[t as usize].iter().position(|&v| v == p) else { continue };
            let other = self.neighbors[t as usize][corner];
            if other != NO_TRIANGLE && is_illegal(self.points, &self.triangles, t, corner, other) {
                flip(&mut self.triangles, &mut self.neighbors, t, corner, other);
                pending.extend([t, other]);
            }
        }
    }

    /// The triangle that contains a point, by walking towards it; by testing all if rounding makes the walk cycle.
    fn locate(&self, p: DVec2) -> u32 {
        let mut t = self.last;
        for _ in 0..self.triangles.len() + 3 {
            let beyond = (0..3).find(|&corner| self.side(t, corner, p) < 0.0);
            match beyond.map(|corner| self.neighbors[t as usize][corner]) {
                None => return t,
                Some(NO_TRIANGLE) => break,
                Some(next) => t = next,
            }
        }
        let least = |t: &u32| (0..3).map(|corner| self.side(*t, corner, p)).fold(f64::INFINITY, f64::min);
        let all = 0..self.triangles.len() as u32;
        all.max_by(|a, b| least(a).total_cmp(&least(b))).unwrap_or(t)
    }

    /// Positive where a point lies on the inner side of the edge opposite to a corner.
    fn side(&self, t: u32, corner: usize, p: DVec2) -> f64 {
        let triangle = self.triangles[t as usize];
        let [a, b] = [1, 2].map(|k| self.points[triangle[(corner + k) % 3] as usize]);
        (b - a).perp_dot(p - a)
    }
}
