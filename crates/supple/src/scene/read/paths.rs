//! The files referenced by a scene.

use std::path::PathBuf;

use glam::DMat3;

use crate::scene::{ColliderShape, Follow, Scene, Selection, Shape, ShapeSource};

/// A file name in a scene, and its place in the scene (dotted, array elements by number).
pub(crate) struct NamedFile<'a> {
    pub(crate) place: String,
    pub(crate) path: &'a mut PathBuf,
    /// Description of its user.
    user: String,
    /// The object of the file that is used, if not all of it.
    object: Option<String>,
    /// Maps its points to their size and axes in the scene.
    to_metres: DMat3,
}

/// A mesh file that a scene uses.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshFile {
    /// Description of its user: "body `shirt`".
    pub users: Vec<String>,
    /// The file.
    pub path: PathBuf,
    /// The object of the file that is used, if not all of it.
    pub object: Option<String>,
    /// Maps the file's points to their size and axes in the scene, in metres.
    pub to_metres: DMat3,
}

impl Scene {
    /// Makes every file name absolute, relative to the scene's folder.
    pub fn resolve_paths(&mut self) {
        let folder = self.folder.clone();
        for file in self.files_mut() {
            let joined = folder.join(&*file.path);
            *file.path = std::path::absolute(&joined).unwrap_or(joined);
        }
    }

    /// Every file name in the scene, to be read or replaced.
    pub fn for_each_file(&mut self, mut change: impl FnMut(&mut PathBuf)) {
        self.files_mut().into_iter().for_each(|file| change(file.path));
    }

    /// The mesh files of bodies, rest shapes, colliders and selections, once per size; without those that pins
    /// follow and without the folders of finished runs.
    pub fn mesh_files(&self) -> Vec<MeshFile> {
        let mut scene = self.clone();
        scene.resolve_paths();
        let mut files: Vec<MeshFile> = Vec::new();
        for NamedFile { path, user, object, to_metres, place } in scene.files_mut() {
            if path.is_dir() || place.contains(".follows.") || place.ends_with(".cache") {
                continue;
            }
            match files
                .iter_mut()
                .find(|file| file.path == *path && file.object == object && file.to_metres == to_metres)
            {
                Some(file) if file.users.contains(&user) => {}
                Some(file) => file.users.push(user),
                None => files.push(MeshFile { users: vec![user], path: path.clone(), object, to_metres }),
            }
        }
        files
    }

    /// Every file name, in the order of the tables.
    pub(crate) fn files_mut(&mut self) -> Vec<NamedFile<'_>> {
        let mut files = Vec::new();
        for (i, body) in self.bodies.iter_mut().enumerate() {
            let (user, scale) = (format!("body `{}`", body.name), body.transform.scale);
            shape_file(&mut body.shape, format!("body.{i}.shape.file"), &user, scale, &mut files);
            if let Some(rest) = &mut body.rest {
                let user = format!("the rest shape of {user}");
                shape_file(rest, format!("body.{i}.rest.file"), &user, scale, &mut files);
            }
            for (r, region) in body.regions.iter_mut().enumerate() {
                let place = format!("body.{i}.region.{r}.selection");
                selection_files(&mut region.selection, place, &format!("a region of {user}"), &mut files);
            }
            for (t, tear) in body.tears.iter_mut().enumerate() {
                let place = format!("body.{i}.tear.{t}.selection");
                selection_files(&mut tear.selection, place, &format!("a tear of {user}"), &mut files);
            }
        }
        for (i, pin) in self.pins.iter_mut().enumerate() {
            let user = format!("a pin on body `{}`", pin.body);
            selection_files(&mut pin.selection, format!("pin.{i}.selection"), &user, &mut files);
            let (key, path) = match &mut pin.follows {
                Some(Follow::MeshSequence { files, .. }) => ("mesh-sequence", files),
                Some(Follow::GltfSkin { file, .. }) => ("gltf-skin", file),
                _ => continue,
            };
            let place = format!("pin.{i}.follows.{key}");
            files.push(NamedFile { place, path, user, object: None, to_metres: DMat3::IDENTITY });
        }
        for (i, seam) in self.seams.iter_mut().enumerate() {
            for (s, selection) in seam.selections.iter_mut().enumerate() {
                selection_files(selection, format!("seam.{i}.selections.{s}"), "a seam", &mut files);
            }
        }
        for (i, collider) in self.colliders.iter_mut().enumerate() {
            let scale = collider.transform.scale;
            if let ColliderShape::Mesh(mesh) = &mut collider.shape {
                let to_metres = scale * mesh.to_metres();
                let (place, user) = (format!("collider.{i}.shape"), format!("collider `{}`", collider.name));
                if let Some(path) = &mut mesh.cache {
                    let (place, user) = (format!("{place}.cache"), user.clone());
                    files.push(NamedFile { place, path, user, object: None, to_metres: DMat3::IDENTITY });
                }
                let (place, path, object) = (format!("{place}.mesh"), &mut mesh.file, mesh.object.clone());
                files.push(NamedFile { place, path, user, object, to_metres });
            }
        }
        files
    }
}

fn shape_file<'a>(
    shape: &'a mut Shape,
    place: String,
    user: &str,
    scale: f64,
    files: &mut Vec<NamedFile<'a>>,
) {
    let (to_metres, object) = (scale * shape.to_metres(), shape.object.clone());
    if let ShapeSource::File(path) = &mut shape.source {
        files.push(NamedFile { place, path, user: user.to_owned(), object, to_metres });
    }
}

fn selection_files<'a>(
    selection: &'a mut Selection,
    place: String,
    user: &str,
    files: &mut Vec<NamedFile<'a>>,
) {
    match selection {
        Selection::InsideMesh(mesh) => {
            let to_metres = mesh.world_from_file();
            let (place, path) = (format!("{place}.inside-mesh"), &mut mesh.file);
            files.push(NamedFile { place, path, user: user.to_owned(), object: None, to_metres });
        }
        Selection::Any(parts) => part_files(parts, &format!("{place}.any"), user, files),
        Selection::AllOf(parts) => part_files(parts, &format!("{place}.all-of"), user, files),
        Selection::Not(part) => selection_files(part, format!("{place}.not"), user, files),
        _ => {}
    }
}

fn part_files<'a>(parts: &'a mut [Selection], place: &str, user: &str, files: &mut Vec<NamedFile<'a>>) {
    for (i, part) in parts.iter_mut().enumerate() {
        selection_files(part, format!("{place}.{i}"), user, files);
    }
}
