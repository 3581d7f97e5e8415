//! Checks of vertices: coordinates that are not finite, size and unit, unused vertices, equal positions.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::report::{Finding, FindingKind, FindingSubject, Severity};
use supple_core::Aabb;
use supple_core::text::number::Brief;

/// Sizes in metres outside of which a mesh is likely in another unit.
const SIZES: std::ops::RangeInclusive<f64> = 0.01..=100.0;
/// From this size on, a garment or character is probably in centimetres, though it may be a room.
const NOTED_SIZE: f64 = 10.0;

pub(super) fn non_finite(positions: &[DVec3]) -> Option<Finding> {
    let bad: Vec<[u32; 1]> =
        (0..positions.len()).filter(|&v| !positions[v].is_finite()).map(|v| [v as u32]).collect();
    let message = "with coordinates that are infinite or NaN: repair the file or its exporter";
    Finding::of_items(FindingKind::NonFinite, Severity::Error, FindingSubject::Vertex, &bad, message)
}

/// The finding on unused vertices, and the box around all other finite vertices (around all vertices if none is
/// used).
pub(super) fn unreferenced(positions: &[DVec3], used_by: &[u32], by_what: &str) -> (Option<Finding>, Aabb) {
    let mut used = vec![used_by.is_empty(); positions.len()];
    used_by.iter().for_each(|&v| used[v as usize] = true);
    let bounds = (positions.iter().zip(&used))
        .filter(|(p, used)| **used && p.is_finite())
        .fold(Aabb::EMPTY, |sum, (&p, _)| sum.union(Aabb { low: p, high: p }));
    let unused: Vec<[u32; 1]> = (0..used.len()).filter(|&v| !used[v]).map(|v| [v as u32]).collect();
    let message = format!("of no {by_what}: unused; delete them, or they stay in place");
    (
        Finding::of_items(
            FindingKind::Unreferenced,
            Severity::Note,
            FindingSubject::Vertex,
            &unused,
            message,
        ),
        bounds,
    )
}

/// The likely unit for a size in metres. A garment or character measures 20 cm to 3 m: suggests the scale that brings
/// the mesh closest to one metre.
pub fn size_finding(size: f64) -> Option<Finding> {
    if SIZES.contains(&size) {
        return (size >= NOTED_SIZE).then(|| large_size_note(size));
    }
    let remedy = likely_unit(size).map_or_else(
        || "no common unit brings it close to a metre: set scale to obtain the true size".to_owned(),
        |(unit, scale)| format!("it looks like {unit}: set scale = {scale} (then {} m)", Brief(scale * size)),
    );
    let message = format!("the largest side is {} m, outside 0.01 m to 100 m; {remedy}", Brief(size));
    Some(Finding::of_mesh(FindingKind::Size, Severity::Warning, message))
}

fn large_size_note(size: f64) -> Finding {
    let message = format!(
        "the largest side is {} m: plausible for a room or a vehicle; if it is a garment or character, it is in another unit: {}",
        Brief(size),
        likely_scales(size)
    );
    Finding::of_mesh(FindingKind::Size, Severity::Note, message)
}

/// The finding on the size of a body of a scene in metres, for notes of a run.
pub fn size_note(size: f64) -> Option<String> {
    size_finding(size).map(|finding| finding.message)
}

/// The end of a refusal of cells that are too small for a body of this size in metres: "; if …", or nothing where the
/// size is plausible.
pub fn scale_hint(size: f64) -> String {
    if size < NOTED_SIZE || !size.is_finite() {
        return String::new();
    }
    match likely_scales(size) {
        scales if scales.is_empty() => String::new(),
        scales => format!("; if its file is in another unit, {scales}"),
    }
}

/// Units that lengths of files are in, with the factor to metres.
const UNITS: [(&str, f64); 7] = [
    ("decimetres", 0.1),
    ("inches", 0.0254),
    ("centimetres", 0.01),
    ("millimetres", 0.001),
    ("micrometres", 1e-6),
    ("metres divided by 100", 100.0),
    ("kilometres", 1000.0),
];

/// "set scale = 0.0254 for inches (then 0.91 m) or 0.01 for centimetres (then 0.36 m)": the units that bring `size` nearest to
/// one metre, at most two.
fn likely_scales(size: f64) -> String {
    let off = |scale: f64| (scale * size).log10().abs();
    let mut units: Vec<_> = UNITS.into_iter().filter(|(_, scale)| off(*scale) <= 1.0).collect();
    units.sort_by(|a, b| off(a.1).total_cmp(&off(b.1)));
    let named = |(unit, scale): &(&str, f64)| format!("{scale} for {unit} (then {} m)", Brief(scale * size));
    match &units[..] {
        [] => String::new(),
        [only] => format!("set scale = {}", named(only)),
        [first, second, ..] => format!("set scale = {} or {}", named(first), named(second)),
    }
}

/// The unit, and the scale to metres, that brings `size` nearest to one metre, within a factor of ten. Decimetres and
/// inches are too near to centimetres to be distinguished from them.
fn likely_unit(size: f64) -> Option<(&'static str, f64)> {
    let off = |scale: f64| (scale * size).log10().abs();
    let coarse = UNITS.into_iter().filter(|(unit, _)| !["decimetres", "inches"].contains(unit));
    let best = coarse.min_by(|a, b| off(a.1).total_cmp(&off(b.1)))?;
    (off(best.1) <= 1.0).then_some(best)
}

/// For each vertex the least vertex at exactly the same position; itself where it is unique or NaN.
pub(super) fn weld(positions: &[DVec3]) -> Vec<u32> {
    // Adding zero makes -0 and 0 bit-identical.
    let bits = |v: u32| positions[v as usize].to_array().map(|c| (c + 0.0).to_bits());
    let mut order: Vec<u32> = (0..positions.len() as u32).collect();
    order.par_sort_unstable_by_key(|&v| (bits(v), v));
    let mut first: Vec<u32> = (0..positions.len() as u32).collect();
    for group in order.chunk_by(|&a, &b| bits(a) == bits(b) && positions[a as usize].is_finite()) {
        group.iter().for_each(|&v| first[v as usize] = group[0]);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_garments_in_other_units_are_named() {
        let said = |size: f64| {
            size_finding(size).map(|f| (f.severity, f.message)).unwrap_or((Severity::Note, String::new()))
        };
        for (size, unit) in
            [(170.0, "centimetres: set scale = 0.01"), (1700.0, "millimetres: set scale = 0.001")]
        {
            let (severity, message) = said(size);
            assert_eq!(severity, Severity::Warning);
            assert!(message.contains(unit), "{message}");
        }
        assert!(said(0.0017).1.contains("set scale = 1000"));
        assert!(said(0.005).1.contains("set scale = 100 "));
        assert!(said(1e9).1.contains("no common unit"));
        assert_eq!(said(60.0).0, Severity::Note);
        // 36: a dress of 91 cm in inches, or one of 36 cm; 11: in decimetres or inches.
        for (size, scales) in [
            (36.0, ["0.0254 for inches", "0.01 for centimetres"]),
            (11.0, ["0.1 for decimetres", "0.0254 for inches"]),
        ] {
            assert!(scales.iter().all(|scale| said(size).1.contains(scale)), "{}", said(size).1);
        }
        assert!(scale_hint(9.0).is_empty() && scale_hint(170.0).contains("set scale = 0.01 for centimetres"));
        assert!(scale_hint(1e300).is_empty() && scale_hint(f64::INFINITY).is_empty());
        for good in [0.01, 0.2, 1.7, 9.0] {
            assert!(size_finding(good).is_none());
        }
    }

    #[test]
    fn only_equal_finite_positions_are_welded() {
        let p =
            [DVec3::X, DVec3::ZERO, -DVec3::ZERO, DVec3::NAN, DVec3::NAN, DVec3::X, DVec3::X.with_y(1e-300)];
        assert_eq!(weld(&p), [0, 1, 1, 3, 4, 0, 6]);
    }
}
