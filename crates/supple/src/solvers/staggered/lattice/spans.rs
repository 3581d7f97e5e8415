//! Runs of cells along x: the domain of the uniform kernels, so that the cost of a thin body in a big box is that of its own volume.

use std::ops::Range;

use supple_core::parallel::prelude::*;

/// Runs of neighbouring cells, plane by plane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Spans {
    plane_start: Vec<u32>,
    spans: Vec<[u32; 2]>,
}

impl Spans {
    /// The runs of cells that are chosen, in `planes` planes of rows of `width` cells.
    pub(crate) fn new(
        planes: usize,
        plane: usize,
        width: usize,
        chosen: impl Fn(usize) -> bool + Sync,
    ) -> Self {
        let of_plane = |z: usize| -> Vec<[u32; 2]> {
            let mut spans: Vec<[u32; 2]> = Vec::new();
            for row in (z * plane..(z + 1) * plane).step_by(width) {
                let mut open = false;
                for cell in (row..row + width).filter(|c| chosen(*c)) {
                    let cell = cell as u32;
                    match spans.last_mut() {
                        Some(last) if open && last[1] == cell => last[1] += 1,
                        _ => spans.push([cell, cell + 1]),
                    }
                    open = true;
                }
            }
            spans
        };
        let per_plane: Vec<_> = (0..planes).into_par_iter().map(of_plane).collect();
        let mut plane_start = vec![0];
        for spans in &per_plane {
            plane_start.push(plane_start.last().copied().unwrap_or(0) + spans.len() as u32);
        }
        Self { plane_start, spans: per_plane.concat() }
    }

    /// The runs of a plane.
    #[inline]
    pub(crate) fn plane(&self, z: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let range = self.plane_start[z] as usize..self.plane_start[z + 1] as usize;
        self.spans[range].iter().map(|s| s[0] as usize..s[1] as usize)
    }

    /// All runs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.spans.iter().map(|s| s[0] as usize..s[1] as usize)
    }

    /// Number of cells.
    pub(crate) fn cells(&self) -> usize {
        self.iter().map(|s| s.len()).sum()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.plane_start.len() * 4 + self.spans.len() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_hold_exactly_the_chosen_cells_and_end_with_their_row() {
        let chosen = |c: usize| c % 7 != 3 && c / 5 % 3 != 1;
        let spans = Spans::new(3, 30, 5, chosen);
        let found: Vec<usize> = spans.iter().flatten().collect();
        assert_eq!(found, (0..90).filter(|c| chosen(*c)).collect::<Vec<_>>());
        assert!(spans.iter().all(|s| s.start / 5 == (s.end - 1) / 5));
        assert_eq!(
            spans.plane(1).flatten().collect::<Vec<_>>(),
            (30..60).filter(|c| chosen(*c)).collect::<Vec<_>>()
        );
        assert_eq!(spans.cells(), found.len());
    }
}
