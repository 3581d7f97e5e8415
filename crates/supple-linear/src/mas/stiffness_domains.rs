//! Domains that follow the stiffness, where a matrix couples some nodes far more strongly than others (the future
//! work of Wu 2022, section 9): nodes are joined in pairs along their strongest connections, the pairs again, until
//! domains are full. A stiff part is then not split while a soft one could be.

use supple_core::parallel::prelude::*;

use super::connections::Connections;
use super::supernodes::Grouping;

const NONE: u32 = u32::MAX;

/// Two groups are not joined by a connection below this fraction of the strongest one of either, as long as others
/// can be: otherwise a node at the edge of a stiff part would be lost to the soft one around it.
const STRONG: [f32; 4] = [0.1, 0.01, 0.001, 0.0];

/// Groups of at most `size` nodes along strong connections.
pub(super) fn strong_groups(connections: &Connections, size: usize) -> Grouping {
    let count = connections.starts.len() - 1;
    let mut group: Vec<u32> = (0..count as u32).collect();
    let mut sizes = vec![1u32; count];
    let mut graph = connections.clone();
    let mut limits = STRONG.into_iter().peekable();
    while let Some(&strong) = limits.peek() {
        let (parent, groups) = matched(&graph, &sizes, size as u32, strong);
        if groups as f64 > 0.95 * sizes.len() as f64 {
            limits.next();
        }
        let mut merged = vec![0; groups];
        parent.iter().zip(&sizes).for_each(|(&parent, size)| merged[parent as usize] += size);
        graph = contracted(&graph, &parent, groups);
        group.iter_mut().for_each(|group| *group = parent[*group as usize]);
        sizes = merged;
    }
    listed(&group, sizes.len())
}

/// Pairs every group, in sequence, with the free neighbour to which its connection is strongest for their sizes;
/// returns the new group of each, and the number of groups.
fn matched(graph: &Connections, sizes: &[u32], most: u32, strong: f32) -> (Vec<u32>, usize) {
    let mut parent = vec![NONE; sizes.len()];
    let mut groups = 0;
    let strongest = |node: usize| graph.of(node).map(|(_, weight)| weight).fold(0.0, f32::max);
    let strongest: Vec<f32> = (0..sizes.len()).into_par_iter().with_min_len(1024).map(strongest).collect();
    for node in 0..sizes.len() {
        if parent[node] != NONE {
            continue;
        }
        let free = |&(other, weight): &(u32, f32)| {
            let is_strong = weight >= strong * strongest[node].max(strongest[other as usize]);
            is_strong && parent[other as usize] == NONE && sizes[node] + sizes[other as usize] <= most
        };
        let strength = |(other, weight): (u32, f32)| (weight / sizes[other as usize] as f32, other);
        let best =
            graph.of(node).filter(free).map(strength).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        parent[node] = groups;
        if let Some((_, other)) = best {
            parent[other as usize] = groups;
        }
        groups += 1;
    }
    (parent, groups as usize)
}

/// The graph of groups.
fn contracted(graph: &Connections, parent: &[u32], groups: usize) -> Connections {
    let members = listed(parent, groups);
    let mut coarse = Connections { starts: vec![0], ..Connections::default() };
    // The index of each group among the current one's neighbours.
    let mut slot = vec![usize::MAX; groups];
    for own in 0..groups {
        let begin = coarse.neighbours.len();
        let nodes = &members.order[members.starts[own] as usize..members.starts[own + 1] as usize];
        let connections = nodes.iter().flat_map(|&node| graph.of(node as usize));
        for (other, weight) in connections.map(|(other, weight)| (parent[other as usize], weight)) {
            let known = slot[other as usize];
            if known != usize::MAX {
                coarse.weights[known] += weight;
            } else if other as usize != own {
                slot[other as usize] = coarse.neighbours.len();
                coarse.neighbours.push(other);
                coarse.weights.push(weight);
            }
        }
        coarse.neighbours[begin..].iter().for_each(|&other| slot[other as usize] = usize::MAX);
        coarse.starts.push(coarse.neighbours.len());
    }
    coarse
}

/// The nodes, group by group.
fn listed(group: &[u32], groups: usize) -> Grouping {
    let mut starts = vec![0u32; groups + 1];
    group.iter().for_each(|&group| starts[group as usize + 1] += 1);
    (0..groups).for_each(|k| starts[k + 1] += starts[k]);
    let mut next = starts.clone();
    let mut order = vec![0; group.len()];
    for (node, &group) in group.iter().enumerate() {
        order[next[group as usize] as usize] = node as u32;
        next[group as usize] += 1;
    }
    Grouping { order, starts }
}
