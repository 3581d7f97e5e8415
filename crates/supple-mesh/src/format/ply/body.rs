//! The numbers after a PLY header, from text or from binary, one at a time.

use super::super::binary::{BinaryCursor, NumberType};
use super::header::PlyElement;
use supple_core::FileError;
use supple_core::text::scan::{Scanner, parse_f64, shown};

/// The source of the numbers of the elements.
pub(super) trait PlySource {
    /// The next number, of any value: skipped values need not be finite.
    fn number(&mut self, scalar: NumberType) -> Result<f64, FileError>;

    /// To be called after the last number of an element.
    fn end_of_element(&mut self, element: &PlyElement) -> Result<(), FileError>;

    /// The maximum number of elements of this kind in the rest of the file.
    fn max_elements(&self, element: &PlyElement) -> usize;

    /// An error at the last number.
    fn error(&self, problem: String) -> FileError;
}

impl PlySource for Scanner<'_> {
    #[inline]
    fn number(&mut self, _: NumberType) -> Result<f64, FileError> {
        let Some(token) = self.token() else { return Err(self.ended("a value of this element")) };
        parse_f64(token)
            .ok_or_else(|| Scanner::error(self, format!("expected a number, found {}", shown(token))))
    }

    fn end_of_element(&mut self, element: &PlyElement) -> Result<(), FileError> {
        if self.line_is_done() {
            return Ok(());
        }
        Err(Scanner::error(
            self,
            format!(
                "this line does not end with the last of the {} properties of a `{}`; it has a value too many, or \
                 the line before has one too few",
                element.properties.len(),
                element.name
            ),
        ))
    }

    fn max_elements(&self, element: &PlyElement) -> usize {
        // Every value takes a character and a separator, except at the end of the last line.
        (self.remaining().len() + 1) / (2 * element.properties.len()).max(1)
    }

    fn error(&self, problem: String) -> FileError {
        Scanner::error(self, problem)
    }
}

impl PlySource for BinaryCursor<'_> {
    #[inline]
    fn number(&mut self, scalar: NumberType) -> Result<f64, FileError> {
        let bytes = self.take(scalar.size(), "a value")?;
        Ok(scalar.float(bytes, self.order))
    }

    fn end_of_element(&mut self, _: &PlyElement) -> Result<(), FileError> {
        Ok(())
    }

    fn max_elements(&self, element: &PlyElement) -> usize {
        self.rest().len() / element.smallest_size().max(1)
    }

    fn error(&self, problem: String) -> FileError {
        BinaryCursor::error(self, problem)
    }
}
