//! A solver by its name: a method, a linear solver, or both as `lbfgs+jacobi`.

use crate::scene::method::LinearUse;
use crate::scene::{Declarations, LinearKind, Method, Solver};
use supple_core::Error;

impl Solver {
    /// Applies a solver name and keeps the options. A linear solver is used under the current method, or under the
    /// default one if that method has no linear systems. An error lists the names of `steppers`.
    pub fn choose_from(&mut self, name: &str, steppers: &Declarations) -> Result<(), Error> {
        let method = |name: &str| steppers.method(name);
        let linear = |name: &str| LinearKind::ALL.into_iter().find(|kind| kind.name() == name);
        let chosen = match name.split_once('+') {
            Some((first, second)) => method(first).zip(linear(second)).map(|(m, l)| (Some(m), Some(l))),
            None => match (method(name), linear(name)) {
                (None, None) => None,
                found => Some(found),
            },
        };
        let Some((method, linear)) = chosen else {
            return Err(Error::UnknownSolver { name: name.to_owned(), valid: steppers.solver_names() });
        };
        if method.is_none() && self.method.traits().linear == LinearUse::None {
            self.method = Method::default();
        }
        self.method = method.unwrap_or(self.method);
        if !self.method.traits().velocity_tolerance {
            self.velocity_tolerance = None;
        }
        if !self.method.traits().contact_matrix {
            self.contact_matrix = None;
        }
        if let Some(kind) = linear {
            self.linear.get_or_insert_default().kind = kind;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(before: Method, name: &str) -> String {
        let mut solver = Solver { method: before, ..Solver::default() };
        solver.choose(name).map(|()| solver.name()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn a_linear_word_keeps_the_method_unless_it_has_no_linear_systems() {
        assert_eq!(chosen(Method::LBFGS, "mas"), "lbfgs+mas");
        assert_eq!(chosen(Method::HPBD, "mas"), "newton+mas");
        assert_eq!(chosen(Method::NEWTON, "hpbd"), "hpbd");
        assert_eq!(chosen(Method::HPBD, "projective+jacobi"), "projective+jacobi");
    }

    #[test]
    fn every_linear_solver_is_accepted_and_other_names_get_the_list() {
        for kind in LinearKind::ALL {
            assert!(Solver::default().choose(kind.name()).is_ok());
        }
        for wrong in ["magic", "newton+newton", "mas+newton", "+", "newton+", ""] {
            let problem = Solver::default().choose(wrong).unwrap_err().to_string();
            assert!(problem.contains("newton") && problem.contains("cholesky"), "{problem}");
        }
    }
}
