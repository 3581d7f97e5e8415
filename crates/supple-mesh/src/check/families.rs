//! Which solver families a mesh fits, and why not.

use serde::Serialize;

use super::enclosure::Enclosure;
use super::report::{FindingKind, MeshKind, MeshReport, Severity};

/// How well a mesh fits a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// Without changes.
    Yes,
    /// With the limits or repairs given in the reason.
    Caveat,
    /// Not without the repair given in the reason.
    No,
}

/// Whether a mesh fits one family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FamilyVerdict {
    /// The solver name, as in scene files.
    pub family: &'static str,
    /// The degree of fit.
    pub fit: Fit,
    /// The reason, as text.
    pub reason: String,
}

/// Minimum fraction of clearly interior samples for an open surface to count as a volume.
const CLEAR_ENOUGH: f64 = 0.5;

/// What is said of pairs of triangles that intersect.
const PAIRS: [&str; 2] = ["pair of triangles intersects", "pairs of triangles intersect"];
const SEPARATED: &str = "contact separates them gradually";

/// Arguments against a mesh: reasons that forbid it and reasons for caution.
#[derive(Default)]
struct FamilyCase {
    against: Vec<String>,
    care: Vec<String>,
}

impl FamilyCase {
    /// `what` with its number, and what that means.
    fn care_if(&mut self, count: usize, [one, many]: [&str; 2], meaning: &str) {
        if count > 0 {
            self.care.push(format!("{count} {}: {meaning}", if count == 1 { one } else { many }));
        }
    }

    fn against_if(&mut self, count: usize, [one, many]: [&str; 2]) {
        if count > 0 {
            self.against.push(format!("{count} {}", if count == 1 { one } else { many }));
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
        (true, Enclosure::Closed) => "as cloth; as a solid once tetrahedralised",
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

/// Problems that exclude every family.
fn unusable(report: &MeshReport) -> FamilyCase {
    let mut case = FamilyCase::default();
    if report.finding(FindingKind::Empty).is_some() {
        case.against.push("there is nothing to simulate".to_owned());
    }
    case.against_if(
        report.count(FindingKind::NonFinite),
        ["vertex is not finite", "vertices are not finite"],
    );
    case.against_if(
        report.count(FindingKind::Malformed),
        ["face or element refers to invalid vertices", "faces or elements refer to invalid vertices"],
    );
    if !report.area.is_finite() {
        case.against.push("its size exceeds the range of double precision: scale it down".to_owned());
    }
    case
}

fn cloth_case(report: &MeshReport) -> FamilyCase {
    let mut case = unusable(report);
    if report.area == 0.0 && report.triangles > 0 {
        case.against.push("no face has an area: it would have no mass".to_owned());
    }
    case.care_if(
        report.count(FindingKind::Degenerate),
        ["face without area", "faces without area"],
        "no rest shape; delete them first",
    );
    let edges = report.count(FindingKind::NonManifoldEdges);
    case.care_if(
        edges,
        ["edge of 3 or more faces", "edges of 3 or more faces"],
        "no defined bending (stretching works)",
    );
    case.care_if(
        report.count(FindingKind::Duplicates),
        ["duplicate face", "duplicate faces"],
        "counted twice in mass and stiffness",
    );
    if report.finding(FindingKind::DuplicatePositions).is_some_and(|f| f.severity == Severity::Warning) {
        case.care_if(
            report.count(FindingKind::DuplicatePositions),
            ["vertex exactly on another", "vertices exactly on others"],
            "simulated as one",
        );
    }
    let turned = report.count(FindingKind::Misoriented);
    case.care_if(
        turned,
        ["edge between inconsistently oriented faces", "edges between inconsistently oriented faces"],
        "pressure needs a consistent orientation",
    );
    let crossings = report.count(FindingKind::SelfIntersections);
    case.care_if(crossings, PAIRS, SEPARATED);
    case
}

fn tearing_case(report: &MeshReport) -> FamilyCase {
    let mut case = cloth_case(report);
    case.care_if(
        report.count(FindingKind::NonManifoldVertices),
        ["vertex with several fans", "vertices with several fans"],
        "the fans separate when torn",
    );
    case
}

fn solid_case(report: &MeshReport) -> FamilyCase {
    let mut case = unusable(report);
    case.against_if(report.count(FindingKind::Inverted), ["element is inverted", "elements are inverted"]);
    case.against_if(
        report.count(FindingKind::ZeroVolume),
        ["element has no volume", "elements have no volume"],
    );
    case.against_if(
        report.count(FindingKind::Degenerate),
        ["element uses a vertex twice", "elements use a vertex twice"],
    );
    case.against_if(
        report.count(FindingKind::Duplicates),
        ["element is a duplicate", "elements are duplicates"],
    );
    case.against_if(
        report.count(FindingKind::NonManifoldFaces),
        ["triangle belongs to 3 or more elements", "triangles belong to 3 or more elements"],
    );
    case.care_if(
        report.count(FindingKind::Slivers),
        ["nearly flat element", "nearly flat elements"],
        "slow to solve",
    );
    let crossings = report.count(FindingKind::SelfIntersections);
    case.care_if(crossings, PAIRS, SEPARATED);
    case
}

/// For families that fill the interior with their own cells.
fn cell_case(report: &MeshReport, enclosure: Enclosure) -> FamilyCase {
    let mut case = unusable(report);
    let openings = report.count(FindingKind::BoundaryEdges);
    match enclosure {
        Enclosure::Closed | Enclosure::OnceTurned => {}
        Enclosure::Nothing => case.against.push("it encloses no volume".to_owned()),
        Enclosure::Sampled { clear } if clear < CLEAR_ENOUGH => case.against.push(format!(
            "it hardly encloses volume: only {:.0} % of the region it surrounds is clearly inside; close its openings, or \
             simulate it as cloth",
            100.0 * clear
        )),
        Enclosure::Sampled { .. } if openings > 0 => case.care.push(format!(
            "its {} would be capped, turning a garment into a solid",
            if report.boundary_loops == 1 {
                format!("opening of {openings} edges")
            } else {
                format!("{} openings of {openings} edges", report.boundary_loops)
            }
        )),
        Enclosure::Sampled { .. } => {}
    }
    case.care_if(
        report.count(FindingKind::Misoriented),
        ["inconsistently oriented edge", "inconsistently oriented edges"],
        "the interior is ambiguous; flip the faces on one side first",
    );
    if report.finding(FindingKind::InsideOut).is_some() {
        case.care.push("it faces inwards: flip all faces first".to_owned());
    }
    case
}
