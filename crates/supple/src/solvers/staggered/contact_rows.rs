//! Linearised contacts as inequalities on the values of lattices. A contact with the normal `n` whose points have the weights `W` on a
//! body's unknowns, which are points of its lattice with the weights `P`, has the row `nᵀ R Σ Wⱼ Pⱼ` on the values of the lattice.

use glam::DVec3;

use crate::contact::barrier::{ContactSystem, LinearisedContacts};
use crate::solvers::staggered::body::LatticeBody;
use supple_core::Error;

/// Sweeps over all rows at most, and the correction at which they end, over the thickness.
const MOST_SWEEPS: u32 = 40;
const SMALL_CORRECTION: f64 = 1e-3;

/// A value of a lattice with its weight in a row.
#[derive(Debug, Clone, Copy)]
struct Entry {
    body: u32,
    at: u32,
    weight: f64,
    /// One over the mass of the value; zero if it is prescribed.
    inverse_mass: f64,
}

/// `Σ weight Δvalue >= least`.
#[derive(Debug, Clone, Copy)]
struct Row {
    end: u32,
    least: f64,
    /// How much the sum grows per impulse.
    give: f64,
    /// The impulse so far.
    push: f64,
}

/// The rows of all contacts.
#[derive(Debug, Default)]
pub(super) struct ContactRows {
    contacts: LinearisedContacts,
    rows: Vec<Row>,
    entries: Vec<Entry>,
    one: Vec<Entry>,
}

impl ContactRows {
    /// Changes where the values go so that contacts at `x` keep their distance, in the metric of the masses, by projected Gauss-Seidel:
    /// what colliders meet in the rest of the step is carried along.
    pub(super) fn carry(
        &mut self,
        contact: &mut ContactSystem,
        (bodies, first_unknown): (&[LatticeBody], &[u32]),
        (x, thickness): (&[DVec3], f64),
        goals: &mut [Vec<f64>],
    ) -> Result<(), Error> {
        contact.linearise(x, 1.0, &mut self.contacts)?;
        self.find_rows(bodies, first_unknown);
        let Self { rows, entries, .. } = self;
        for _ in 0..MOST_SWEEPS {
            let (mut largest, mut begin) = (0.0_f64, 0);
            for row in &mut *rows {
                let of_row = &entries[begin..row.end as usize];
                begin = row.end as usize;
                let change = |e: &Entry| {
                    let (body, at) = (e.body as usize, e.at as usize);
                    e.weight * (goals[body][at] - bodies[body].u[at])
                };
                let missing = row.least - of_row.iter().map(change).sum::<f64>();
                let push = (row.push + missing / row.give).max(0.0);
                let by = push - row.push;
                row.push = push;
                if by != 0.0 {
                    largest = largest.max(by.abs() * row.give);
                    for e in of_row {
                        goals[e.body as usize][e.at as usize] += by * e.inverse_mass * e.weight;
                    }
                }
            }
            if largest <= SMALL_CORRECTION * thickness {
                break;
            }
        }
        Ok(())
    }

    fn find_rows(&mut self, bodies: &[LatticeBody], first_unknown: &[u32]) {
        let Self { contacts, rows, entries, one } = self;
        rows.clear();
        entries.clear();
        for contact in &contacts.list {
            one.clear();
            for &(v, w) in contacts.weights(contact) {
                let body = first_unknown.partition_point(|first| *first <= v) - 1;
                add_entries(one, body, &bodies[body], (v - first_unknown[body]) as usize, w * contact.normal);
            }
            one.sort_unstable_by_key(|e| (e.body, e.at));
            let begin = entries.len();
            for e in &*one {
                match entries[begin..].last_mut() {
                    Some(last) if (last.body, last.at) == (e.body, e.at) => last.weight += e.weight,
                    _ => entries.push(*e),
                }
            }
            let give: f64 = entries[begin..].iter().map(|e| e.weight * e.weight * e.inverse_mass).sum();
            if give <= 0.0 {
                entries.truncate(begin);
                continue;
            }
            // Only in front of what moves on do contacts have to part.
            let driven = contact.carried.dot(contact.normal);
            let spare = if driven > 0.0 { contact.spare } else { contact.spare.max(0.0) };
            rows.push(Row { end: entries.len() as u32, least: driven - spare, give, push: 0.0 });
        }
    }
}

/// Adds the weights of the values that a body's unknown depends on along a direction.
fn add_entries(one: &mut Vec<Entry>, index: usize, body: &LatticeBody, unknown: usize, direction: DVec3) {
    let (direction, lattice) = (body.frame.inward(direction), body.hierarchy.finest().lattice());
    for field in 0..3 {
        one.extend(body.points.weights(unknown, field).iter().map(|&(cell, w)| {
            let at = (field * lattice.len()) as u32 + cell;
            let is_free = lattice.is_unknown(field, cell as usize);
            let inverse_mass = if is_free { 1.0 / body.mass(at) } else { 0.0 };
            Entry { body: index as u32, at, weight: w * direction[field], inverse_mass }
        }));
    }
}
