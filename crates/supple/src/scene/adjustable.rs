//! The options of a stepper that a user interface lets the user change, with bounds and text.

/// An option that a user interface offers.
#[derive(Debug, Clone, PartialEq)]
pub struct Adjustable {
    /// Its key in the stepper's option table.
    pub key: &'static str,
    /// A short label next to the control.
    pub label: &'static str,
    /// A sentence.
    pub help: &'static str,
    /// Its value, and what it may become.
    pub value: AdjustableValue,
}

/// The value of an option, and what it may become.
#[derive(Debug, Clone, PartialEq)]
pub enum AdjustableValue {
    /// An integer, with the smallest and the largest value offered.
    Count(u32, [u32; 2]),
    /// A number, with the smallest and the largest value offered.
    Number(f64, [f64; 2]),
    /// One of some names, each with a title.
    Choice(&'static str, &'static [(&'static str, &'static str)]),
    /// Yes or no.
    Switch(bool),
}

impl Adjustable {
    /// An integer.
    pub fn count(
        key: &'static str,
        label: &'static str,
        help: &'static str,
        value: u32,
        range: [u32; 2],
    ) -> Self {
        Self { key, label, help, value: AdjustableValue::Count(value, range) }
    }
}
