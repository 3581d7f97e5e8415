//! Numbers in messages: three hundred digits are less readable than an exponent.

use std::fmt::{self, Display};

use glam::DVec3;

/// A number in the shortest form that reads back bit-identical; with an exponent where that is shorter.
pub struct Short(pub f64);

impl Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.abs() {
            0.0 | 1e-5..1e16 => write!(f, "{}", self.0),
            _ => write!(f, "{:e}", self.0),
        }
    }
}

/// A measured number with four decimals, or with an exponent where that is shorter or more precise.
pub struct Brief(pub f64);

impl Display for Brief {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.abs() {
            0.0 | 1e-3..1e6 => write!(f, "{:.4}", self.0),
            _ => write!(f, "{:.4e}", self.0),
        }
    }
}

/// The components of a vector that may be of any size: "(1.0000e0, inf, -2.5000e200)".
pub fn components(v: DVec3) -> String {
    format!("({})", v.to_array().map(|x| format!("{x:.4e}")).join(", "))
}

/// The requirement on a number, with the reminder that it must be finite if it is not: "finite and above 0".
pub fn finite_and(value: f64, must: &str) -> String {
    if value.is_finite() { must.to_owned() } else { format!("finite and {must}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_stay_short_and_read_back() {
        for x in [0.0, 1.0, -0.1, 75.0, 100_000.0, 1e15, 1e16, 1e300, -1.0 / 3e200, 5e-324, f64::MAX] {
            let text = Short(x).to_string();
            assert!(text.len() <= 24, "{text}");
            assert_eq!(text.parse::<f64>().unwrap(), x);
        }
        assert_eq!([Short(1e5).to_string(), Short(f64::INFINITY).to_string()], ["100000", "inf"]);
        assert_eq!([Brief(2.5).to_string(), Brief(1e300).to_string()], ["2.5000", "1.0000e300"]);
        assert!(components(DVec3::new(-1e300, f64::NAN, 0.0)).len() < 40);
    }
}
