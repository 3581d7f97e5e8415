//! glTF accessors: typed values in a buffer, with a stride, possibly normalised, possibly with a sparse list of
//! exceptions. All offsets are checked before they are used.

use super::buffers::Buffers;
use super::document::{Accessor, Component, Shape};
use supple_core::FileError;

impl Buffers<'_> {
    /// The values of an accessor with `N` components each; `what` names it in errors.
    pub(super) fn read<const N: usize>(
        &self,
        accessor: &Accessor,
        what: &str,
    ) -> Result<Vec<[f64; N]>, FileError> {
        let fail = |problem: String| self.error(format!("accessor {} ({what}): {problem}", accessor.index));
        // Columns of matrices are padded to four bytes, which those of floats have anyway.
        let flat = match accessor.shape {
            Shape::Scalar | Shape::Vec2 | Shape::Vec3 | Shape::Vec4 => true,
            Shape::Mat4 => accessor.component == Component::F32,
            Shape::Mat2 | Shape::Mat3 => false,
        };
        if !flat || accessor.shape.components() != N {
            return Err(fail(format!("expected {N} components, but its type is {:?}", accessor.shape)));
        }
        let (count, size) = (accessor.count, N * accessor.component.size());
        let decode = |bytes: &[u8]| components::<N>(accessor.component, accessor.normalized, bytes);
        let mut values = match accessor.view {
            Some(view) => {
                self.elements((view, accessor.offset), count, size).map_err(fail)?.map(decode).collect()
            }
            None if count <= self.file_size => vec![[0.0; N]; count],
            None => {
                return Err(fail(format!(
                    "it declares {count} values without a buffer view, more than the file has bytes"
                )));
            }
        };
        if let Some(sparse) = &accessor.sparse {
            let width = sparse.index_component;
            let places = self.elements(sparse.indices, sparse.count, width.size()).map_err(fail)?;
            let replacements = self.elements(sparse.values, sparse.count, size).map_err(fail)?;
            for (place, replacement) in places.zip(replacements) {
                let [place] = components::<1>(width, false, place);
                let Some(slot) = values.get_mut(place as usize) else {
                    return Err(fail(format!("sparse index {place} is out of range: it has {count} values")));
                };
                *slot = decode(replacement);
            }
        }
        Ok(values)
    }

    /// The values of an index accessor.
    pub(super) fn read_indices(&self, accessor: &Accessor) -> Result<Vec<u32>, FileError> {
        if !accessor.component.is_index() {
            let problem = format!("accessor {} (indices) does not contain unsigned integers", accessor.index);
            return Err(self.error(problem));
        }
        Ok(self.read::<1>(accessor, "indices")?.into_iter().map(|[index]| index as u32).collect())
    }

    /// `count` elements of `size` bytes each in a buffer view, from an offset on.
    fn elements(
        &self,
        (index, offset): (usize, usize),
        count: usize,
        size: usize,
    ) -> Result<impl Iterator<Item = &[u8]>, String> {
        let view = &self.document.views[index];
        let buffer = self.bytes(view.buffer);
        let view_end = view.offset.checked_add(view.length);
        let bytes = view_end.and_then(|end| buffer.get(view.offset..end)).ok_or_else(|| {
            let view = format!("buffer view {index} ({} bytes from {})", view.length, view.offset);
            format!("{view} reaches beyond its buffer of {} bytes", buffer.len())
        })?;
        let stride = view.stride.unwrap_or(size);
        let end = match count.checked_sub(1) {
            Some(last) => {
                last.checked_mul(stride).and_then(|b| b.checked_add(size)).and_then(|b| b.checked_add(offset))
            }
            None => Some(0),
        };
        if stride < size || end.is_none_or(|end| end > bytes.len()) {
            return Err(format!(
                "{count} values of {size} bytes, {stride} apart, from byte {offset} do not fit into buffer view \
                 {index} of {} bytes",
                bytes.len()
            ));
        }
        Ok((0..count).map(move |i| &bytes[offset + i * stride..][..size]))
    }
}

/// The components of one element; normalised ones from 0 or -1 to 1.
fn components<const N: usize>(kind: Component, normalized: bool, bytes: &[u8]) -> [f64; N] {
    let at = |i: usize| {
        let byte = |k: usize| bytes[i * kind.size() + k];
        match kind {
            Component::I8 => (f64::from(byte(0) as i8), f64::from(i8::MAX)),
            Component::U8 => (f64::from(byte(0)), f64::from(u8::MAX)),
            Component::I16 => (f64::from(i16::from_le_bytes([byte(0), byte(1)])), f64::from(i16::MAX)),
            Component::U16 => (f64::from(u16::from_le_bytes([byte(0), byte(1)])), f64::from(u16::MAX)),
            Component::U32 => (f64::from(u32::from_le_bytes([0, 1, 2, 3].map(byte))), 1.0),
            Component::F32 => (f64::from(f32::from_le_bytes([0, 1, 2, 3].map(byte))), 1.0),
        }
    };
    std::array::from_fn(|i| {
        let (value, largest) = at(i);
        if normalized && largest > 1.0 { (value / largest).max(-1.0) } else { value }
    })
}
