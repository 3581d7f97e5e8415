//! The schedule of a factorisation: its distribution over threads and memory, computed once per structure.
//!
//! Small subtrees of the elimination tree are independent tasks. The supernodes above them are few and large; they
//! are processed in sequence, each by all threads. Update matrices are stored in one workspace: every task has its
//! own part, in which children stack their updates at one end and the parent uses the other, alternating, so that a
//! chain of supernodes only needs space for two updates.

use std::ops::Range;

use super::graph::ABSENT;
use super::supernodes::Supernodes;

/// Tasks have at most this fraction of the whole work, so that the load is balanced over two to a dozen threads.
const TASK_SHARE: f64 = 1.0 / 24.0;
/// Work in multiplications below which nothing is split.
const SMALL: f64 = 2e6;

/// The schedule.
pub(super) struct FactorSchedule {
    /// Consecutive supernodes processed by one thread, in ascending order, without those of `top`.
    pub(super) tasks: Vec<Range<usize>>,
    /// Supernodes processed after all tasks, in ascending order.
    pub(super) top: Vec<usize>,
    /// The start of each supernode's update in the workspace.
    pub(super) update_start: Vec<usize>,
    /// The workspace of each task.
    pub(super) task_room: Vec<Range<usize>>,
    /// The length of the workspace.
    pub(super) space: usize,
}

impl FactorSchedule {
    /// Schedules supernodes of `dof` scalars per block.
    pub(super) fn new(supernodes: &Supernodes, dof: usize) -> Self {
        let work = subtree_work(supernodes, dof);
        let limit = (TASK_SHARE * roots(supernodes).map(|root| work[root]).sum::<f64>()).max(SMALL);
        let top: Vec<usize> = (0..supernodes.len()).filter(|&s| work[s] > limit).collect();
        let mut plan = Self {
            tasks: tasks(supernodes, &work, limit),
            top,
            update_start: vec![0; supernodes.len()],
            task_room: Vec::new(),
            space: 0,
        };
        plan.place_updates(supernodes, dof, &work, limit);
        plan
    }

    fn place_updates(&mut self, supernodes: &Supernodes, dof: usize, work: &[f64], limit: f64) {
        let update = |s: usize| (supernodes.rows(s).len() * dof).pow(2);
        // Children whose updates share the stack of their parent: all within a task, otherwise only those in `top`.
        let children = |s: usize| {
            let all = supernodes.children(s).iter().map(|&child| child as usize);
            all.filter(move |&child| work[s] <= limit || work[child] > limit)
        };
        let mut need = vec![0; supernodes.len()];
        for s in 0..supernodes.len() {
            let mut stacked = 0;
            for child in children(s) {
                need[s] = need[s].max(stacked + need[child]);
                stacked += update(child);
            }
            need[s] = need[s].max(stacked + update(s));
        }
        let mut stacks: Vec<Option<Stack>> = vec![None; supernodes.len()];
        for task in &self.tasks {
            let start = self.space;
            for root in task.clone().filter(|&s| !task.contains(&(supernodes.parent[s] as usize))) {
                stacks[root] = Some(Stack { space: self.space..self.space + need[root], at_start: true });
                self.space += need[root];
            }
            self.task_room.push(start..self.space);
        }
        let shared = self.top.iter().map(|&s| need[s]).max().unwrap_or(0);
        for &s in self.top.iter().filter(|&&s| supernodes.parent[s] == ABSENT) {
            stacks[s] = Some(Stack { space: self.space..self.space + shared, at_start: true });
        }
        self.space += shared;
        for s in (0..supernodes.len()).rev() {
            let mut stack = stacks[s].clone().expect("parents come after their children");
            self.update_start[s] = stack.take(update(s), &mut stack.space.clone());
            stack.at_start = !stack.at_start;
            let mut space = stack.space.clone();
            for child in children(s) {
                stacks[child] = Some(Stack { space: space.clone(), at_start: stack.at_start });
                stack.take(update(child), &mut space);
            }
        }
    }
}

/// The workspace of a subtree, and the end at which its root's update is stored.
#[derive(Clone)]
struct Stack {
    space: Range<usize>,
    at_start: bool,
}

impl Stack {
    /// Allocates `length` numbers at this stack's end of `space`; returns their start.
    fn take(&self, length: usize, space: &mut Range<usize>) -> usize {
        if self.at_start {
            space.start += length;
            space.start - length
        } else {
            space.end -= length;
            space.end
        }
    }
}

fn roots(supernodes: &Supernodes) -> impl Iterator<Item = usize> {
    (0..supernodes.len()).filter(|&s| supernodes.parent[s] == ABSENT)
}

/// Multiplications of every supernode including its subtree.
fn subtree_work(supernodes: &Supernodes, dof: usize) -> Vec<f64> {
    let mut work = vec![0.0; supernodes.len()];
    for s in 0..supernodes.len() {
        let k = (supernodes.columns(s).len() * dof) as f64;
        let m = (supernodes.rows(s).len() * dof) as f64;
        work[s] += k * k * k / 3.0 + k * k * m + k * m * m;
        if supernodes.parent[s] != ABSENT {
            work[supernodes.parent[s] as usize] += work[s];
        }
    }
    work
}

/// Subtrees below the limit; neighbouring ones are grouped while they stay below it.
fn tasks(supernodes: &Supernodes, work: &[f64], limit: f64) -> Vec<Range<usize>> {
    let mut tasks: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    let mut sum = f64::INFINITY;
    for s in 0..supernodes.len() {
        if work[s] > limit {
            start = s + 1;
            sum = f64::INFINITY;
            continue;
        }
        let parent = supernodes.parent[s];
        if parent != ABSENT && work[parent as usize] <= limit {
            continue;
        }
        match tasks.last_mut() {
            Some(last) if last.end == start && sum + work[s] <= limit => {
                last.end = s + 1;
                sum += work[s];
            }
            _ => {
                tasks.push(start..s + 1);
                sum = work[s];
            }
        }
        start = s + 1;
    }
    tasks
}
