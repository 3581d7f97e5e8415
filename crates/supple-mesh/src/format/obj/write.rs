//! Writing OBJ: numbers in the shortest form that reads back bit-identical; labels where they change.

use std::io::{self, BufWriter, Write};

use crate::{CornerAttribute, FaceLabels, LabelKind, NO_LABEL, NO_VALUE, SurfaceMesh};
use supple_core::text::number::Short;

/// Writes a mesh as Wavefront OBJ, with all data of [`SurfaceMesh`]. White space inside group names becomes `_`,
/// since OBJ separates groups by it.
pub fn write_obj(mesh: &SurfaceMesh, out: &mut impl Write) -> io::Result<()> {
    let out = &mut BufWriter::new(out);
    for library in &mesh.material_libraries {
        writeln!(out, "mtllib {}", one_line(library))?;
    }
    write_vertices(mesh, out)?;
    for [u, v] in values(&mesh.uvs) {
        writeln!(out, "vt {} {}", Short(*u), Short(*v))?;
    }
    for [x, y, z] in values(&mesh.normals) {
        writeln!(out, "vn {} {} {}", Short(*x), Short(*y), Short(*z))?;
    }
    let mut labels = LabelWriter::new(&mesh.labels);
    for face in 0..mesh.face_count() {
        labels.write_changes(face, out)?;
        write_face(mesh, face, out)?;
    }
    out.flush()
}

fn write_vertices(mesh: &SurfaceMesh, out: &mut impl Write) -> io::Result<()> {
    let colors = mesh.colors.as_deref().unwrap_or_default();
    let opaque = colors.iter().all(|color| color[3] == 1.0);
    for (v, p) in mesh.positions.iter().enumerate() {
        write!(out, "v {} {} {}", Short(p.x), Short(p.y), Short(p.z))?;
        if let Some([r, g, b, a]) = colors.get(v) {
            write!(out, " {r} {g} {b}")?;
            if !opaque {
                write!(out, " {a}")?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_face(mesh: &SurfaceMesh, face: usize, out: &mut impl Write) -> io::Result<()> {
    write!(out, "f")?;
    for corner in mesh.face_starts[face] as usize..mesh.face_starts[face + 1] as usize {
        write!(out, " {}", u64::from(mesh.corners[corner]) + 1)?;
        match (value_at(&mesh.uvs, corner), value_at(&mesh.normals, corner)) {
            (None, None) => {}
            (Some(uv), None) => write!(out, "/{uv}")?,
            (None, Some(normal)) => write!(out, "//{normal}")?,
            (Some(uv), Some(normal)) => write!(out, "/{uv}/{normal}")?,
        }
    }
    writeln!(out)
}

/// The number of a corner's value counted from 1.
fn value_at<const N: usize>(attribute: &Option<CornerAttribute<N>>, corner: usize) -> Option<u64> {
    let index = attribute.as_ref()?.indices[corner];
    (index != NO_VALUE).then_some(u64::from(index) + 1)
}

fn values<const N: usize>(attribute: &Option<CornerAttribute<N>>) -> &[[f64; N]] {
    attribute.as_ref().map(|a| a.values.as_slice()).unwrap_or_default()
}

/// Writes a label statement before the faces where a label changes.
struct LabelWriter<'a> {
    /// All labels of one kind go into one statement: a face may be in several groups.
    kinds: Vec<(&'static str, Vec<&'a FaceLabels>)>,
}

impl<'a> LabelWriter<'a> {
    fn new(labels: &'a [FaceLabels]) -> Self {
        let kinds = [
            ("o", LabelKind::Object),
            ("g", LabelKind::Group),
            ("usemtl", LabelKind::Material),
            ("s", LabelKind::Smoothing),
        ];
        let of_kind = |kind| labels.iter().filter(|l| l.kind == kind).collect();
        Self { kinds: kinds.map(|(keyword, kind)| (keyword, of_kind(kind))).into() }
    }

    fn write_changes(&mut self, face: usize, out: &mut impl Write) -> io::Result<()> {
        for (keyword, sets) in &self.kinds {
            let before = |set: &FaceLabels| face.checked_sub(1).map_or(NO_LABEL, |f| set.label_of_face[f]);
            if sets.iter().all(|set| set.label_of_face[face] == before(set)) {
                continue;
            }
            write!(out, "{keyword}")?;
            let names = sets.iter().filter_map(|set| set.names.get(set.label_of_face[face] as usize));
            let mut named = false;
            for name in names {
                named = true;
                match *keyword {
                    "g" => write!(out, " {}", one_word(name))?,
                    _ => write!(out, " {}", one_line(name))?,
                }
            }
            writeln!(out, "{}", if *keyword == "s" && !named { " off" } else { "" })?;
        }
        Ok(())
    }
}

fn one_line(name: &str) -> String {
    name.replace(['\n', '\r'], "_")
}

fn one_word(name: &str) -> String {
    name.replace(|c: char| c.is_ascii_whitespace(), "_")
}
