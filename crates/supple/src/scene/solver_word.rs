//! A solver by its word: a method, a linear solver, or both as `lbfgs+jacobi`.

use super::{LinearKind, Method, Solver};

impl Solver {
    /// Takes over a solver's word and keeps the options. A linear solver comes under the method that is there, or under Newton's
    /// if that method has no linear systems. An error lists the words.
    ///
    /// ```
    /// let mut solver = supple::scene::Solver::default();
    /// solver.choose("lbfgs+mas")?;
    /// assert_eq!(solver.name(), "lbfgs+mas");
    /// assert!(solver.choose("conjugate").is_err());
    /// # Ok::<(), String>(())
    /// ```
    pub fn choose(&mut self, word: &str) -> Result<(), String> {
        let method = |word: &str| Method::ALL.into_iter().find(|method| method.word() == word);
        let linear = |word: &str| LinearKind::ALL.into_iter().find(|kind| kind.word() == word);
        let chosen = match word.split_once('+') {
            Some((first, second)) => method(first).zip(linear(second)).map(|(m, l)| (Some(m), Some(l))),
            None => match (method(word), linear(word)) {
                (None, None) => None,
                found => Some(found),
            },
        };
        let Some((method, linear)) = chosen else {
            return Err(format!(
                "no such solver; there are the methods {}, the linear solvers {}, and both together as `lbfgs+jacobi`",
                Method::SUPPORTED.map(Method::word).join(", "),
                LinearKind::ALL.map(LinearKind::word).join(", ")
            ));
        };
        if let Some(missing) = method.filter(|method| !Method::SUPPORTED.contains(method)) {
            return Err(format!("`{}` is not supported yet", missing.word()));
        }
        if method.is_none() && !self.method.solves_linear_systems() {
            self.method = Method::Newton;
        }
        self.method = method.unwrap_or(self.method);
        if self.method != Method::Newton {
            self.velocity_tolerance = None;
        }
        self.linear.kind = linear.unwrap_or(self.linear.kind);
        Ok(())
    }
}

impl Method {
    pub(super) fn solves_linear_systems(self) -> bool {
        !matches!(self, Self::Hpbd | Self::Octree | Self::Staggered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(before: Method, word: &str) -> String {
        let mut solver = Solver { method: before, ..Solver::default() };
        solver.choose(word).map(|()| solver.name()).unwrap_or_else(|problem| problem)
    }

    #[test]
    fn a_linear_word_keeps_the_method_unless_it_has_no_linear_systems() {
        assert_eq!(chosen(Method::Lbfgs, "mas"), "lbfgs+mas");
        assert_eq!(chosen(Method::Hpbd, "mas"), "newton+mas");
        assert_eq!(chosen(Method::Newton, "hpbd"), "hpbd");
        assert_eq!(chosen(Method::Hpbd, "projective+jacobi"), "projective+jacobi");
    }

    #[test]
    fn every_word_is_taken_and_others_are_told_the_list() {
        for method in Method::ALL {
            let taken = Solver::default().choose(method.word());
            assert_eq!(taken.is_ok(), Method::SUPPORTED.contains(&method), "{taken:?}");
        }
        for kind in LinearKind::ALL {
            assert!(Solver::default().choose(kind.word()).is_ok());
        }
        for wrong in ["magic", "newton+newton", "mas+newton", "+", "newton+", ""] {
            let problem = Solver::default().choose(wrong).unwrap_err();
            assert!(problem.contains("newton") && problem.contains("cholesky"), "{problem}");
        }
    }
}
