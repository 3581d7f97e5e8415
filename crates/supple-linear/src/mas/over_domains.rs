//! Work on all domains of a level at once, each with its own part of the results. Domains differ in size, so the results are cut
//! by a tree of halves whose shape depends on their number alone: no list of pieces is made, and no thread waits for a lock.

/// Domains that one task takes one after the other.
const GRAIN: usize = 16;

/// Results in the order of the domains.
pub(super) struct Part<'a, T> {
    items: &'a mut [T],
    /// Where each domain's begin, and where the last one's end; one for each domain if not given.
    starts: Option<&'a [u32]>,
    /// Items for each step of `starts`.
    width: usize,
}

impl<'a, T> Part<'a, T> {
    /// One item for each domain.
    pub(super) fn one_each(items: &'a mut [T]) -> Self {
        Self { items, starts: None, width: 1 }
    }

    /// `width` items for each of the things that `starts` counts.
    pub(super) fn listed(items: &'a mut [T], starts: &'a [u32], width: usize) -> Self {
        Self { items, starts: Some(starts), width }
    }

    fn split(self, domains: usize) -> (Self, Self) {
        let Self { items, starts, width } = self;
        let steps = starts.map_or(domains, |starts| (starts[domains] - starts[0]) as usize);
        let (items, later_items) = items.split_at_mut(width * steps);
        let later_starts = starts.map(|starts| &starts[domains..]);
        (Self { items, starts, width }, Self { items: later_items, starts: later_starts, width })
    }
}

/// Calls `work(domain, a, b)` with each domain's items, for the domains from `first` on.
pub(super) fn over_domains<A: Send, B: Send>(
    domains: std::ops::Range<usize>,
    a: Part<'_, A>,
    b: Part<'_, B>,
    work: &(impl Fn(usize, &mut [A], &mut [B]) + Sync),
) {
    if domains.len() <= GRAIN {
        let (mut a, mut b) = (a, b);
        for domain in domains {
            let (own_a, later_a) = a.split(1);
            let (own_b, later_b) = b.split(1);
            work(domain, own_a.items, own_b.items);
            (a, b) = (later_a, later_b);
        }
        return;
    }
    let half = domains.len() / 2;
    let middle = domains.start + half;
    let ((a, later_a), (b, later_b)) = (a.split(half), b.split(half));
    supple_core::parallel::join(
        || over_domains(domains.start..middle, a, b, work),
        || over_domains(middle..domains.end, later_a, later_b, work),
    );
}
