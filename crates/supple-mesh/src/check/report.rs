//! The report of a mesh check.

use glam::DVec3;
use serde::Serialize;

use super::families::FamilyVerdict;

/// Maximum number of indices listed with a finding; the count is always complete unless the finding states otherwise.
pub const LISTED: usize = 10;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Information.
    Note,
    /// Can be simulated, but probably not as intended.
    Warning,
    /// Must be repaired before simulation.
    Error,
}

/// The kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingKind {
    /// The mesh has no faces or elements.
    Empty,
    /// Faces or elements that refer to missing vertices, or have too few corners.
    Malformed,
    /// Coordinates that are infinite or NaN.
    NonFinite,
    /// A size that suggests a unit other than the metre.
    Size,
    /// Edges of three or more faces.
    NonManifoldEdges,
    /// Vertices whose faces are not one fan.
    NonManifoldVertices,
    /// Edges of one face only.
    BoundaryEdges,
    /// Edges that both adjacent faces traverse in the same direction.
    Misoriented,
    /// A closed surface that faces inwards.
    InsideOut,
    /// Faces or elements with the same vertices as an earlier one.
    Duplicates,
    /// Faces that use a vertex twice or have no area; elements that use a vertex twice.
    Degenerate,
    /// Faces much thinner than long.
    ThinFaces,
    /// Vertices at exactly the position of another.
    DuplicatePositions,
    /// Unused vertices.
    Unreferenced,
    /// Polygons whose corners do not lie in a plane.
    NonPlanar,
    /// Polygons with an inner angle above 180 degrees.
    Concave,
    /// Pairs of triangles that intersect.
    SelfIntersections,
    /// Elements of negative volume.
    Inverted,
    /// Elements without volume.
    ZeroVolume,
    /// Elements of low quality.
    Slivers,
    /// Triangles shared by three or more elements.
    NonManifoldFaces,
}

/// The items that the indices of a finding refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingSubject {
    /// The mesh as a whole.
    Mesh,
    /// One vertex each.
    Vertex,
    /// The two vertices of an edge each.
    Edge,
    /// One face each.
    Face,
    /// Two faces each.
    FacePair,
    /// The three vertices of a triangle between elements each.
    Triangle,
    /// The first face of a closed part each.
    Part,
    /// Two elements each.
    TetPair,
    /// One element each.
    Tet,
}

impl FindingSubject {
    /// "1 vertex", "2 vertices" and so on.
    pub fn counted(self, count: usize) -> String {
        let (one, many) = match self {
            Self::Mesh => ("mesh", "meshes"),
            Self::Vertex => ("vertex", "vertices"),
            Self::Edge => ("edge", "edges"),
            Self::Face => ("face", "faces"),
            Self::Part => ("closed part", "closed parts"),
            Self::FacePair | Self::TetPair => ("pair of triangles", "pairs of triangles"),
            Self::Triangle => ("triangle", "triangles"),
            Self::Tet => ("element", "elements"),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }
}

/// One finding. All indices count from 0, in the file's order.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// How bad.
    pub severity: Severity,
    /// The number of occurrences.
    pub count: usize,
    /// What the indices refer to.
    pub subject: FindingSubject,
    /// The first of them, at most [`LISTED`].
    pub first: Vec<Vec<u32>>,
    /// A sentence for the user: the meaning and the remedy.
    pub message: String,
}

impl Finding {
    /// A finding about the whole mesh.
    pub fn of_mesh(kind: FindingKind, severity: Severity, message: String) -> Self {
        Self { kind, severity, count: 1, subject: FindingSubject::Mesh, first: Vec::new(), message }
    }

    /// A finding about some items, each given by `N` indices; `None` if there are none. The message continues after
    /// "3 edges" or "1 vertex", so that it needs no verb.
    pub fn of_items<const N: usize>(
        kind: FindingKind,
        severity: Severity,
        subject: FindingSubject,
        items: &[[u32; N]],
        message: impl Into<String>,
    ) -> Option<Self> {
        let first = items.iter().take(LISTED).map(|item| item.to_vec()).collect();
        let message = format!("{} {}", subject.counted(items.len()), message.into());
        (!items.is_empty()).then_some(Self { kind, severity, count: items.len(), subject, first, message })
    }
}

/// The kind of mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeshKind {
    /// Polygons.
    Surface,
    /// Tetrahedra; topology, area and self-intersections are those of their boundary.
    Tets,
}

/// A component of the surface whose faces are connected through vertices.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Component {
    /// Vertices used by its faces.
    pub vertices: usize,
    /// Edges.
    pub edges: usize,
    /// Faces.
    pub faces: usize,
    /// The first of its faces.
    pub first_face: u32,
    /// No boundary edges.
    pub closed: bool,
    /// Every edge has one or two faces, every vertex one fan.
    pub manifold: bool,
    /// Neighbouring faces are consistently oriented.
    pub oriented: bool,
    /// Neighbouring faces are, or can be, consistently oriented.
    pub orientable: bool,
    /// Vertices - edges + faces.
    pub euler_characteristic: i64,
    /// The number of handles, for closed orientable manifolds.
    pub genus: Option<i64>,
    /// The enclosed volume in cubic metres, negative if it faces inwards; for closed, consistently oriented components.
    pub volume: Option<f64>,
}

/// Shape of the elements. The mean ratio is 12 (3 V)^(2/3) / (sum of squared edge lengths); the radius ratio is 3
/// times the radius of the inscribed over that of the circumscribed sphere. Both are 1 for a regular tetrahedron and 0
/// for a flat one; inverted elements count with their absolute volume.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ElementQuality {
    /// Smallest mean ratio.
    pub mean_ratio_min: f64,
    /// Median of the mean ratio.
    pub mean_ratio_median: f64,
    /// Smallest radius ratio.
    pub radius_ratio_min: f64,
    /// Median of the radius ratio.
    pub radius_ratio_median: f64,
    /// Smallest angle between two faces of an element, in degrees.
    pub dihedral_min: f64,
    /// Largest angle between two faces of an element, in degrees.
    pub dihedral_max: f64,
}

/// Everything a check found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MeshReport {
    /// Surface or tetrahedra.
    pub kind: MeshKind,
    /// Vertices of the file.
    pub vertices: usize,
    /// Polygons of the file; for tetrahedra, the triangles of the boundary.
    pub faces: usize,
    /// Triangles after triangulation of polygons.
    pub triangles: usize,
    /// Elements, for tetrahedra.
    pub tets: Option<usize>,
    /// Smallest and largest coordinates of the vertices in use, in metres.
    pub bounds: Option<[DVec3; 2]>,
    /// The longest side of the bounding box in metres.
    pub size: f64,
    /// Area of the surface in square metres.
    pub area: f64,
    /// Enclosed volume in cubic metres, negative if it faces inwards; for closed, consistently oriented surfaces
    /// and for tetrahedra.
    pub volume: Option<f64>,
    /// No boundary edges.
    pub closed: bool,
    /// Every edge has one or two faces, every vertex one fan.
    pub manifold: bool,
    /// Neighbouring faces are consistently oriented.
    pub oriented: bool,
    /// Closed curves of boundary edges.
    pub boundary_loops: usize,
    /// Vertices in use - edges + faces of the surface.
    pub euler_characteristic: i64,
    /// Components connected through vertices.
    pub component_count: usize,
    /// The largest of them by faces, at most [`LISTED`].
    pub components: Vec<Component>,
    /// Shape of the elements, for tetrahedra.
    pub quality: Option<ElementQuality>,
    /// The findings, worst first.
    pub findings: Vec<Finding>,
    /// The supported solver families.
    pub families: Vec<FamilyVerdict>,
}

impl MeshReport {
    /// The finding of this kind, if any.
    pub fn finding(&self, kind: FindingKind) -> Option<&Finding> {
        self.findings.iter().find(|f| f.kind == kind)
    }

    /// The count of this kind.
    pub fn count(&self, kind: FindingKind) -> usize {
        self.finding(kind).map_or(0, |f| f.count)
    }

    /// The severity of the worst finding.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|f| f.severity).max()
    }
}
