//! A solver by its name: a method, a linear solver, or both as `lbfgs+jacobi`.

use crate::scene::method::LinearUse;
use crate::scene::{Declarations, LinearKind, Method, Solver};
use supple_core::Error;

impl Solver {
    /// Applies a solver name and keeps the options. A linear solver is used under the current method, or under the
    /// default one if that method has no linear systems. An error lists the names of `steppers`.
    pub fn choose_from(&mut self, word: &str, steppers: &Declarations) -> Result<(), Error> {
        let method = |word: &str| steppers.method(word);
        let linear = |word: &str| LinearKind::ALL.into_iter().find(|kind| kind.word() == word);
        let chosen = match word.split_once('+') {
            Some((first, second)) => method(first).zip(linear(second)).map(|(m, l)| (Some(m), Some(l))),
            None => match (method(word), linear(word)) {
                (None, None) => None,
                found => Some(found),
            },
        };
        let Some((method, linear)) = chosen else {
            return Err(Error::UnknownSolver { name: word.to_owned(), valid: steppers.solver_words() });
        };
        if method.is_none() && self.method.traits().linear == LinearUse::None {
            self.method = Method::default();
        }
        self.method = method.unwrap_or(self.method);
        if !self.method.traits().velocity_tolerance {
            self.velocity_tolerance = None;
        }
        self.linear.kind = linear.unwrap_or(self.linear.kind);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(before: Method, word: &str) -> String {
        let mut solver = Solver { method: before, ..Solver::default() };
        solver.choose(word).map(|()| solver.name()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn a_linear_word_keeps_the_method_unless_it_has_no_linear_systems() {
        assert_eq!(chosen(Method::LBFGS, "mas"), "lbfgs+mas");
        assert_eq!(chosen(Method::HPBD, "mas"), "newton+mas");
        assert_eq!(chosen(Method::NEWTON, "hpbd"), "hpbd");
        assert_eq!(chosen(Method::HPBD, "projective+jacobi"), "projective+jacobi");
    }

    #[test]
    fn every_linear_solver_is_taken_and_others_are_told_the_list() {
        for kind in LinearKind::ALL {
            assert!(Solver::default().choose(kind.word()).is_ok());
        }
        for wrong in ["magic", "newton+newton", "mas+newton", "+", "newton+", ""] {
            let problem = Solver::default().choose(wrong).unwrap_err().to_string();
            assert!(problem.contains("newton") && problem.contains("cholesky"), "{problem}");
        }
    }
}
