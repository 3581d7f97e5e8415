//! Randomised graph colouring as in Vivace (Fratarcangeli, Tibaldo, Pellacini 2016, algorithm 1), with a hash as the
//! random number generator: the colours do not depend on the number of threads.
//!
//! Every node without a colour draws one from its palette and keeps it if no rival neighbour drew the same. Palettes
//! start at a fraction of the node's degree and grow when neighbours have exhausted them.

use supple_core::parallel::prelude::*;

use crate::ordering::node_order::CouplingGraph;
use crate::vectors::mix;

const NONE: u32 = u32::MAX;

/// Initial palette size: the node's degree divided by this. The paper finds 2 to 4 suitable; more gives fewer colours
/// in more rounds.
const SHRINK: usize = 3;

/// Nodes per task.
const NODES: usize = 1024;

/// A colour for every node, different from those of its neighbours, and the number of colours.
pub(crate) fn colour(graph: CouplingGraph<'_>) -> (Vec<u32>, usize) {
    let nodes = graph.nodes();
    let mut palettes: Vec<u32> = (0..nodes).map(|i| first_palette(graph, i)).collect();
    let mut colours = vec![NONE; nodes];
    let mut drawn = vec![NONE; nodes];
    let mut waiting: Vec<u32> = (0..nodes as u32).collect();
    let mut round = 0;
    while !waiting.is_empty() {
        let draws: Vec<(u32, u32)> = waiting
            .par_iter()
            .with_min_len(NODES)
            .map_init(Vec::new, |used, &node| {
                draw(graph, node, round, palettes[node as usize], &colours, used)
            })
            .collect();
        for (&node, &(palette, choice)) in waiting.iter().zip(&draws) {
            palettes[node as usize] = palette;
            drawn[node as usize] = choice;
        }
        let winners: Vec<bool> =
            waiting.par_iter().with_min_len(NODES).map(|&node| keeps(graph, node, round, &drawn)).collect();
        for (&node, _) in waiting.iter().zip(&winners).filter(|(_, wins)| **wins) {
            colours[node as usize] = drawn[node as usize];
        }
        waiting.iter().for_each(|&node| drawn[node as usize] = NONE);
        let mut wins = winners.iter();
        waiting.retain(|_| wins.next() == Some(&false));
        round += 1;
    }
    let count = colours.iter().max().map_or(0, |&most| most as usize + 1);
    (colours, count)
}

fn first_palette(graph: CouplingGraph<'_>, node: usize) -> u32 {
    (graph.neighbours(node).len() / SHRINK).max(2) as u32
}

/// The node's palette, extended if nothing in it is free, and a free colour of it.
fn draw(
    graph: CouplingGraph<'_>,
    node: u32,
    round: u64,
    mut palette: u32,
    colours: &[u32],
    used: &mut Vec<u32>,
) -> (u32, u32) {
    used.clear();
    used.extend(graph.neighbours(node as usize).iter().map(|&j| colours[j as usize]).filter(|&c| c != NONE));
    used.sort_unstable();
    used.dedup();
    let mut free = palette - used.partition_point(|&c| c < palette) as u32;
    while free == 0 {
        free += u32::from(used.binary_search(&palette).is_err());
        palette += 1;
    }
    let mut choice = (dice(node, round) % u64::from(free)) as u32;
    for &taken in used.iter() {
        choice += u32::from(taken <= choice);
    }
    (palette, choice)
}

/// Of neighbours that drew the same colour the one with the highest random number keeps it.
fn keeps(graph: CouplingGraph<'_>, node: u32, round: u64, drawn: &[u32]) -> bool {
    let rank = |i: u32| (dice(i, round), i);
    let same = |&&j: &&u32| j != node && drawn[j as usize] == drawn[node as usize];
    graph.neighbours(node as usize).iter().filter(same).all(|&j| rank(j) < rank(node))
}

fn dice(node: u32, round: u64) -> u64 {
    mix(u64::from(node) | round << 32)
}

/// Nodes sorted by colour, each colour in the given order, and the start of every colour (and the end of the last).
pub(crate) fn by_colour(colours: &[u32], count: usize, order: &[u32]) -> (Vec<u32>, Vec<usize>) {
    let mut starts = vec![0; count + 1];
    for &colour in colours {
        starts[colour as usize + 1] += 1;
    }
    for c in 0..count {
        starts[c + 1] += starts[c];
    }
    let mut next = starts.clone();
    let mut sorted = vec![0; colours.len()];
    for &node in order {
        let place = &mut next[colours[node as usize] as usize];
        sorted[*place] = node;
        *place += 1;
    }
    (sorted, starts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BlockPattern;

    fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
        supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
    }

    #[test]
    fn neighbours_differ_in_few_colours_and_threads_do_not_matter() {
        let n = 5000u32;
        let pairs: Vec<[u32; 2]> =
            (0..n).flat_map(|i| [1, 2, 70, 71, 73].map(|step| [i, (i + step) % n])).collect();
        let pattern = BlockPattern::new(&vec![false; n as usize], &pairs);
        let (colours, count) = with_threads(1, || colour(pattern.graph()));
        assert_eq!(with_threads(3, || colour(pattern.graph())).0, colours);
        for i in 0..n as usize {
            let row = pattern.row(i).1;
            assert!(row.iter().all(|&j| j as usize == i || colours[j as usize] != colours[i]));
        }
        // Ten neighbours each: eleven colours always suffice, and random drawing needs no more.
        assert!(count <= 11, "{count}");
    }

    #[test]
    fn a_hub_with_many_neighbours_is_no_trouble() {
        let pairs: Vec<[u32; 2]> = (1..3000).map(|i| [0, i]).collect();
        let pattern = BlockPattern::new(&vec![false; 3000], &pairs);
        let (colours, _) = colour(pattern.graph());
        assert!(colours[1..].iter().all(|&c| c != colours[0]));
    }
}
