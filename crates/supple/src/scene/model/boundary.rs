//! The boundary loops of a polygon mesh.

use std::collections::HashMap;

use glam::DVec3;

use supple_mesh::SurfaceMesh;

/// The vertices of every boundary loop, the longest loop (by `positions`) first, then by smallest vertex. Boundary
/// edges are those of one face only; they are traversed in the direction of their face, and where loops touch in a
/// vertex each continues along the edge with the smallest end.
pub(crate) fn boundary_loops(mesh: &SurfaceMesh, positions: &[DVec3]) -> Vec<Vec<u32>> {
    let mut edges = boundary_edges(mesh);
    edges.sort_unstable();
    let mut used = vec![false; edges.len()];
    let mut loops = Vec::new();
    for first in 0..edges.len() {
        if !used[first] {
            loops.push(walk(&edges, &mut used, first));
        }
    }
    let mut measured: Vec<(f64, Vec<u32>)> =
        loops.into_iter().map(|vertices| (length(&vertices, positions), vertices)).collect();
    measured.sort_by(|(a, first), (b, second)| {
        b.total_cmp(a).then_with(|| first.iter().min().cmp(&second.iter().min()))
    });
    measured.into_iter().map(|(_, vertices)| vertices).collect()
}

fn boundary_edges(mesh: &SurfaceMesh) -> Vec<[u32; 2]> {
    let directed =
        || mesh.faces().flat_map(|face| (0..face.len()).map(|i| [face[i], face[(i + 1) % face.len()]]));
    let mut faces_of: HashMap<[u32; 2], u32> = HashMap::new();
    for [a, b] in directed() {
        *faces_of.entry([a.min(b), a.max(b)]).or_default() += 1;
    }
    directed().filter(|&[a, b]| a != b && faces_of[&[a.min(b), a.max(b)]] == 1).collect()
}

/// Follows unused edges from `first` until the loop closes or (in a badly oriented mesh) ends.
fn walk(edges: &[[u32; 2]], used: &mut [bool], first: usize) -> Vec<u32> {
    let start = edges[first][0];
    let mut vertices = Vec::new();
    let mut edge = first;
    loop {
        used[edge] = true;
        let [from, to] = edges[edge];
        vertices.push(from);
        if to == start {
            return vertices;
        }
        let onward = edges.partition_point(|&[vertex, _]| vertex < to);
        let leaving = edges[onward..].iter().take_while(|&&[vertex, _]| vertex == to).count();
        match (onward..onward + leaving).find(|&e| !used[e]) {
            Some(next) => edge = next,
            None => {
                vertices.push(to);
                return vertices;
            }
        }
    }
}

fn length(vertices: &[u32], positions: &[DVec3]) -> f64 {
    let at = |i: usize| positions[vertices[i % vertices.len()] as usize];
    (0..vertices.len()).map(|i| at(i).distance(at(i + 1))).sum()
}

/// The vertices of a boundary from that nearest to the first point to that nearest to the last, past those nearest to
/// the intermediate points, or along the shorter path without any. `None` if no loop has them all.
pub(crate) fn boundary_path(loops: &[Vec<u32>], positions: &[DVec3], along: &[DVec3]) -> Option<Vec<u32>> {
    let [first, between @ .., last] = along else { return None };
    let distance = |point: &DVec3, v: u32| positions[v as usize].distance_squared(*point);
    let nearest_in = |list: &[u32], point: &DVec3| {
        let near = |a: &usize, b: &usize| distance(point, list[*a]).total_cmp(&distance(point, list[*b]));
        (0..list.len()).min_by(near)
    };
    let far = |list: &&Vec<u32>| {
        along.iter().map(|p| nearest_in(list, p).map_or(f64::INFINITY, |i| distance(p, list[i]))).sum::<f64>()
    };
    let list = loops.iter().min_by(|a, b| far(a).total_cmp(&far(b)))?;
    let [from, to] = [nearest_in(list, first)?, nearest_in(list, last)?];
    let count = list.len();
    let forward: Vec<u32> = (0..=(to + count - from) % count).map(|k| list[(from + k) % count]).collect();
    let backward: Vec<u32> = (0..=(from + count - to) % count).map(|k| list[(to + k) % count]).collect();
    let passed = |path: &[u32]| {
        let has = |point: &&DVec3| nearest_in(list, point).is_some_and(|i| path.contains(&list[i]));
        between.iter().filter(has).count()
    };
    let open = |path: &[u32]| -> f64 {
        path.windows(2).map(|pair| positions[pair[0] as usize].distance(positions[pair[1] as usize])).sum()
    };
    let forward_wins = match between.len() {
        0 => open(&forward) <= open(&backward),
        _ => passed(&forward) >= passed(&backward),
    };
    Some(if forward_wins { forward } else { backward })
}
