//! The motion of the nodes of a supernode: a translation (the coarse space of Nicolaides 1987, Wu 2022 section 5.2),
//! a rigid motion, or an affine one.
//!
//! With centre `c` and radius `s` of a supernode and `o = (x - c)/s`, a node at `x` moves by
//!
//! ```text
//! u                 3 unknowns
//! u + ω × o         6 unknowns (u, ω)
//! u + Σ_a o_a g_a   12 unknowns (u, g_x, g_y, g_z)
//! ```
//!
//! A supernode within a coarser one moves by the same motion in its own frame: `T = [1, o; 0, ρ]` with `ρ` the ratio of
//! their radii. So all levels span true translations, rigid or affine motions of the nodes below.

#![allow(clippy::needless_range_loop, reason = "iterators are not always inlined into kernels")]

/// Maximum number of unknowns per supernode.
pub(super) const MOST: usize = 12;

/// The motions of a supernode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modes {
    /// 3 unknowns, the paper's.
    Translations,
    /// 6 unknowns.
    Rigid,
    /// 12 unknowns.
    Affine,
}

impl Modes {
    /// The motions with this many unknowns.
    pub fn of_count(count: u32) -> Option<Self> {
        [Self::Translations, Self::Rigid, Self::Affine]
            .into_iter()
            .find(|modes| modes.count() == count as usize)
    }

    /// Unknowns per supernode.
    pub fn count(self) -> usize {
        match self {
            Self::Translations => 3,
            Self::Rigid => 6,
            Self::Affine => MOST,
        }
    }
}

/// The position of a node in its supernode's frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ParentWeight {
    /// `(x - c)/s`.
    pub offset: [f32; 3],
    /// The node's own radius over the supernode's; zero on the finest level.
    pub ratio: f32,
}

impl ParentWeight {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn numbers(self) -> ([f64; 3], f64) {
        let [x, y, z] = self.offset;
        ([f64::from(x), f64::from(y), f64::from(z)], f64::from(self.ratio))
    }

    /// `parent += Tᵀ child`, for `C` unknowns of the node and `M` of the supernode.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn restrict_add<const C: usize, const M: usize>(
        self,
        child: &[f64; C],
        parent: &mut [f64; M],
    ) {
        let ([x, y, z], ratio) = self.numbers();
        for c in 0..3 {
            parent[c] += child[c];
        }
        if M == 6 {
            parent[3] += y * child[2] - z * child[1];
            parent[4] += z * child[0] - x * child[2];
            parent[5] += x * child[1] - y * child[0];
        } else if M == MOST {
            for (a, o) in [x, y, z].into_iter().enumerate() {
                for c in 0..3 {
                    parent[3 + 3 * a + c] += o * child[c];
                }
            }
        }
        for k in 3..C {
            parent[k] += ratio * child[k];
        }
    }

    /// `child += T parent`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn prolong_add<const C: usize, const M: usize>(self, parent: &[f64; M], child: &mut [f64; C]) {
        let ([x, y, z], ratio) = self.numbers();
        for c in 0..3 {
            child[c] += parent[c];
        }
        if M == 6 {
            child[0] += parent[4] * z - parent[5] * y;
            child[1] += parent[5] * x - parent[3] * z;
            child[2] += parent[3] * y - parent[4] * x;
        } else if M == MOST {
            for (a, o) in [x, y, z].into_iter().enumerate() {
                for c in 0..3 {
                    child[c] += o * parent[3 + 3 * a + c];
                }
            }
        }
        for k in 3..C {
            child[k] += ratio * parent[k];
        }
    }

    /// `block += Tᵀ rows`: the same for all columns of a matrix at once.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn restrict_rows_add<const M: usize>(self, rows: &[[f64; M]], block: &mut [[f64; M]]) {
        let (o, ratio) = self.numbers();
        for c in 0..3 {
            add(&mut block[c], 1.0, &rows[c]);
        }
        if M == 6 {
            for (a, b, c) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
                add(&mut block[3 + a], o[b], &rows[c]);
                add(&mut block[3 + a], -o[c], &rows[b]);
            }
        } else if M == MOST {
            for (a, o) in o.into_iter().enumerate() {
                for c in 0..3 {
                    add(&mut block[3 + 3 * a + c], o, &rows[c]);
                }
            }
        }
        for k in 3..rows.len() {
            add(&mut block[k], ratio, &rows[k]);
        }
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn add<const M: usize>(sum: &mut [f64; M], factor: f64, terms: &[f64; M]) {
    for k in 0..M {
        sum[k] += factor * terms[k];
    }
}
