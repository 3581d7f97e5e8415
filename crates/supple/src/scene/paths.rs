//! The files that a scene names.

use std::path::PathBuf;

use super::{ColliderShape, Follow, Scene, Selection, Shape, ShapeSource};

/// A file name in a scene, and where the scene says it (dotted, array elements by number).
pub(super) struct NamedFile<'a> {
    pub(super) place: String,
    pub(super) path: &'a mut PathBuf,
}

impl Scene {
    /// Makes every file name absolute, relative ones starting at the scene's folder.
    pub fn resolve_paths(&mut self) {
        let folder = self.folder.clone();
        for file in self.files_mut() {
            let joined = folder.join(&*file.path);
            *file.path = std::path::absolute(&joined).unwrap_or(joined);
        }
    }

    /// Every file name, in the order of the tables.
    pub(super) fn files_mut(&mut self) -> Vec<NamedFile<'_>> {
        let mut files = Vec::new();
        for (i, body) in self.bodies.iter_mut().enumerate() {
            shape_file(&mut body.shape, format!("body.{i}.shape.file"), &mut files);
            if let Some(rest) = &mut body.rest {
                shape_file(rest, format!("body.{i}.rest.file"), &mut files);
            }
            for (r, region) in body.regions.iter_mut().enumerate() {
                selection_files(&mut region.selection, format!("body.{i}.region.{r}.selection"), &mut files);
            }
        }
        for (i, pin) in self.pins.iter_mut().enumerate() {
            selection_files(&mut pin.selection, format!("pin.{i}.selection"), &mut files);
            let (key, path) = match &mut pin.follows {
                Some(Follow::MeshSequence(path)) => ("mesh-sequence", path),
                Some(Follow::GltfSkin(path)) => ("gltf-skin", path),
                _ => continue,
            };
            files.push(NamedFile { place: format!("pin.{i}.follows.{key}"), path });
        }
        for (i, seam) in self.seams.iter_mut().enumerate() {
            for (s, selection) in seam.selections.iter_mut().enumerate() {
                selection_files(selection, format!("seam.{i}.selections.{s}"), &mut files);
            }
        }
        for (i, collider) in self.colliders.iter_mut().enumerate() {
            if let ColliderShape::Mesh(path) = &mut collider.shape {
                files.push(NamedFile { place: format!("collider.{i}.shape.mesh"), path });
            }
        }
        files
    }
}

fn shape_file<'a>(shape: &'a mut Shape, place: String, files: &mut Vec<NamedFile<'a>>) {
    if let ShapeSource::File(path) = &mut shape.source {
        files.push(NamedFile { place, path });
    }
}

fn selection_files<'a>(selection: &'a mut Selection, place: String, files: &mut Vec<NamedFile<'a>>) {
    match selection {
        Selection::InsideMesh(path) => files.push(NamedFile { place: format!("{place}.inside-mesh"), path }),
        Selection::Any(parts) => part_files(parts, &format!("{place}.any"), files),
        Selection::AllOf(parts) => part_files(parts, &format!("{place}.all-of"), files),
        Selection::Not(part) => selection_files(part, format!("{place}.not"), files),
        _ => {}
    }
}

fn part_files<'a>(parts: &'a mut [Selection], place: &str, files: &mut Vec<NamedFile<'a>>) {
    for (i, part) in parts.iter_mut().enumerate() {
        selection_files(part, format!("{place}.{i}"), files);
    }
}
