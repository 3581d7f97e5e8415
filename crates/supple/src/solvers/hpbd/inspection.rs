//! The levels for drawing: their particles, the limits between them, and the parents of particles.

use glam::DVec3;

use crate::body::Embedding;
use crate::solvers::hpbd::solver::HierarchicalSolver;
use crate::stepper::HierarchyLevel;

/// The coarse levels, finest first. A particle belongs to the region of its strongest parent, and recursively up to a
/// particle of the level.
pub(crate) fn hierarchy(solver: &HierarchicalSolver, x: &[DVec3], points: &Embedding) -> Vec<HierarchyLevel> {
    let mut owner: Vec<u32> = (0..x.len() as u32).collect();
    let mut levels = Vec::new();
    for (level, number) in solver.coarse().zip(1..) {
        let mut parent: Vec<u32> = (0..x.len() as u32).collect();
        for (child, &particle) in level.children.iter().enumerate() {
            let strongest = level.parents(child).iter().max_by(|a, b| a.weight.total_cmp(&b.weight));
            parent[particle as usize] = strongest.map_or(particle, |parent| parent.particle);
        }
        owner.iter_mut().for_each(|owner| *owner = parent[*owner as usize]);
        let mut place = vec![0; x.len()];
        level.particles.iter().zip(0..).for_each(|(&particle, at)| place[particle as usize] = at);
        let regions: Vec<u32> = owner.iter().map(|&owner| place[owner as usize]).collect();
        let name = format!(
            "level {number}: {} particles, {} distance limits",
            level.particles.len(),
            level.limits.len()
        );
        levels.push(HierarchyLevel {
            nodes: level.particles.iter().map(|&particle| x[particle as usize]).collect(),
            links: level.limits.iter().map(|limit| limit.ends.map(|end| x[end as usize])).collect(),
            ..HierarchyLevel::of_vertices(name, &regions, points)
        });
    }
    levels
}
