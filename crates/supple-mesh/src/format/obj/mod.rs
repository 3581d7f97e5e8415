//! Wavefront OBJ (appendix B1 of the Advanced Visualizer manual, with the usual vertex colours after the position).
//!
//! Polygons, texture coordinates, normals, colours, objects, groups, materials and smoothing groups are kept and
//! written back; points, lines, curves and free-form surfaces are skipped with a note.

mod read;
mod write;

pub use read::read_obj;
pub use write::write_obj;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Mesh;
    use super::*;
    use crate::{LabelKind, NO_LABEL, NO_VALUE, SurfaceMesh};

    fn read(text: &[u8]) -> (SurfaceMesh, Vec<String>) {
        let loaded = read_obj(text, Path::new("t.obj")).unwrap();
        match loaded.mesh {
            Mesh::Surface(mesh) => (mesh, loaded.notes),
            Mesh::Tets(_) => unreachable!("OBJ contains surfaces"),
        }
    }

    #[test]
    fn every_form_of_a_corner_and_both_ways_of_counting_are_read() {
        let text = "\u{FEFF}v 0 0 0\r\nv 1 0 0\r\nv 1 1 0\r\nv 0 1 0\r\nvt 0 0\r\nvt 1\r\nvn 0 0 1\r\n\
                    f 1/1/1 2/2 3//1 4\r\nf -4/-2/-1 -3 \\\r\n -2/ # the rest is a comment\r\nf 1 2 3";
        let (mesh, notes) = read(text.as_bytes());
        assert_eq!(mesh.corners, [0, 1, 2, 3, 0, 1, 2, 0, 1, 2]);
        assert_eq!(mesh.face_starts, [0, 4, 7, 10]);
        let none = NO_VALUE;
        let (uvs, normals) = (mesh.uvs.unwrap(), mesh.normals.unwrap());
        assert_eq!(uvs.values, [[0.0, 0.0], [1.0, 0.0]]);
        assert_eq!(uvs.indices, [0, 1, none, none, 0, none, none, none, none, none]);
        assert_eq!(normals.indices, [0, none, 0, none, 0, none, none, none, none, none]);
        assert!(notes.is_empty());
    }

    #[test]
    fn indices_may_point_to_vertices_that_come_later() {
        assert_eq!(read(b"f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0\n").0.corners, [0, 1, 2]);
    }

    #[test]
    fn names_hold_until_the_next_and_a_face_may_be_in_two_groups() {
        let text = "mtllib my materials.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\no left sleeve\ng\nf 1 2 3\ng a b\ns 1\n\
                    usemtl Red Cotton\nf 1 2 3\ng b\ns off\nf 1 2 3\n";
        let (mesh, _) = read(text.as_bytes());
        let labels: Vec<_> =
            mesh.labels.iter().map(|l| (l.kind, l.names.join("|"), l.label_of_face.clone())).collect();
        let none = NO_LABEL;
        let expected = [
            (LabelKind::Object, "left sleeve", vec![0, 0, 0]),
            (LabelKind::Group, "a|b", vec![none, 0, 1]),
            (LabelKind::Group, "b", vec![none, 0, none]),
            (LabelKind::Material, "Red Cotton", vec![none, 0, 0]),
            (LabelKind::Smoothing, "1", vec![none, 0, none]),
        ];
        assert_eq!(labels, expected.map(|(kind, names, faces)| (kind, names.to_owned(), faces)));
        assert_eq!(mesh.material_libraries, ["my materials.mtl"]);
        let mut bytes = Vec::new();
        write_obj(&mesh, &mut bytes).unwrap();
        assert_eq!(read(&bytes).0, mesh);
    }

    #[test]
    fn names_that_are_not_utf8_stay_different() {
        let (mesh, _) = read(b"v 0 0 0\no \xE4\nf 1 1 1\no \xF6\nf 1 1 1\n");
        assert_eq!(mesh.labels[0].names, ["ä", "ö"]);
    }

    #[test]
    fn what_polygons_cannot_use_is_left_out_with_a_note() {
        let text = "v 0 0 0 1.0\nl 1 1\np 1\ncurv 0 1 \\\n 1 1\nsurf 0\nusemap x\n: 5563\nl 1 1\n";
        let (mesh, notes) = read(text.as_bytes());
        assert_eq!((mesh.positions.len(), mesh.colors), (1, None));
        let all = notes.join("\n");
        for part in
            ["2 line elements", "first in line 2", "1 point elements", "2 statements of free-form", "display"]
        {
            assert!(all.contains(part), "{part} is not in {all}");
        }
        assert!(
            all.contains("not OBJ statements were skipped, the first in line 8") && all.contains("no faces")
        );
    }

    #[test]
    fn colours_are_read_as_fractions_or_bytes_and_missing_ones_are_white() {
        assert_eq!(read(b"v 0 0 0\nv 0 0 0 0.5 0 1\n").0.colors.unwrap(), [[1.0; 4], [0.5, 0.0, 1.0, 1.0]]);
        assert_eq!(read(b"v 0 0 0 255 0 51\n").0.colors.unwrap(), [[1.0, 0.0, 0.2, 1.0]]);
        assert_eq!(read(b"v 0 0 0 1 0 0 0.25\n").0.colors.unwrap(), [[1.0, 0.0, 0.0, 0.25]]);
    }
}
