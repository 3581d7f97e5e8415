//! The levels of a regular grid, built directly (Müller 2008, section 9 and figure 6): every second row and column of the finer
//! level, and always the last ones. Each cell has one diagonal. An omitted particle is on a coarse edge, whose ends
//! are its two parents, the nearer one with the larger weight: corrections are prolonged linearly along coarse edges.
//!
//! Where the cells of the mesh have shear springs, those of coarse levels have limits along the same diagonals: with one
//! diagonal alone a square of limits can be stretched along the other by half its length, and all finer levels with
//! it.

use std::collections::BTreeMap;

use crate::solvers::hpbd::hierarchy::{ConstraintLevel, Finest, Limit, Parent, Plan, SMALLEST};

/// The columns and rows of a level, by their number on the mesh.
#[derive(Debug, Clone, PartialEq)]
struct GridLines {
    columns: Vec<u32>,
    rows: Vec<u32>,
    /// Vertices in a row of the mesh.
    width: u32,
}

/// The coarse levels of a cloth whose vertices are numbered row by row; `None` for another mesh, and where coarse grids would
/// miss its pins.
pub(crate) fn grid_levels(finest: &Finest<'_>, plan: Plan) -> Option<Vec<ConstraintLevel>> {
    let mut grid = find_grid(finest.triangles, finest.positions.len())?;
    let mut links: BTreeMap<[u32; 2], (u32, f64)> = finest
        .links
        .iter()
        .chain(finest.shears)
        .zip(0..)
        .map(|(&(ends, rest), n)| (ends, (n, rest)))
        .collect();
    let straight = plan.rest_lengths.are_straight(finest);
    let mut levels = Vec::new();
    while levels.len() < plan.levels as usize && grid.columns.len() * grid.rows.len() >= SMALLEST {
        let coarse = grid.coarser();
        let level = level(finest, straight, &grid, &coarse, &links)?;
        let holds = |child: usize| {
            let held = |p: u32| finest.attached[p as usize];
            !held(level.children[child]) || level.parents(child).iter().all(|parent| held(parent.particle))
        };
        if !(0..level.children.len()).all(holds) {
            return None;
        }
        links = level.limits.iter().zip(0..).map(|(limit, n)| (limit.ends, (n, limit.rest))).collect();
        levels.push(level);
        grid = coarse;
    }
    Some(levels)
}

/// The grid of a mesh whose triangles are halves of its cells, in any order. The diagonals of even cells must run from the
/// first corner to the last, as they do in regular and in crossed grids.
fn find_grid(triangles: &[[u32; 3]], vertices: usize) -> Option<GridLines> {
    // Vertex 0 is a corner of the first cell, and its diagonal starts there.
    let mut corner = *triangles.iter().find(|triangle| triangle.contains(&0))?;
    corner.sort_unstable();
    let width = if corner[1] == 1 { corner[2] - 1 } else { corner[1] };
    let height = u32::try_from(vertices).ok()?.checked_div(width)?;
    if width < 2 || height < 2 || (width * height) as usize != vertices {
        return None;
    }
    let cells = (width - 1) * (height - 1);
    if triangles.len() != 2 * cells as usize {
        return None;
    }
    let mut halves = vec![0u8; cells as usize];
    for triangle in triangles {
        let corner = *triangle.iter().min()?;
        let [i, j] = [triangle.iter().map(|v| v % width).min()?, corner / width];
        if i + 1 >= width || j + 1 >= height {
            return None;
        }
        let a = j * width + i;
        let corners = [a, a + 1, a + width, a + width + 1];
        let missing = corners.iter().position(|corner| !triangle.contains(corner))?;
        let inside = triangle.iter().all(|v| corners.contains(v));
        let even = (i + j).is_multiple_of(2);
        // The diagonal joins the corners that both halves share.
        let main = missing == 1 || missing == 2;
        if !inside || (even && !main) {
            return None;
        }
        halves[(j * (width - 1) + i) as usize] |= 1 << missing;
    }
    let whole = |half: &u8| *half == 0b0110 || *half == 0b1001;
    let all = |n: u32| (0..n).collect();
    halves.iter().all(whole).then(|| GridLines { columns: all(width), rows: all(height), width })
}

impl GridLines {
    fn at(&self, column: usize, row: usize) -> u32 {
        self.rows[row] * self.width + self.columns[column]
    }

    /// Every second row and column; the shorter side is unchanged when it has no more than one cell.
    fn coarser(&self) -> Self {
        let halve = |lines: &[u32]| {
            let last = lines.len() - 1;
            let keep = |&i: &usize| i.is_multiple_of(2) || i == last;
            (0..lines.len()).filter(keep).map(|i| lines[i]).collect()
        };
        Self { columns: halve(&self.columns), rows: halve(&self.rows), width: self.width }
    }
}

/// The coarse level with its limits and children; `None` if the finer one lacks a link.
fn level(
    finest: &Finest<'_>,
    straight: bool,
    fine: &GridLines,
    coarse: &GridLines,
    links: &BTreeMap<[u32; 2], (u32, f64)>,
) -> Option<ConstraintLevel> {
    let place = |lines: &[u32], all: &[u32]| -> Vec<usize> {
        lines.iter().filter_map(|line| all.iter().position(|other| other == line)).collect()
    };
    // The indices of the coarse lines among the fine ones.
    let (columns, rows) = (place(&coarse.columns, &fine.columns), place(&coarse.rows, &fine.rows));
    let mut level = ConstraintLevel::default();
    let link = |a: u32, b: u32| links.get(&[a.min(b), a.max(b)]).copied();
    let edge = |level: &mut ConstraintLevel, path: &[u32]| -> Option<()> {
        let parts: Vec<(u32, f64)> = path.windows(2).map(|w| link(w[0], w[1])).collect::<Option<_>>()?;
        let (from, to) = (path[0], path[path.len() - 1]);
        let ends = [from.min(to), from.max(to)];
        let [a, b] = ends.map(|p| finest.positions[p as usize]);
        let along = parts.iter().map(|(_, rest)| rest).sum();
        let rest = if straight { a.distance(b) } else { along };
        level.push_limit(Limit { ends, rest }, parts.iter().map(|(part, _)| *part));
        Some(())
    };
    for (r, &j) in rows.iter().enumerate() {
        for (c, &i) in columns.iter().enumerate() {
            let here = fine.at(i, j);
            level.particles.push(here);
            let (right, below) = (columns.get(c + 1).copied(), rows.get(r + 1).copied());
            if let Some(right) = right {
                let path: Vec<u32> = (i..=right).map(|i| fine.at(i, j)).collect();
                edge(&mut level, &path)?;
                push_middle(&mut level, &path, finest, link)?;
            }
            if let Some(below) = below {
                let path: Vec<u32> = (j..=below).map(|j| fine.at(i, j)).collect();
                edge(&mut level, &path)?;
                push_middle(&mut level, &path, finest, link)?;
            }
            if let (Some(right), Some(below)) = (right, below) {
                // Diagonally as far as possible, then along the last row or column.
                let steps = (right - i).max(below - j);
                let step = |k: usize| fine.at((i + k).min(right), (j + k).min(below));
                let path: Vec<u32> = (0..=steps).map(step).collect();
                edge(&mut level, &path)?;
                if right - i == below - j {
                    push_middle(&mut level, &path, finest, link)?;
                }
                // The other diagonal, where the finer level has it.
                let step = |k: usize| fine.at(right.saturating_sub(k).max(i), (j + k).min(below));
                let path: Vec<u32> = (0..=steps).map(step).collect();
                if path.windows(2).all(|w| link(w[0], w[1]).is_some()) {
                    edge(&mut level, &path)?;
                }
                let end = fine.at(right, below);
                level.triangles.push([here, fine.at(i, below), end]);
                level.triangles.push([here, end, fine.at(right, j)]);
            }
        }
    }
    Some(level)
}

/// The particle inside a coarse edge becomes a child of its ends.
fn push_middle(
    level: &mut ConstraintLevel,
    path: &[u32],
    finest: &Finest<'_>,
    link: impl Fn(u32, u32) -> Option<(u32, f64)>,
) -> Option<()> {
    let ends = [path[0], path[path.len() - 1]];
    for &child in &path[1..path.len() - 1] {
        let at = |p: u32| finest.positions[p as usize];
        let [to_first, to_last] = ends.map(|end| at(end).distance(at(child)));
        let parent = |particle: u32, weight: f64| {
            link(child, particle).map(|(link, _)| Parent { particle, weight, link })
        };
        let first = to_last / (to_first + to_last);
        level.push_child(child, [parent(ends[0], first)?, parent(ends[1], 1.0 - first)?]);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solvers::hpbd::hierarchy::RestLengths;
    use glam::DVec3;
    use std::collections::BTreeSet;
    use supple_mesh::generate::{ClothGrid, GridPattern};

    const PLAN: Plan = Plan { levels: 16, parents: 2, rest_lengths: RestLengths::Auto };

    fn levels(
        vertices: [u32; 2],
        pattern: GridPattern,
        attached: impl Fn(usize) -> bool,
    ) -> Option<Vec<ConstraintLevel>> {
        let cloth = ClothGrid { size: [1.0, 1.7], vertices, pattern, seed: 3 }.surface(1.0).unwrap();
        let triangles = cloth.triangles();
        let sides = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]].map(|[i, j]| [i.min(j), i.max(j)]);
        let edges: BTreeSet<[u32; 2]> = triangles.iter().flat_map(sides).collect();
        let at = |p: u32| cloth.positions[p as usize];
        let links: Vec<([u32; 2], f64)> =
            edges.into_iter().map(|[a, b]| ([a, b], at(a).distance(at(b)))).collect();
        let attached: Vec<bool> = (0..cloth.positions.len()).map(attached).collect();
        // The other diagonal of every cell.
        let shears = triangles.chunks(2).filter_map(|cell| {
            let corners: BTreeSet<u32> = cell.concat().into_iter().collect();
            let twice = |v: &u32| cell.iter().all(|t| t.contains(v));
            match corners.into_iter().filter(|v| !twice(v)).collect::<Vec<_>>()[..] {
                [a, b] => Some(([a, b], at(a).distance(at(b)))),
                _ => None,
            }
        });
        let shears: Vec<([u32; 2], f64)> = shears.collect();
        let finest = Finest {
            positions: &cloth.positions,
            links: &links,
            shears: &shears,
            triangles: &triangles,
            attached: &attached,
        };
        let levels = grid_levels(&finest, PLAN)?;
        // Corrections that are linear over the cloth are prolonged exactly, and straight limits are satisfied at rest.
        let field = |p: u32| at(p).dot(DVec3::new(0.3, 0.0, -1.1));
        let mut finer: BTreeSet<u32> = (0..cloth.positions.len() as u32).collect();
        for level in &levels {
            let kept: BTreeSet<u32> = level.particles.iter().copied().collect();
            let children: BTreeSet<u32> = level.children.iter().copied().collect();
            assert!(kept.is_disjoint(&children) && kept.union(&children).copied().eq(finer.iter().copied()));
            for (c, &child) in level.children.iter().enumerate() {
                assert_eq!(level.parents(c).len(), 2);
                let sum = |of: &dyn Fn(u32) -> f64| -> f64 {
                    level.parents(c).iter().map(|p| p.weight * of(p.particle)).sum()
                };
                assert!((sum(&|_| 1.0) - 1.0).abs() < 1e-15);
                // Where the last cell is narrower its diagonal's midpoint is not on it.
                let [a, b] = [0, 1].map(|k| at(level.parents(c)[k].particle));
                if (at(child) - a).cross(b - a).length() < 1e-12 {
                    assert!((sum(&field) - field(child)).abs() < 1e-12);
                }
            }
            for (l, limit) in level.limits.iter().enumerate() {
                let [a, b] = limit.ends.map(at);
                assert!((a.distance(b) - limit.rest).abs() < 1e-12 && !level.parts(l).is_empty());
            }
            finer = kept;
        }
        Some(levels)
    }

    fn limit_is_straight(limit: &Limit, width: u32) -> bool {
        let [a, b] = limit.ends;
        a / width == b / width || a % width == b % width
    }

    #[test]
    fn grids_of_any_size_have_coarser_grids_down_to_a_handful_of_particles() {
        for (vertices, pattern) in [
            ([47, 127], GridPattern::Regular),
            ([91, 61], GridPattern::Crossed),
            ([2, 90], GridPattern::Regular),
            ([30, 24], GridPattern::Crossed),
        ] {
            let levels = levels(vertices, pattern, |p| p < vertices[0] as usize).unwrap();
            let links = 3 * vertices[0] * vertices[1];
            let total: usize = levels.iter().map(|level| level.limits.len()).sum();
            assert!(levels.last().unwrap().particles.len() < SMALLEST && total < links as usize);
            // Both diagonals of every cell, one for each of its triangles, or two that cross.
            for level in &levels {
                let long = |limit: &&Limit| !limit_is_straight(limit, vertices[0]);
                assert_eq!(level.limits.iter().filter(long).count(), level.triangles.len());
            }
        }
    }

    #[test]
    fn other_meshes_and_pins_between_coarse_lines_are_left_to_the_general_way() {
        assert!(levels([30, 24], GridPattern::Irregular, |_| false).is_none());
        assert!(levels([31, 31], GridPattern::Regular, |p| p == 7).is_none());
        assert!(levels([31, 31], GridPattern::Regular, |p| p == 0).is_some());
    }
}
