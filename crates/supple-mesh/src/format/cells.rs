//! Code shared by the cell-based formats (Gmsh, VTK, MEDIT, TetGen): converts cells of many shapes to tetrahedra, or
//! to polygons if there are none, with a note about everything that was changed or skipped.

use std::collections::BTreeMap;
use std::path::Path;

use glam::DVec3;

use super::{LoadedMesh, Mesh};
use crate::{FaceLabels, LabelKind, NO_LABEL, SurfaceMesh, TetMesh};
use supple_core::FileError;

/// The shape of a cell. Of higher-order cells only the corners are used; every format lists them first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CellShape {
    Point,
    Line,
    Triangle,
    Quad,
    Polygon,
    Tet,
    Hex,
    Prism,
    Pyramid,
    Other,
}

impl CellShape {
    /// The corners of a straight cell of this shape; `None` if it varies.
    pub(super) fn corner_count(self) -> Option<usize> {
        match self {
            Self::Point => Some(1),
            Self::Line => Some(2),
            Self::Triangle => Some(3),
            Self::Quad | Self::Tet => Some(4),
            Self::Pyramid => Some(5),
            Self::Prism => Some(6),
            Self::Hex => Some(8),
            Self::Polygon | Self::Other => None,
        }
    }

    fn is_volume(self) -> bool {
        matches!(self, Self::Tet | Self::Hex | Self::Prism | Self::Pyramid)
    }

    /// "1 hexahedron", "8 hexahedra".
    pub(super) fn counted(self, count: u64) -> String {
        let (one, many) = match self {
            Self::Point => ("point", "points"),
            Self::Line => ("line", "lines"),
            Self::Triangle => ("triangle", "triangles"),
            Self::Quad => ("quad", "quads"),
            Self::Polygon => ("polygon", "polygons"),
            Self::Tet => ("tetrahedron", "tetrahedra"),
            Self::Hex => ("hexahedron", "hexahedra"),
            Self::Prism => ("prism", "prisms"),
            Self::Pyramid => ("pyramid", "pyramids"),
            Self::Other => ("cell of another kind", "cells of other kinds"),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }
}

/// Vertices and cells as a file lists them.
#[derive(Debug, Default)]
pub(super) struct Cells {
    pub positions: Vec<DVec3>,
    /// Sentences for the user, before those about the cells.
    pub notes: Vec<String>,
    tets: Vec<[u32; 4]>,
    tet_regions: Vec<i32>,
    face_starts: Vec<usize>,
    corners: Vec<u32>,
    face_regions: Vec<i32>,
    left_out: BTreeMap<CellShape, u64>,
    curved: BTreeMap<CellShape, u64>,
}

impl Cells {
    /// Adds a cell by all its nodes (corners first), which the caller has validated, with its region
    /// (0: none).
    pub(super) fn push(&mut self, shape: CellShape, nodes: &[u32], region: i32) {
        let corners = shape.corner_count().unwrap_or(nodes.len());
        if nodes.len() > corners {
            *self.curved.entry(shape).or_default() += 1;
        }
        match (shape, nodes) {
            (CellShape::Tet, &[a, b, c, d, ..]) => {
                self.tets.push([a, b, c, d]);
                self.tet_regions.push(region);
            }
            (CellShape::Triangle | CellShape::Quad | CellShape::Polygon, _)
                if nodes.len() >= corners.max(3) =>
            {
                self.face_starts.push(self.corners.len());
                self.corners.extend_from_slice(&nodes[..corners]);
                self.face_regions.push(region);
            }
            _ => *self.left_out.entry(shape).or_default() += 1,
        }
    }

    /// The mesh: tetrahedra if there are any, else polygons. `face_group` gives the name of a polygon's region.
    pub(super) fn finish(
        mut self,
        path: &Path,
        face_group: impl Fn(i32) -> String,
    ) -> Result<LoadedMesh, FileError> {
        if self.corners.len().max(self.positions.len()) >= u32::MAX as usize {
            return Err(FileError::whole(path, "more than 4294967294 vertices or corners; split the mesh"));
        }
        let mut notes = std::mem::take(&mut self.notes);
        let mesh = if !self.tets.is_empty() {
            self.count_faces_as_left_out();
            self.note_curved(&mut notes);
            Mesh::Tets(self.tet_mesh(&mut notes))
        } else if self.has_surface() {
            self.note_curved(&mut notes);
            Mesh::Surface(self.surface_mesh(face_group))
        } else {
            return Err(FileError::whole(path, self.refusal()));
        };
        if !self.left_out.is_empty() {
            notes.push(format!("left out: {}", list(&self.left_out)));
        }
        Ok(LoadedMesh { mesh, notes })
    }

    /// Polygons next to hexahedra are most likely the boundary of a solid, which must not silently become a shell.
    fn has_surface(&self) -> bool {
        !self.face_starts.is_empty() && !self.left_out.keys().any(|shape| shape.is_volume())
    }

    fn refusal(&self) -> String {
        if self.left_out.is_empty() && self.face_starts.is_empty() {
            return "contains no cells; save tetrahedra, or triangles for a surface".into();
        }
        let found = list(&self.left_out);
        if self.left_out.keys().any(|shape| shape.is_volume()) {
            return format!(
                "contains {found} but no tetrahedra; split the cells into tetrahedra (in a meshing program), or \
                 save the boundary as a triangle surface and fill it with `supple mesh`"
            );
        }
        format!(
            "contains {found}, but neither tetrahedra nor polygons; save tetrahedra, or triangles for a surface"
        )
    }

    fn count_faces_as_left_out(&mut self) {
        let ends = self.face_starts.iter().skip(1).copied().chain([self.corners.len()]);
        for (&start, end) in self.face_starts.iter().zip(ends) {
            let shape = match end - start {
                3 => CellShape::Triangle,
                4 => CellShape::Quad,
                _ => CellShape::Polygon,
            };
            *self.left_out.entry(shape).or_default() += 1;
        }
        self.curved.retain(|&shape, _| shape == CellShape::Tet);
    }

    fn note_curved(&self, notes: &mut Vec<String>) {
        let used = self.curved.iter().filter(|(shape, _)| !self.left_out.contains_key(shape));
        for (&shape, &count) in used {
            notes.push(format!(
                "{} of higher order: only the corners are used, the other nodes remain as unused vertices",
                shape.counted(count)
            ));
        }
    }

    fn tet_mesh(&mut self, notes: &mut Vec<String>) -> TetMesh {
        let regions = std::mem::take(&mut self.tet_regions);
        let mut mesh = TetMesh {
            positions: std::mem::take(&mut self.positions),
            tets: std::mem::take(&mut self.tets),
            regions: regions.iter().any(|&region| region != 0).then_some(regions),
        };
        if turn_if_all_inverted(&mut mesh) {
            notes.push(format!(
                "all {} had negative volume; two vertices of each were swapped",
                CellShape::Tet.counted(mesh.tets.len() as u64)
            ));
        }
        mesh
    }

    fn surface_mesh(&mut self, face_group: impl Fn(i32) -> String) -> SurfaceMesh {
        let ends = [self.corners.len()];
        let labels = group_labels(&self.face_regions, face_group);
        SurfaceMesh {
            positions: std::mem::take(&mut self.positions),
            face_starts: self.face_starts.iter().chain(&ends).map(|&start| start as u32).collect(),
            corners: std::mem::take(&mut self.corners),
            labels: labels.into_iter().collect(),
            ..SurfaceMesh::default()
        }
    }
}

fn list(counts: &BTreeMap<CellShape, u64>) -> String {
    let parts: Vec<String> = counts.iter().map(|(shape, &count)| shape.counted(count)).collect();
    parts.join(", ")
}

/// Labels from region numbers; `None` if no face has one. Region 0 is "no group".
fn group_labels(regions: &[i32], name: impl Fn(i32) -> String) -> Option<FaceLabels> {
    let mut label_of_region = BTreeMap::from([(0, NO_LABEL)]);
    let mut names = Vec::new();
    let mut label_of = |&region: &i32| {
        *label_of_region.entry(region).or_insert_with(|| {
            names.push(name(region));
            names.len() as u32 - 1
        })
    };
    let label_of_face = regions.iter().map(&mut label_of).collect();
    (!names.is_empty()).then_some(FaceLabels { kind: LabelKind::Group, names, label_of_face })
}

/// Some programs use the opposite vertex order for tetrahedra: assumed if no volume is positive and some are negative.
fn turn_if_all_inverted(mesh: &mut TetMesh) -> bool {
    let mut some_negative = false;
    for t in 0..mesh.tets.len() {
        let volume = mesh.volume(t);
        if volume > 0.0 || volume.is_nan() {
            return false;
        }
        some_negative |= volume < 0.0;
    }
    if some_negative {
        mesh.tets.iter_mut().for_each(|tet| tet.swap(2, 3));
    }
    some_negative
}

/// The region number of an attribute that may be fractional in the format.
pub(super) fn region_from_float(value: f64) -> Option<i32> {
    let whole = value.round();
    (whole == value && (i32::MIN as f64..=i32::MAX as f64).contains(&whole)).then_some(whole as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corner_cells() -> Cells {
        let positions = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, DVec3::ONE];
        Cells { positions, ..Cells::default() }
    }

    fn finish(cells: Cells) -> Result<LoadedMesh, FileError> {
        cells.finish(Path::new("a.msh"), |region| format!("group {region}"))
    }

    #[test]
    fn a_mesh_of_inverted_elements_is_turned_and_says_so() {
        let mut cells = corner_cells();
        cells.push(CellShape::Tet, &[0, 2, 1, 3], 0);
        let loaded = finish(cells).unwrap();
        let Mesh::Tets(mesh) = &loaded.mesh else { panic!("tetrahedra expected") };
        assert_eq!(mesh.volume(0), 1.0 / 6.0);
        assert!(loaded.notes[0].contains("negative volume"), "{:?}", loaded.notes);
    }

    #[test]
    fn mixed_orientation_is_kept() {
        let mut cells = corner_cells();
        cells.push(CellShape::Tet, &[0, 2, 1, 3], 0);
        cells.push(CellShape::Tet, &[1, 2, 3, 4], 0);
        let loaded = finish(cells).unwrap();
        let Mesh::Tets(mesh) = &loaded.mesh else { panic!("tetrahedra expected") };
        assert_eq!(mesh.tets, [[0, 2, 1, 3], [1, 2, 3, 4]]);
        assert!(loaded.notes.is_empty());
    }

    #[test]
    fn hexahedra_alone_are_refused_even_with_their_boundary_quads() {
        let mut cells = corner_cells();
        cells.push(CellShape::Hex, &[0, 1, 2, 3, 0, 1, 2, 3], 0);
        cells.push(CellShape::Quad, &[0, 1, 2, 3], 0);
        let error = finish(cells).unwrap_err();
        assert!(error.problem.contains("1 hexahedron but no tetrahedra"), "{error}");
    }

    #[test]
    fn regions_of_faces_become_groups_in_order_of_first_use() {
        let mut cells = corner_cells();
        for (face, region) in [([0, 1, 2], 9), ([0, 1, 3], 0), ([1, 2, 3], 4), ([0, 2, 3], 9)] {
            cells.push(CellShape::Triangle, &face, region);
        }
        let Mesh::Surface(mesh) = finish(cells).unwrap().mesh else { panic!("surface expected") };
        assert_eq!(mesh.labels[0].names, ["group 9", "group 4"]);
        assert_eq!(mesh.labels[0].label_of_face, [0, NO_LABEL, 1, 0]);
        assert_eq!(mesh.face_starts, [0, 3, 6, 9, 12]);
    }
}
