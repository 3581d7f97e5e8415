//! `topology-<hash>.supt`: the part of a body that does not change from frame to frame, stored exactly.

use std::path::Path;

use glam::{DMat3, DVec3};

use super::bytes::{Number, PayloadReader, put_list, put_string};
use super::frame::FrameSurface;
use super::record::RecordKind;
use supple_core::FileError;
use supple_mesh::{CornerAttribute, FaceLabels, LabelKind, NO_LABEL, NO_VALUE, SurfaceMesh};

/// The record of a topology.
pub(super) const TOPOLOGY: RecordKind = RecordKind {
    code: *b"TOPO",
    version: 1,
    name: "topology",
    remedy: "run the scene again (or from an earlier frame)",
};

const LABEL_KINDS: [LabelKind; 4] =
    [LabelKind::Object, LabelKind::Group, LabelKind::Material, LabelKind::Smoothing];

/// The payload; equal surfaces give equal bytes.
pub(super) fn encode(surface: &FrameSurface) -> Vec<u8> {
    let mesh = &surface.mesh;
    let mut out = Vec::with_capacity(64 + 24 * mesh.positions.len() + 12 * mesh.corners.len());
    put_string(&mut out, &surface.name);
    surface.file_from_world.to_cols_array().put(&mut out);
    put_list(&mut out, mesh.positions.iter().map(|p| p.to_array()));
    put_list(&mut out, mesh.face_starts.iter().copied());
    put_list(&mut out, mesh.corners.iter().copied());
    put_attribute(&mut out, mesh.uvs.as_ref());
    put_attribute(&mut out, mesh.normals.as_ref());
    u8::from(mesh.colors.is_some()).put(&mut out);
    if let Some(colors) = &mesh.colors {
        put_list(&mut out, colors.iter().copied());
    }
    (mesh.labels.len() as u32).put(&mut out);
    mesh.labels.iter().for_each(|labels| put_labels(&mut out, labels));
    put_strings(&mut out, &mesh.material_libraries);
    // Only torn surfaces have this list: files of others are unchanged.
    if !mesh.clone_of.is_empty() {
        put_list(&mut out, mesh.clone_of.iter().copied());
    }
    out
}

/// Reads what [`encode`] wrote and checks every index.
pub(super) fn decode(path: &Path, payload: &[u8]) -> Result<FrameSurface, FileError> {
    let mut reader = PayloadReader::new(path, payload);
    let name = reader.string("the body's name")?;
    let file_from_world = DMat3::from_cols_array(&reader.number()?);
    let mut mesh = SurfaceMesh {
        positions: reader.list("the rest positions")?.into_iter().map(DVec3::from_array).collect(),
        face_starts: reader.list("the faces")?,
        corners: reader.list("the corners")?,
        uvs: read_attribute(&mut reader)?,
        normals: read_attribute(&mut reader)?,
        ..SurfaceMesh::default()
    };
    if reader.number::<u8>()? != 0 {
        mesh.colors = Some(reader.list("the colours")?);
    }
    for _ in 0..reader.number::<u32>()? {
        mesh.labels.push(read_labels(&mut reader)?);
    }
    mesh.material_libraries = read_strings(&mut reader)?;
    if !reader.is_at_end() {
        mesh.clone_of = reader.list("the clones")?;
    }
    reader.finish()?;
    match fault(&mesh) {
        None => Ok(FrameSurface { name, mesh, file_from_world }),
        Some(fault) => Err(FileError::whole(path, format!("{fault}; {}", TOPOLOGY.remedy))),
    }
}

/// What makes a mesh unusable: lists of unequal length and indices out of range.
pub(super) fn fault(mesh: &SurfaceMesh) -> Option<String> {
    let (vertices, corners) = (mesh.positions.len(), mesh.corners.len());
    let starts = &mesh.face_starts;
    let starts_fit = match (starts.first(), starts.last()) {
        (Some(&first), Some(&last)) => first == 0 && last as usize == corners && starts.is_sorted(),
        _ => corners == 0,
    };
    if !starts_fit {
        return Some(format!("the face list does not cover the {corners} corners"));
    }
    if let Some(corner) = mesh.corners.iter().position(|&v| v as usize >= vertices) {
        return Some(format!("corner {corner} names vertex {} of {vertices}", mesh.corners[corner]));
    }
    let whole = vertices.checked_sub(mesh.clone_of.len());
    let earlier = |(clone, of): (usize, &u32)| whole.is_some_and(|whole| (*of as usize) < whole + clone);
    if !mesh.clone_of.iter().enumerate().all(earlier) {
        return Some("a clone of a vertex does not come after it".into());
    }
    if mesh.colors.as_ref().is_some_and(|colors| colors.len() != vertices) {
        return Some(format!("the number of colours does not match the {vertices} vertices"));
    }
    let labels = mesh.labels.iter().find_map(|labels| {
        list_fault("face labels", &labels.label_of_face, mesh.face_count(), labels.names.len(), NO_LABEL)
    });
    let uvs = mesh.uvs.as_ref().and_then(|a| attribute_fault("UVs", a, corners));
    let normals = mesh.normals.as_ref().and_then(|a| attribute_fault("normals", a, corners));
    labels.or(uvs).or(normals)
}

fn attribute_fault<const N: usize>(
    what: &str,
    attribute: &CornerAttribute<N>,
    corners: usize,
) -> Option<String> {
    list_fault(what, &attribute.indices, corners, attribute.values.len(), NO_VALUE)
}

fn list_fault(what: &str, indices: &[u32], expected: usize, values: usize, none: u32) -> Option<String> {
    if indices.len() != expected {
        return Some(format!("the {what} have {} indices instead of {expected}", indices.len()));
    }
    let wrong = indices.iter().find(|&&i| i != none && i as usize >= values)?;
    Some(format!("the {what} name value {wrong} of {values}"))
}

fn put_attribute<const N: usize>(out: &mut Vec<u8>, attribute: Option<&CornerAttribute<N>>) {
    u8::from(attribute.is_some()).put(out);
    if let Some(attribute) = attribute {
        put_list(out, attribute.values.iter().copied());
        put_list(out, attribute.indices.iter().copied());
    }
}

fn read_attribute<const N: usize>(
    reader: &mut PayloadReader,
) -> Result<Option<CornerAttribute<N>>, FileError> {
    if reader.number::<u8>()? == 0 {
        return Ok(None);
    }
    let values = reader.list("the corner values")?;
    Ok(Some(CornerAttribute { values, indices: reader.list("the corner indices")? }))
}

fn put_labels(out: &mut Vec<u8>, labels: &FaceLabels) {
    let kind = match labels.kind {
        LabelKind::Object => 0u8,
        LabelKind::Group => 1,
        LabelKind::Material => 2,
        LabelKind::Smoothing => 3,
    };
    kind.put(out);
    put_strings(out, &labels.names);
    put_list(out, labels.label_of_face.iter().copied());
}

fn read_labels(reader: &mut PayloadReader) -> Result<FaceLabels, FileError> {
    let code: u8 = reader.number()?;
    let kind = *LABEL_KINDS
        .get(usize::from(code))
        .ok_or_else(|| reader.error(format!("unknown face label kind {code}")))?;
    Ok(FaceLabels { kind, names: read_strings(reader)?, label_of_face: reader.list("the face labels")? })
}

fn put_strings(out: &mut Vec<u8>, texts: &[String]) {
    (texts.len() as u32).put(out);
    texts.iter().for_each(|text| put_string(out, text));
}

fn read_strings(reader: &mut PayloadReader) -> Result<Vec<String>, FileError> {
    let count: u32 = reader.number()?;
    (0..count).map(|_| reader.string("a name")).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A square and an adjacent triangle, with all attributes a file can have.
    pub(in crate::output) fn decorated(name: &str) -> FrameSurface {
        let positions = [[0., 0., 0.], [1., 0., 0.], [1., 0., 1.], [0., 0., 1.], [2., 0., 0.5]];
        let mesh = SurfaceMesh {
            positions: positions.map(DVec3::from_array).to_vec(),
            face_starts: vec![0, 4, 7],
            corners: vec![0, 3, 2, 1, 1, 2, 4],
            uvs: Some(CornerAttribute {
                values: vec![[0., 0.], [0., 1.], [1., 1.], [1., 0.], [0.25, 0.], [0.25, 1.]],
                indices: vec![0, 1, 2, 3, 4, 5, NO_VALUE],
            }),
            normals: Some(CornerAttribute { values: vec![[0., 1., 0.]], indices: vec![0; 7] }),
            colors: Some((0..5).map(|i| [i as f32 / 4., 0.5, 0.25, 1.]).collect()),
            labels: vec![
                FaceLabels {
                    kind: LabelKind::Group,
                    names: vec!["hem".into(), "collar".into()],
                    label_of_face: vec![1, 0],
                },
                FaceLabels {
                    kind: LabelKind::Material,
                    names: vec!["silk".into()],
                    label_of_face: vec![0, NO_LABEL],
                },
            ],
            material_libraries: vec!["dress.mtl".into()],
            clone_of: vec![1],
        };
        FrameSurface { name: name.into(), mesh, file_from_world: DMat3::from_diagonal(DVec3::splat(100.)) }
    }

    #[test]
    fn a_topology_comes_back_exactly() {
        let surface = decorated("Kleid");
        assert_eq!(decode(Path::new("t"), &encode(&surface)).unwrap(), surface);
        let bare = FrameSurface { mesh: SurfaceMesh::default(), ..surface };
        assert_eq!(decode(Path::new("t"), &encode(&bare)).unwrap(), bare);
    }

    #[test]
    fn a_payload_cut_anywhere_is_an_error_and_never_a_panic() {
        let torn = decorated("dress");
        let payload = encode(&torn);
        // The clones come last, and a mesh that is not torn has none.
        let mut whole = torn.clone();
        whole.mesh.clone_of.clear();
        let whole = encode(&whole).len();
        for length in (0..payload.len()).filter(|&length| length != whole) {
            assert!(decode(Path::new("t"), &payload[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn indices_out_of_range_are_refused() {
        let good = decorated("dress");
        let spoil = |change: fn(&mut SurfaceMesh)| {
            let mut bad = good.clone();
            change(&mut bad.mesh);
            decode(Path::new("t"), &encode(&bad)).unwrap_err().problem
        };
        assert!(spoil(|m| m.corners[2] = 5).contains("corner 2 names vertex 5 of 5"));
        assert!(spoil(|m| m.face_starts[1] = 9).contains("face list"));
        assert!(spoil(|m| m.uvs.as_mut().unwrap().indices[0] = 6).contains("UVs name value 6 of 6"));
        assert!(spoil(|m| m.colors = Some(vec![])).contains("colour"));
        assert!(spoil(|m| m.labels[0].label_of_face[0] = 2).contains("face labels name value 2 of 2"));
    }
}
