//! The levels as words of a checkpoint: domains are rebuilt only every few steps, from the positions and contacts at
//! that time, so a resumed run must know them. If no matrix has been seen since they were due, it must know the
//! positions from which they will be built.

use glam::DVec3;

use super::modes::ParentWeight;
use super::supernodes::{Grouping, SupernodeLevel};
use supple_core::state_words::{numbers, push};

/// The state of the domains in a checkpoint.
pub(super) enum Saved {
    /// They were built.
    Levels(Vec<SupernodeLevel>),
    /// They are due, to be built from these positions.
    Due(Vec<DVec3>),
}

/// The age of domains that are not built yet, no levels, and the positions from which they will be built.
pub(super) fn write_due(age: u32, positions: &[DVec3]) -> Vec<u32> {
    let mut words = vec![age, 0];
    positions.iter().flat_map(|x| x.to_array()).for_each(|number| push(&mut words, number));
    words
}

/// The age of the levels, their number, and each one's lists with their lengths.
pub(super) fn write(age: u32, levels: &[SupernodeLevel]) -> Vec<u32> {
    let mut words = vec![age, levels.len() as u32];
    for level in levels {
        for list in [&level.order, &level.starts, &level.parent, &level.parent_starts] {
            words.push(list.len() as u32);
            words.extend(list);
        }
        let parent_weight = |parent_weight: &ParentWeight| {
            let [x, y, z] = parent_weight.offset;
            [x, y, z, parent_weight.ratio].map(f32::to_bits)
        };
        words.extend(level.parent_weights.iter().flat_map(parent_weight));
    }
    words
}

/// Reads them back; `None` if they are neither positions nor levels that are each built from the one below.
pub(super) fn read(words: &[u32]) -> Option<(u32, Saved)> {
    let mut rest = words;
    let (age, count) = (take(&mut rest, 1)?[0], take(&mut rest, 1)?[0]);
    if count == 0 {
        let (places, more) = rest.as_chunks::<6>();
        let due = places.iter().map(|words| DVec3::from_array(numbers(words))).collect();
        return more.is_empty().then_some((age, Saved::Due(due)));
    }
    let mut levels: Vec<SupernodeLevel> = Vec::new();
    for _ in 0..count {
        let level = read_level(&mut rest)?;
        let fits = levels.last().is_none_or(|below| below.supernodes() == level.nodes());
        levels.push(level);
        fits.then_some(())?;
    }
    let ends = levels.last().is_some_and(|level| level.parent.is_empty());
    (ends && rest.is_empty()).then_some((age, Saved::Levels(levels)))
}

/// Whether levels have this many unknowns, and domains no larger than these options allow: a run may be resumed with
/// different ones.
pub(super) fn fit(levels: &[SupernodeLevel], unknowns: usize, [finest, coarse]: [usize; 2]) -> bool {
    let small = |(l, level): (usize, &SupernodeLevel)| {
        let most = if l == 0 { finest } else { coarse };
        (0..level.domains()).all(|domain| level.places_of(domain).len() <= most)
    };
    levels[0].nodes() == unknowns && levels.iter().enumerate().all(small)
}

fn read_level(rest: &mut &[u32]) -> Option<SupernodeLevel> {
    let mut list = || {
        let length = take(rest, 1)?[0] as usize;
        take(rest, length).map(<[u32]>::to_vec)
    };
    let grouping = Grouping { order: list()?, starts: list()? };
    let (parent, parent_starts) = (list()?, list()?);
    let rises = |starts: &[u32], end: usize| {
        starts.first() == Some(&0) && starts.last() == Some(&(end as u32)) && starts.is_sorted()
    };
    let (nodes, supernodes) = (grouping.order.len(), *parent_starts.last()? as usize);
    let mut sorted = grouping.order.clone();
    sorted.sort_unstable();
    let all = sorted.iter().zip(0..).all(|(&node, i)| node == i) && rises(&grouping.starts, nodes);
    let seated = parent.is_empty() && supernodes == 0 || parent.len() == nodes;
    let same = grouping.starts.len() == parent_starts.len() && rises(&parent_starts, supernodes);
    if !(all && seated && same) {
        return None;
    }
    let (bits, _) = take(rest, 4 * parent.len())?.as_chunks();
    let parent_weight = |bits: &[u32; 4]| {
        let [x, y, z, ratio] = bits.map(f32::from_bits);
        ParentWeight { offset: [x, y, z], ratio }
    };
    let level = SupernodeLevel {
        parent,
        parent_starts,
        parent_weights: bits.iter().map(parent_weight).collect(),
        ..SupernodeLevel::of(grouping)
    };
    let inside = |domain: usize| {
        let parents = level.parents_of(domain);
        level.parent.is_empty()
            || level.parent[level.places_of(domain)].iter().all(|&p| parents.contains(&(p as usize)))
    };
    (0..level.domains()).all(inside).then_some(level)
}

fn take<'a>(rest: &mut &'a [u32], count: usize) -> Option<&'a [u32]> {
    let (first, later) = rest.split_at_checked(count)?;
    *rest = later;
    Some(first)
}
