//! One object of a mesh file: the faces of a name, with the vertices that they use.

use crate::{CornerAttribute, FaceLabels, LabelKind, NO_LABEL, SurfaceMesh};

/// An object of a mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshObject {
    /// Its faces in the order of the mesh.
    pub surface: SurfaceMesh,
    /// The vertex of the whole mesh of each of its vertices.
    pub vertices: Vec<u32>,
}

impl SurfaceMesh {
    /// The names of its objects, and of its groups that are not named like an object.
    pub fn object_names(&self) -> Vec<&str> {
        let of = |kind: LabelKind| self.labels.iter().filter(move |set| set.kind == kind);
        let mut names: Vec<&str> = Vec::new();
        for set in of(LabelKind::Object).chain(of(LabelKind::Group)) {
            let new: Vec<&str> =
                set.names.iter().map(String::as_str).filter(|name| !names.contains(name)).collect();
            names.extend(new);
        }
        names
    }

    /// The faces of the objects, or else of the groups, that have one of these names; `None` if none has.
    pub fn object(&self, names: &[&str]) -> Option<MeshObject> {
        let is_meant = |set: &&FaceLabels| set.names.iter().any(|name| names.contains(&name.as_str()));
        let of = |kind: LabelKind| self.labels.iter().filter(move |set| set.kind == kind);
        let labels = of(LabelKind::Object).chain(of(LabelKind::Group)).find(is_meant)?;
        let meant: Vec<bool> = labels.names.iter().map(|name| names.contains(&name.as_str())).collect();
        let has_it = |face: usize| meant.get(labels.label_of_face[face] as usize).is_some_and(|is| *is);
        let faces: Vec<usize> = (0..self.face_count()).filter(|face| has_it(*face)).collect();
        Some(self.of_faces(&faces))
    }

    fn of_faces(&self, faces: &[usize]) -> MeshObject {
        let mut vertices: Vec<u32> = faces.iter().flat_map(|face| self.face(*face)).copied().collect();
        vertices.sort_unstable();
        vertices.dedup();
        let mut number = vec![0_u32; self.positions.len()];
        vertices.iter().zip(0..).for_each(|(vertex, place)| number[*vertex as usize] = place);
        let corners: Vec<usize> = faces.iter().flat_map(|face| self.corners_of(*face)).collect();
        let mut surface = Self {
            positions: vertices.iter().map(|v| self.positions[*v as usize]).collect(),
            face_starts: vec![0],
            corners: corners.iter().map(|corner| number[self.corners[*corner] as usize]).collect(),
            uvs: self.uvs.as_ref().map(|values| at_corners(values, &corners)),
            normals: self.normals.as_ref().map(|values| at_corners(values, &corners)),
            colors: self.colors.as_ref().map(|colors| vertices.iter().map(|v| colors[*v as usize]).collect()),
            labels: self.labels.iter().filter_map(|set| of_faces(set, faces)).collect(),
            material_libraries: self.material_libraries.clone(),
            clone_of: Vec::new(),
        };
        let mut end = 0;
        surface.face_starts.extend(faces.iter().map(|face| {
            end += self.face(*face).len() as u32;
            end
        }));
        MeshObject { surface, vertices }
    }

    fn corners_of(&self, face: usize) -> std::ops::Range<usize> {
        self.face_starts[face] as usize..self.face_starts[face + 1] as usize
    }
}

fn at_corners<const N: usize>(values: &CornerAttribute<N>, corners: &[usize]) -> CornerAttribute<N> {
    let indices = corners.iter().map(|corner| values.indices[*corner]).collect();
    CornerAttribute { values: values.values.clone(), indices }
}

/// The labels of some faces, without names that none of them has.
fn of_faces(set: &FaceLabels, faces: &[usize]) -> Option<FaceLabels> {
    let mut names = Vec::new();
    let mut number = vec![NO_LABEL; set.names.len()];
    let label_of_face = faces.iter().map(|face| match set.label_of_face[*face] {
        NO_LABEL => NO_LABEL,
        label => {
            let number = &mut number[label as usize];
            if *number == NO_LABEL {
                *number = names.len() as u32;
                names.push(set.names[label as usize].clone());
            }
            *number
        }
    });
    let label_of_face = label_of_face.collect();
    (!names.is_empty()).then_some(FaceLabels { kind: set.kind, names, label_of_face })
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    /// Two squares that share no vertex, one of them in the group `hem`, and a triangle.
    fn squares_and_triangle() -> SurfaceMesh {
        let mut mesh = SurfaceMesh {
            positions: (0..11).map(|i| DVec3::new(f64::from(i), 0.0, 0.0)).collect(),
            ..SurfaceMesh::default()
        };
        for face in [&[0, 1, 2, 3][..], &[4, 5, 6, 7], &[8, 9, 10]] {
            mesh.push_face(face);
        }
        let set = |kind, names: &[&str], label_of_face| FaceLabels {
            kind,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            label_of_face,
        };
        mesh.labels.push(set(LabelKind::Object, &["coat", "hat"], vec![0, 0, 1]));
        mesh.labels.push(set(LabelKind::Group, &["hem"], vec![NO_LABEL, 0, NO_LABEL]));
        mesh.uvs = Some(CornerAttribute {
            values: (0..11).map(|i| [f64::from(i), 0.0]).collect(),
            indices: (0..11).rev().collect(),
        });
        mesh
    }

    #[test]
    fn an_object_has_its_faces_and_vertices_and_what_belongs_to_them() {
        let mesh = squares_and_triangle();
        assert_eq!(mesh.object_names(), ["coat", "hat", "hem"]);
        let hat = mesh.object(&["hat"]).unwrap();
        assert_eq!((hat.vertices, hat.surface.face(0)), (vec![8, 9, 10], &[0, 1, 2][..]));
        assert_eq!(hat.surface.positions[2], mesh.positions[10]);
        assert_eq!(hat.surface.uvs.unwrap().indices, [2, 1, 0]);
        assert_eq!(hat.surface.labels.len(), 1);
        let hem = mesh.object(&["hem"]).unwrap().surface;
        assert_eq!((hem.face_count(), hem.positions[0]), (1, mesh.positions[4]));
        assert_eq!(mesh.object(&["coat", "hat"]).unwrap().surface.positions, mesh.positions);
        assert_eq!(mesh.object(&["scarf"]), None);
    }
}
