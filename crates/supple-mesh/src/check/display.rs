//! The report as text.

use std::fmt;

use super::families::Fit;
use super::report::{Component, Finding, FindingSubject, MeshKind, MeshReport, Severity};

impl fmt::Display for MeshReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_contents(f)?;
        self.write_measures(f)?;
        self.write_topology(f)?;
        if !self.findings.is_empty() {
            writeln!(f, "\nfindings (indices count from 0)")?;
        }
        self.findings.iter().try_for_each(|finding| write!(f, "{finding}"))?;
        self.write_families(f)
    }
}

impl MeshReport {
    /// The report in short: one line that describes the mesh, and the findings; only errors and warnings with indices.
    pub fn abridged(&self) -> String {
        let holds = |yes: bool, what: &str| if yes { what.to_owned() } else { format!("not {what}") };
        let elements = match self.tets {
            Some(tets) => plural(tets, "tetrahedron").replace("tetrahedrons", "tetrahedra"),
            None => plural(self.faces, "face"),
        };
        let size = self.bounds.map_or_else(String::new, |[low, high]| {
            let side = high - low;
            format!(", {} x {} x {} m", brief(side.x), brief(side.y), brief(side.z))
        });
        let state = [(self.closed, "closed"), (self.manifold, "manifold"), (self.oriented, "oriented")];
        let state = state.map(|(yes, what)| holds(yes, what)).join(", ");
        let mut text = format!("{} vertices, {elements}{size}, {state}\n", self.vertices);
        for finding in &self.findings {
            match finding.severity {
                Severity::Note => text += &format!("  note     {}\n", finding.message),
                _ => text += &finding.to_string(),
            }
        }
        text
    }

    fn write_contents(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.tets) {
            (MeshKind::Tets, Some(tets)) => {
                writeln!(
                    f,
                    "tetrahedra  {} vertices, {tets} elements, {} boundary triangles",
                    self.vertices, self.faces
                )
            }
            _ if self.faces == self.triangles => {
                writeln!(f, "surface     {} vertices, {} triangles", self.vertices, self.faces)
            }
            _ => writeln!(
                f,
                "surface     {} vertices, {} polygons split into {} triangles",
                self.vertices, self.faces, self.triangles
            ),
        }
    }

    fn write_measures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some([low, high]) = self.bounds {
            let side = high - low;
            writeln!(f, "size        {} x {} x {} m", brief(side.x), brief(side.y), brief(side.z))?;
            let point = |p: glam::DVec3| format!("({}, {}, {})", brief(p.x), brief(p.y), brief(p.z));
            writeln!(f, "from        {} to {}", point(low), point(high))?;
        }
        write!(f, "area        {} m^2", brief(self.area))?;
        match self.volume {
            Some(volume) => writeln!(f, ", volume {} m^3", brief(volume))?,
            None => writeln!(f)?,
        }
        let Some(q) = &self.quality else { return Ok(()) };
        writeln!(
            f,
            "mean ratio  {:.3} min, {:.3} median (1 = regular)",
            q.mean_ratio_min, q.mean_ratio_median
        )?;
        writeln!(
            f,
            "radii       {:.3} min, {:.3} median (1 = regular)",
            q.radius_ratio_min, q.radius_ratio_median
        )?;
        writeln!(f, "dihedral    {:.1} to {:.1} degrees", q.dihedral_min, q.dihedral_max)
    }

    fn write_topology(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.component_count == 0 {
            return Ok(());
        }
        let yes_no = |holds: bool, yes: &'static str, no: &'static str| if holds { yes } else { no };
        let what = yes_no(self.kind == MeshKind::Tets, "boundary", "topology");
        write!(f, "{what}    {}", yes_no(self.closed, "closed", "open"))?;
        if self.boundary_loops > 0 {
            write!(f, " ({})", plural(self.boundary_loops, "boundary loop"))?;
        }
        write!(f, ", {}", yes_no(self.manifold, "manifold", "not manifold"))?;
        writeln!(f, ", {}", yes_no(self.oriented, "consistently oriented", "inconsistently oriented"))?;
        write!(f, "parts       {}", self.component_count)?;
        for (i, part) in self.components.iter().take(3).enumerate() {
            write!(f, "{}{}", if i == 0 { ": " } else { "; " }, describe(part))?;
        }
        writeln!(f, "{}", if self.component_count > 3 { "; ..." } else { "" })
    }

    fn write_families(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nfits")?;
        for group in self.families.chunk_by(|a, b| a.fit == b.fit && a.reason == b.reason) {
            let names: Vec<&str> = group.iter().map(|v| v.family).collect();
            let fit = match group[0].fit {
                Fit::Yes => "yes",
                Fit::Caveat => "with care",
                Fit::No => "no",
            };
            writeln!(f, "  {:<27} {fit:<10} {}", names.join(", "), group[0].reason)?;
        }
        Ok(())
    }
}

fn describe(part: &Component) -> String {
    let genus = part.genus.map_or_else(String::new, |g| format!(", genus {g}"));
    let state = if part.closed { "closed" } else { "open" };
    format!("{} ({state}{genus})", plural(part.faces, "face"))
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        writeln!(f, "  {severity:<8} {}", self.message)?;
        if self.first.is_empty() {
            return Ok(());
        }
        let name = |item: &Vec<u32>| item.iter().map(u32::to_string).collect::<Vec<_>>().join("-");
        let list: Vec<String> = self.first.iter().map(name).collect();
        let more = if self.count > self.first.len() { ", ..." } else { "" };
        writeln!(f, "           {} {}{more}", self.subject_name(), list.join(", "))
    }
}

impl Finding {
    fn subject_name(&self) -> &'static str {
        match self.subject {
            FindingSubject::Mesh => "mesh",
            FindingSubject::Vertex => "vertices",
            FindingSubject::Edge => "edges (by vertices)",
            FindingSubject::Face => "faces",
            FindingSubject::Part => "first faces",
            FindingSubject::FacePair => "faces",
            FindingSubject::Triangle => "triangles (by vertices)",
            FindingSubject::Tet | FindingSubject::TetPair => "elements",
        }
    }
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Four digits, in scientific notation where that is shorter.
fn brief(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e5).contains(&size) {
        return format!("{value:.3e}");
    }
    let digits = if size >= 1000.0 {
        0
    } else if size >= 100.0 {
        1
    } else if size >= 10.0 {
        2
    } else {
        4
    };
    format!("{value:.digits$}")
}
