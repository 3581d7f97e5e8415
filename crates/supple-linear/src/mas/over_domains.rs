//! Parallel loops over the domains of a level, each with its own slice of the results. Domains differ in size, so the
//! results are split by a binary tree whose shape depends only on their number: no list of slices is allocated, and
//! no thread waits for a lock.

/// Domains per task.
const GRAIN: usize = 16;

/// Results in the order of the domains.
pub(super) struct DomainSlice<'a, T> {
    items: &'a mut [T],
    /// The start of each domain's items, and the end of the last; one item per domain if not given.
    starts: Option<&'a [u32]>,
    /// Items per step of `starts`.
    width: usize,
}

impl<'a, T> DomainSlice<'a, T> {
    /// One item per domain.
    pub(super) fn one_each(items: &'a mut [T]) -> Self {
        Self { items, starts: None, width: 1 }
    }

    /// `width` items per step of `starts`.
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

/// Calls `work(domain, a, b)` with each domain's items, for the domains from `first`.
pub(super) fn over_domains<A: Send, B: Send>(
    domains: std::ops::Range<usize>,
    a: DomainSlice<'_, A>,
    b: DomainSlice<'_, B>,
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
