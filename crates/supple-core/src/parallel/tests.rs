use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::prelude::*;
use super::*;

/// Miri is slow, and only checks for undefined behaviour.
const LONGEST: usize = if cfg!(miri) { 60 } else { 5000 };
const CASES: u32 = if cfg!(miri) { 2 } else { 64 };
const THREADS: [usize; 4] = [1, 2, 3, 5];

fn in_pool<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// Asserts that `work` returns `expected` on any number of threads.
fn on_all<R: Send + PartialEq + std::fmt::Debug>(expected: &R, work: impl Fn() -> R + Sync) {
    for threads in THREADS {
        assert_eq!(&in_pool(threads, &work), expected, "{threads} threads");
    }
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() }
}

fn noise(i: usize) -> u64 {
    (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

fn values(count: usize) -> Vec<u64> {
    (0..count).map(noise).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn pieces_of_the_driver_cover_every_index_once(count in 0..LONGEST, min_len in 0usize..300) {
        for threads in THREADS {
            let visits: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            in_pool(threads, || drive(count, min_len, &|range| {
                assert!(range.len() >= min_len.min(count));
                range.for_each(|i| { visits[i].fetch_add(1, Ordering::Relaxed); });
            }));
            assert!(visits.iter().all(|v| v.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn slices_give_what_sequential_iterators_give(count in 0..LONGEST, size in 1usize..40, min_len in 0usize..99) {
        let v = values(count);
        on_all(&v, || v.par_iter().with_min_len(min_len).copied().collect());
        on_all(&v, || v.par_iter().cloned().collect());
        on_all(&v.chunks(size).map(<[_]>::to_vec).collect::<Vec<_>>(),
            || v.par_chunks(size).map(<[_]>::to_vec).collect());
        on_all(&v.windows(size).map(|w| w[0] + w[size - 1]).collect::<Vec<_>>(),
            || v.par_windows(size).with_min_len(min_len).map(|w| w[0] + w[size - 1]).collect());
    }

    #[test]
    fn mutable_slices_are_changed_in_place(count in 0..LONGEST, size in 1usize..40, min_len in 0usize..99) {
        let v = values(count);
        let changed = |change: &dyn Fn(&mut Vec<u64>)| { let mut v = v.clone(); change(&mut v); v };
        let each = changed(&|v| v.iter_mut().enumerate().for_each(|(i, x)| *x += i as u64));
        on_all(&each, || { let mut v = v.clone();
            v.par_iter_mut().enumerate().with_min_len(min_len).for_each(|(i, x)| *x += i as u64); v });
        let chunks = changed(&|v| v.chunks_mut(size).for_each(|c| c.reverse()));
        on_all(&chunks, || { let mut v = v.clone(); v.par_chunks_mut(size).for_each(|c| c.reverse()); v });
        let exact = changed(&|v| v.chunks_exact_mut(size).for_each(|c| c.reverse()));
        on_all(&exact, || { let mut v = v.clone(); v.par_chunks_exact_mut(size).for_each(|c| c.reverse()); v });
    }

    #[test]
    fn ranges_give_their_integers(first in -400i32..400, count in 0..LONGEST as i32) {
        let last = first + count;
        on_all(&(first..last).collect::<Vec<_>>(), || (first..last).into_par_iter().collect());
        on_all(&(first..=last).collect::<Vec<_>>(), || (first..=last).into_par_iter().collect());
        on_all(&(last..first).collect::<Vec<_>>(), || (last..first).into_par_iter().collect());
        on_all(&(0..count as u32).collect::<Vec<_>>(), || (0..count as u32).into_par_iter().collect());
        on_all(&(7..count as usize).collect::<Vec<_>>(), || (7..count as usize).into_par_iter().collect());
    }

    #[test]
    fn vectors_are_taken_by_value(count in 0..LONGEST) {
        let v: Vec<String> = (0..count).map(|i| i.to_string()).collect();
        on_all(&v, || v.clone().into_par_iter().collect());
        let odd: Vec<String> = v.iter().filter(|s| s.len() % 2 == 1).cloned().collect();
        on_all(&odd, || v.clone().into_par_iter().filter(|s| s.len() % 2 == 1).collect());
    }

    #[test]
    fn zips_chains_and_steps_are_those_of_sequential_iterators(
        counts in [0..LONGEST, 0..LONGEST, 0..LONGEST], step in 1usize..50, min_len in 0usize..99,
    ) {
        let [a, b, mut c] = counts.map(values);
        let expected: Vec<_> = a.iter().zip(&b).zip(&c).map(|((a, b), c)| (*a, *b, *c)).collect();
        on_all(&expected, || a.par_iter().zip(&b).with_min_len(min_len).zip(c.clone())
            .map(|((a, b), c)| (*a, *b, c)).collect());
        on_all(&a.iter().chain(&b).copied().enumerate().collect::<Vec<_>>(),
            || a.par_iter().chain(&b).copied().enumerate().collect());
        on_all(&a.iter().step_by(step).collect::<Vec<_>>(), || a.par_iter().step_by(step).collect());
        let sums: Vec<u64> = c.iter().zip(&a).map(|(c, a)| c + a).chain(c.iter().skip(a.len()).copied()).collect();
        c.par_iter_mut().zip(&a).for_each(|(c, a)| *c += a);
        prop_assert_eq!(c, sums);
    }

    #[test]
    fn items_that_are_filtered_or_multiplied_stay_in_order(count in 0..LONGEST) {
        let v = values(count);
        on_all(&v.iter().filter(|x| *x % 3 == 0).copied().collect::<Vec<_>>(),
            || v.par_iter().copied().filter(|x| x % 3 == 0).collect());
        let half = |x: u64| (x & 1 == 0).then_some(x / 2);
        on_all(&v.iter().filter_map(|x| half(*x)).collect::<Vec<_>>(),
            || v.par_iter().filter_map(|x| half(*x)).collect());
        let many = |x: &u64| { let x = *x; (0..x % 4).map(move |k| x + k) };
        on_all(&v.iter().flat_map(many).collect::<Vec<_>>(), || v.par_iter().flat_map_iter(many).collect());
        on_all(&v.iter().copied().chain(v.iter().flat_map(many)).collect::<Vec<_>>(), || {
            let mut all = v.clone();
            all.par_extend(v.par_iter().flat_map_iter(many));
            all
        });
        on_all(&[&v[..], &v[..]].concat(), || { let mut all = v.clone(); all.par_extend(v.par_iter().copied()); all });
    }

    #[test]
    fn states_are_made_per_piece(count in 0..LONGEST) {
        let v = values(count);
        let work = |buffer: &mut Vec<u64>, x: &u64| { buffer.clear(); buffer.extend(0..x % 5); buffer.iter().sum::<u64>() };
        let expected: Vec<u64> = v.iter().map(|x| work(&mut Vec::new(), x)).collect();
        on_all(&expected, || v.par_iter().map_init(Vec::new, work).collect());
        let total = AtomicUsize::new(0);
        v.par_iter().for_each_init(Vec::new, |buffer, x| {
            total.fetch_add(work(buffer, x) as usize, Ordering::Relaxed);
        });
        prop_assert_eq!(total.into_inner() as u64, expected.iter().sum::<u64>());
    }

    #[test]
    fn reductions_agree_with_sequential_ones(count in 0..LONGEST, min_len in 0usize..99) {
        let v = values(count);
        on_all(&v.iter().sum::<u64>(), || v.par_iter().with_min_len(min_len).sum());
        on_all(&v.iter().min(), || v.par_iter().min());
        on_all(&v.iter().max(), || v.par_iter().with_min_len(min_len).max());
        on_all(&v.iter().fold(0, |a, x| a ^ x), || v.par_iter().copied().reduce(|| 0, |a, b| a ^ b));
        on_all(&v.iter().filter(|x| *x % 3 == 0).count(), || v.par_iter().filter(|x| *x % 3 == 0).count());
        let join = |a: Vec<u64>, b: Vec<u64>| [a, b].concat();
        on_all(&v, || v.par_iter().fold(Vec::new, |mut list, x| { list.push(*x); list }).reduce(Vec::new, join));
        let rounded = || v.par_iter().map(|x| (*x as f64).sin()).sum::<f64>().to_bits();
        on_all(&in_pool(1, rounded), rounded);
    }

    #[test]
    fn equal_extremes_are_chosen_as_sequentially(count in 0..LONGEST) {
        #[derive(Debug, Clone, Copy)]
        struct Keyed(u64, usize);
        impl PartialEq for Keyed { fn eq(&self, other: &Self) -> bool { self.0 == other.0 } }
        impl Eq for Keyed {}
        impl PartialOrd for Keyed {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> { Some(self.cmp(other)) }
        }
        impl Ord for Keyed { fn cmp(&self, other: &Self) -> std::cmp::Ordering { self.0.cmp(&other.0) } }
        let v: Vec<Keyed> = (0..count).map(|i| Keyed(noise(i) % 7, i)).collect();
        let place = |found: Option<&Keyed>| found.map(|found| found.1);
        on_all(&place(v.iter().min()), || place(v.par_iter().min()));
        on_all(&place(v.iter().max()), || place(v.par_iter().max()));
    }

    #[test]
    fn searches_find_the_first(count in 0..LONGEST, from in 0..LONGEST, min_len in 0usize..99) {
        let v = values(count);
        let meets = |(i, x): &(usize, &u64)| *i >= from && *x % 3 == 0;
        on_all(&v.iter().enumerate().find(meets), || v.par_iter().enumerate().with_min_len(min_len).find_first(meets));
        let found = |item: (usize, &u64)| meets(&item).then_some(item.0);
        on_all(&v.iter().enumerate().find_map(found), || v.par_iter().enumerate().find_map_first(found));
        on_all(&v.iter().enumerate().any(|item| meets(&item)), || v.par_iter().enumerate().any(|item| meets(&item)));
        on_all(&v.iter().all(|x| x % 101 != 0), || v.par_iter().all(|x| x % 101 != 0));
    }

    #[test]
    fn the_first_error_is_returned(count in 0..LONGEST, divisor in 1u64..3000) {
        let v = values(count);
        let check = |(i, x): (usize, &u64)| if x % divisor == 0 { Err(i) } else { Ok(*x) };
        let expected: Result<Vec<u64>, usize> = v.iter().enumerate().map(check).collect();
        on_all(&expected, || v.par_iter().enumerate().map(check).collect());
        on_all(&expected.clone().ok(), || v.par_iter().enumerate().map(|item| check(item).ok()).collect());
        on_all(&expected.map(|_| ()), || v.par_iter().enumerate().try_for_each(|item| check(item).map(|_| ())));
    }

    #[test]
    fn sorts_are_stable(count in 0..20 * LONGEST, distinct in 1u64..5000) {
        let v: Vec<(u64, usize)> = (0..count).map(|i| (noise(i) % distinct, i)).collect();
        let mut expected = v.clone();
        expected.sort_by_key(|x| x.0);
        for threads in [1, 3] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let sorted = |sort: fn(&mut Vec<(u64, usize)>)| { let mut v = v.clone(); pool.install(|| sort(&mut v)); v };
            prop_assert_eq!(&expected, &sorted(|v| v.par_sort_by(|a, b| a.0.cmp(&b.0))));
            prop_assert_eq!(&expected, &sorted(|v| v.par_sort_unstable_by(|a, b| a.0.cmp(&b.0))));
            prop_assert_eq!(&expected, &sorted(|v| v.par_sort_unstable_by_key(|x| x.0)));
            prop_assert_eq!(&expected, &sorted(|v| v.par_sort_unstable()));
        }
    }

    #[test]
    fn every_item_of_a_vector_is_dropped_once(count in 0..LONGEST, other in 0..LONGEST, at in 0..LONGEST) {
        let drops: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
        struct Counted<'a>(&'a AtomicUsize);
        impl Drop for Counted<'_> { fn drop(&mut self) { self.0.fetch_add(1, Ordering::Relaxed); } }
        let items = || drops.iter().map(Counted).collect::<Vec<_>>().into_par_iter();
        let uses: [&(dyn Fn() + Sync); 8] = [
            &|| drop(items()),
            &|| items().for_each(drop),
            &|| drop(items().collect::<Vec<_>>()),
            &|| items().zip(0..other).for_each(drop),
            &|| (0..other).into_par_iter().zip(items().zip(0..at)).for_each(drop),
            &|| items().step_by(3).for_each(drop),
            &|| drop(items().enumerate().find_first(|(i, _)| *i == at)),
            &|| drop(items().enumerate().map(|(i, x)| if i == at { Err(i) } else { Ok(x) }).collect::<Result<Vec<_>, _>>()),
        ];
        for threads in [1, 3] {
            for (k, work) in uses.iter().enumerate() {
                in_pool(threads, work);
                for (i, drops) in drops.iter().enumerate() {
                    prop_assert_eq!(drops.swap(0, Ordering::Relaxed), 1, "item {} in use {}", i, k);
                }
            }
        }
    }
}

#[test]
fn references_buffers_and_boxes_are_sources_and_targets() {
    let mut array = [1u32, 2, 3];
    array.par_iter_mut().zip(&[10, 20, 30]).for_each(|(a, b)| *a += b);
    let boxed: Box<[u32]> = array.par_iter().copied().collect();
    assert_eq!(*boxed, [11, 22, 33]);
    let mut list = vec![0; 5];
    let before = list.as_ptr();
    (&boxed).into_par_iter().map(|x| 2 * x).collect_into_vec(&mut list);
    assert_eq!((list.as_ptr(), &list[..]), (before, &[22, 44, 66][..]));
    (&mut list[..]).into_par_iter().zip(boxed.par_iter()).for_each(|(a, b)| *a -= b);
    assert_eq!(list, [11, 22, 33]);
    assert_eq!((3u64..=u64::MAX).into_par_iter().len() as u64, u64::MAX - 2);
    assert_eq!((i32::MAX - 1..=i32::MAX).into_par_iter().collect::<Vec<_>>(), [i32::MAX - 1, i32::MAX]);
    assert_eq!(vec![(); 9].into_par_iter().count(), 9);
}

#[test]
fn loops_within_loops_reach_every_pair() {
    let (rows, columns) = if cfg!(miri) { (5, 7) } else { (70, 300) };
    let expected: Vec<Vec<usize>> = (0..rows).map(|r| (0..columns).map(|c| r * c).collect()).collect();
    on_all(&expected, || {
        (0..rows).into_par_iter().map(|r| (0..columns).into_par_iter().map(|c| r * c).collect()).collect()
    });
}

#[test]
fn panics_reach_the_caller_and_nothing_is_dropped_twice() {
    let (count, bad) = if cfg!(miri) { (40, 23) } else { (4000, 2345) };
    for threads in THREADS {
        let dropped = AtomicUsize::new(0);
        struct Counted<'a>(usize, &'a AtomicUsize);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.1.fetch_add(1, Ordering::Relaxed);
            }
        }
        let items: Vec<Counted<'_>> = (0..count).map(|i| Counted(i, &dropped)).collect();
        let work = || {
            let checked = items.into_par_iter().map(|item| {
                assert!(item.0 != bad, "the bad one");
                item
            });
            in_pool(threads, || checked.collect::<Vec<_>>().len())
        };
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_err();
        assert_eq!(*panic.downcast::<&str>().unwrap(), "the bad one");
        assert!(dropped.into_inner() <= count);
    }
    let panic = std::panic::catch_unwind(|| join(|| 1, || -> i32 { panic!("second") }));
    assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "second");
}

#[test]
fn joins_return_both_results() {
    on_all(&(3, "b".to_string()), || join(|| 1 + 2, || "b".to_string()));
}

/// The functions as they were before, on rayon's generic `join`.
mod original {
    use std::ops::Range;

    pub(super) fn fold<T: Send>(
        count: usize,
        chunk: usize,
        empty: T,
        part: impl Fn(Range<usize>) -> T + Sync,
        join: impl Fn(T, T) -> T + Sync,
    ) -> T {
        match count.div_ceil(chunk) {
            0 => empty,
            chunks => branch(0..chunks, &|c| part(c * chunk..count.min((c + 1) * chunk)), &join),
        }
    }

    fn branch<T: Send>(
        chunks: Range<usize>,
        part: &(impl Fn(usize) -> T + Sync),
        join: &(impl Fn(T, T) -> T + Sync),
    ) -> T {
        if chunks.len() == 1 {
            return part(chunks.start);
        }
        let middle = chunks.start + chunks.len() / 2;
        let (low, high) = rayon::join(
            || branch(chunks.start..middle, part, join),
            || branch(middle..chunks.end, part, join),
        );
        join(low, high)
    }
}

#[test]
fn sums_are_bit_identical_to_the_original_for_any_number_of_threads() {
    let counts =
        if cfg!(miri) { &[0, 1, CHUNK + 1][..] } else { &[0, 1, CHUNK, CHUNK + 1, 7 * CHUNK + 5, 123_457] };
    let term = |i: usize| (i as f64).sin() * 1e3;
    for &count in counts {
        let expected = original::fold(count, CHUNK, 0.0, |range| range.map(term).sum(), |a: f64, b| a + b);
        on_all(&expected.to_bits(), || sum(count, term).to_bits());
        let pairs =
            original::fold(count, 77, String::new(), |r| format!("{r:?}"), |a, b| format!("({a} {b})"));
        on_all(&pairs, || fold(count, 77, String::new(), |r| format!("{r:?}"), |a, b| format!("({a} {b})")));
    }
}

#[test]
fn what_is_found_comes_in_order_and_only_once() {
    let mut found = Found::default();
    for (count, step) in [(5 * CHUNK + 3, 7), (CHUNK, 11), (0, 1)] {
        in_pool(3, || {
            found.look(count, |i, list| {
                if i % step == 0 {
                    list.extend([i, i]);
                }
            });
        });
        let expected: Vec<usize> = (0..count).step_by(step).flat_map(|i| [i, i]).collect();
        assert_eq!((found.len(), found.is_empty()), (expected.len(), expected.is_empty()));
        assert!(found.iter().copied().eq(expected));
        let mut tens = Found::default();
        tens.fill(&[3, 0, 2], |part, list: &mut Vec<usize>| list.extend(10 * part..10 * part + part));
        assert!(tens.iter().copied().eq([30, 31, 32, 20, 21]));
    }
}
