//! Code shared by the surface readers: attributes and labels that may start anywhere in a file, faces that fit the
//! mesh's 32-bit indices, and the final check of a mesh.

use std::collections::HashMap;
use std::path::Path;

use super::{LoadedMesh, Mesh};
use crate::{CornerAttribute, FaceLabels, LabelKind, NO_LABEL, NO_VALUE, SurfaceMesh};
use supple_core::FileError;

/// Values at face corners, while a file is read.
#[derive(Debug)]
pub(super) struct CornerTrack<const N: usize> {
    pub values: Vec<[f64; N]>,
    indices: Vec<u32>,
}

impl<const N: usize> CornerTrack<N> {
    pub(super) fn new() -> Self {
        Self { values: Vec::new(), indices: Vec::new() }
    }

    /// Sets the value of corner `corner`; other corners have none.
    #[inline]
    pub(super) fn set(&mut self, corner: usize, value: u32) {
        self.indices.resize(corner, NO_VALUE);
        self.indices.push(value);
    }

    /// The attribute of a mesh with this many corners; `None` if it has no values.
    pub(super) fn finish(mut self, corner_count: usize) -> Option<CornerAttribute<N>> {
        self.indices.resize(corner_count, NO_VALUE);
        (!self.values.is_empty()).then_some(CornerAttribute { values: self.values, indices: self.indices })
    }
}

/// Face labels of one kind, while a file is read: a name applies to all following faces, up to the next name.
#[derive(Debug)]
pub(super) struct LabelTrack {
    labels: FaceLabels,
    known: HashMap<String, u32>,
    pending: Option<String>,
    current: u32,
}

impl LabelTrack {
    pub(super) fn new(kind: LabelKind) -> Self {
        let labels = FaceLabels { kind, names: Vec::new(), label_of_face: Vec::new() };
        Self { labels, known: HashMap::new(), pending: None, current: NO_LABEL }
    }

    /// Sets the name of the following faces; empty for none.
    pub(super) fn set(&mut self, name: String) {
        self.current = NO_LABEL;
        self.pending = (!name.is_empty()).then_some(name);
    }

    /// Labels face `face`.
    #[inline]
    pub(super) fn push_face(&mut self, face: usize) {
        if let Some(name) = self.pending.take() {
            self.current = self.number_of(name);
        }
        if self.current != NO_LABEL {
            self.labels.label_of_face.resize(face, NO_LABEL);
            self.labels.label_of_face.push(self.current);
        }
    }

    /// The labels of a mesh with this many faces; `None` if no face has one.
    pub(super) fn finish(mut self, face_count: usize) -> Option<FaceLabels> {
        self.labels.label_of_face.resize(face_count, NO_LABEL);
        (!self.labels.names.is_empty()).then_some(self.labels)
    }

    fn number_of(&mut self, name: String) -> u32 {
        let next = self.labels.names.len() as u32;
        *self.known.entry(name).or_insert_with_key(|name| {
            self.labels.names.push(name.clone());
            next
        })
    }
}

/// Whether a mesh can have `more` corners or vertices within its 32-bit indices.
#[inline]
pub(super) fn fits(present: usize, more: usize) -> bool {
    present.saturating_add(more) < NO_VALUE as usize
}

/// The final check of a mesh: an error if it has no vertices, a note if it has no faces.
pub(super) fn finish(
    mut mesh: SurfaceMesh,
    mut notes: Vec<String>,
    path: &Path,
) -> Result<LoadedMesh, FileError> {
    if mesh.positions.is_empty() {
        return Err(FileError::whole(path, "the file contains no vertices; export the mesh again"));
    }
    if mesh.face_starts.is_empty() {
        mesh.face_starts.push(0);
    }
    if mesh.face_count() == 0 {
        let points = mesh.positions.len();
        notes.push(format!(
            "the file contains {points} points and no faces: it can be viewed, but not simulated"
        ));
    }
    Ok(LoadedMesh { mesh: Mesh::Surface(mesh), notes })
}

/// A normal or texture coordinate of a binary file; one that is not finite becomes zero and is counted.
#[inline]
pub(super) fn finite_or_zero<const N: usize>(value: [f64; N], not_finite: &mut usize) -> [f64; N] {
    if value.iter().all(|c| c.is_finite()) {
        return value;
    }
    *not_finite += 1;
    [0.0; N]
}

/// The note about the values counted by [`finite_or_zero`].
pub(super) fn not_finite_note(count: usize) -> Option<String> {
    (count > 0)
        .then(|| format!("{count} normals or texture coordinates are not finite; they were set to zero"))
}

/// Colours as stored in the mesh: components from 0 to 1, even if the file uses 0 to 255.
pub(super) fn unit_colors(mut colors: Vec<[f32; 4]>, has_alpha: bool) -> Vec<[f32; 4]> {
    let components = if has_alpha { 4 } else { 3 };
    let bytes = colors.iter().any(|color| color[..components].iter().any(|&c| c > 1.0));
    let scale = if bytes { 255.0 } else { 1.0 };
    for color in &mut colors {
        for c in &mut color[..components] {
            *c = (*c / scale).clamp(0.0, 1.0);
        }
    }
    colors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cover_all_faces_though_they_begin_late_and_pause() {
        let mut track = LabelTrack::new(LabelKind::Group);
        let wanted = ["", "a", "b", "", "a"];
        for (face, name) in wanted.iter().enumerate() {
            track.set("unused".to_owned());
            track.set((*name).to_owned());
            track.push_face(face);
        }
        let labels = track.finish(6).unwrap();
        assert_eq!(labels.names, ["a", "b"]);
        assert_eq!(labels.label_of_face, [NO_LABEL, 0, 1, NO_LABEL, 0, NO_LABEL]);
    }

    #[test]
    fn colours_up_to_255_are_brought_to_one() {
        assert_eq!(unit_colors(vec![[255.0, 0.0, 51.0, 1.0]], false), [[1.0, 0.0, 0.2, 1.0]]);
        assert_eq!(unit_colors(vec![[0.5, 0.0, 1.0, 1.0]], true), [[0.5, 0.0, 1.0, 1.0]]);
    }
}
