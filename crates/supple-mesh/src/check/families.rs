//! Which solver families a mesh fits, and why not.

use serde::Serialize;

use super::enclosure::Enclosure;
use super::report::{FindingKind, MeshKind, MeshReport, Severity};

/// How well a mesh fits a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// As it is.
    Yes,
    /// With the limits or repairs that the reason names.
    Caveat,
    /// Not without the repair that the reason names.
    No,
}

/// Whether a mesh fits one family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FamilyVerdict {
    /// The family's word, as in scene files.
    pub family: &'static str,
    /// How well it fits.
    pub fit: Fit,
    /// Why, in words.
    pub reason: String,
}

/// Of what openings leave, this part must be clearly inside for a surface to count as a volume.
const CLEAR_ENOUGH: f64 = 0.5;

/// What speaks against a mesh: reasons that forbid it and reasons for care.
#[derive(Default)]
struct Case {
    against: Vec<String>,
    care: Vec<String>,
}

impl Case {
    fn care_if(&mut self, count: usize, what: &str) {
        if count > 0 {
            self.care.push(format!("{count} {what}"));
        }
    }

    fn against_if(&mut self, count: usize, what: &str) {
        if count > 0 {
            self.against.push(format!("{count} {what}"));
        }
    }

    fn verdict(&self, family: &'static str, fits_as: &str) -> FamilyVerdict {
        let (fit, reason) = if !self.against.is_empty() {
            (Fit::No, self.against.join("; "))
        } else if !self.care.is_empty() {
            (Fit::Caveat, format!("{fits_as}; {}", self.care.join("; ")))
        } else {
            (Fit::Yes, fits_as.to_owned())
        };
        FamilyVerdict { family, fit, reason }
    }
}

/// The verdict of every family on a checked mesh.
pub(super) fn verdicts(report: &MeshReport, enclosure: Enclosure) -> Vec<FamilyVerdict> {
    let is_surface = report.kind == MeshKind::Surface;
    let fits_as = match (is_surface, enclosure) {
        (true, Enclosure::Closed) => "as cloth; as a solid once cut into tetrahedra",
        (true, _) => "as cloth",
        (false, _) => "as a solid",
    };
    let (assembled, particles) = if is_surface {
        (cloth_case(report), tearing_case(report))
    } else {
        (solid_case(report), solid_case(report))
    };
    let cells = cell_case(report, enclosure);
    vec![
        assembled.verdict("galerkin", fits_as),
        assembled.verdict("mas", fits_as),
        assembled.verdict("newton", fits_as),
        particles.verdict("hpbd", fits_as),
        cells.verdict("octree", "as a solid inside the surface"),
        cells.verdict("staggered", "as a solid inside the surface"),
    ]
}

/// What forbids any family.
fn unusable(report: &MeshReport) -> Case {
    let mut case = Case::default();
    if report.finding(FindingKind::Empty).is_some() {
        case.against.push("there is nothing to simulate".to_owned());
    }
    case.against_if(report.count(FindingKind::NonFinite), "vertices are not finite");
    case.against_if(report.count(FindingKind::Malformed), "faces or elements name no valid vertices");
    if !report.area.is_finite() {
        case.against.push("its size is beyond what double precision holds: scale it down".to_owned());
    }
    case
}

fn cloth_case(report: &MeshReport) -> Case {
    let mut case = unusable(report);
    if report.area == 0.0 && report.triangles > 0 {
        case.against.push("no face has an area: it would weigh nothing".to_owned());
    }
    case.care_if(
        report.count(FindingKind::Degenerate),
        "faces without area have no rest shape: delete them first",
    );
    let edges = report.count(FindingKind::NonManifoldEdges);
    case.care_if(edges, "edges of 3 or more faces bend in no defined way (stretching is fine)");
    case.care_if(report.count(FindingKind::Duplicates), "duplicate faces count twice in mass and stiffness");
    if report.finding(FindingKind::DuplicatePositions).is_some_and(|f| f.severity == Severity::Warning) {
        case.care_if(
            report.count(FindingKind::DuplicatePositions),
            "vertices at the place of others are simulated as one with them",
        );
    }
    let turned = report.count(FindingKind::Misoriented);
    case.care_if(turned, "edges between faces that disagree on the outside: pressure needs them turned");
    let crossings = report.count(FindingKind::SelfIntersections);
    case.care_if(crossings, "pairs of triangles cross: leave self-contact off or repair them");
    case
}

fn tearing_case(report: &MeshReport) -> Case {
    let mut case = cloth_case(report);
    case.care_if(
        report.count(FindingKind::NonManifoldVertices),
        "vertices with several fans come apart when torn",
    );
    case
}

fn solid_case(report: &MeshReport) -> Case {
    let mut case = unusable(report);
    case.against_if(report.count(FindingKind::Inverted), "elements are inverted");
    case.against_if(report.count(FindingKind::ZeroVolume), "elements have no volume");
    case.against_if(report.count(FindingKind::Degenerate), "elements name a vertex twice");
    case.against_if(report.count(FindingKind::Duplicates), "elements are duplicates");
    case.against_if(report.count(FindingKind::NonManifoldFaces), "triangles belong to 3 or more elements");
    case.care_if(report.count(FindingKind::Slivers), "slivers slow the solver down");
    let crossings = report.count(FindingKind::SelfIntersections);
    case.care_if(crossings, "pairs of boundary triangles cross: leave self-contact off or repair them");
    case
}

/// For families that fill the inside with cells of their own.
fn cell_case(report: &MeshReport, enclosure: Enclosure) -> Case {
    let mut case = unusable(report);
    let openings = report.count(FindingKind::BoundaryEdges);
    match enclosure {
        Enclosure::Closed | Enclosure::OnceTurned => {}
        Enclosure::Nothing => case.against.push("it encloses no volume".to_owned()),
        Enclosure::Sampled { clear } if clear < CLEAR_ENOUGH => case.against.push(format!(
            "it hardly encloses volume: only {:.0} % of what it surrounds is clearly inside; close its openings, or \
             simulate it as cloth",
            100.0 * clear
        )),
        Enclosure::Sampled { .. } if openings > 0 => case.care.push(format!(
            "{openings} boundary edges around {} openings are closed over, so that a garment would become a solid",
            report.boundary_loops
        )),
        Enclosure::Sampled { .. } => {}
    }
    case.care_if(
        report.count(FindingKind::Misoriented),
        "edges between faces that disagree blur the inside: turn them first",
    );
    if report.finding(FindingKind::InsideOut).is_some() {
        case.care.push("it faces inwards: turn all faces first".to_owned());
    }
    case
}
