//! How many pairs of primitives contact will look at, before any is looked at: a thickness of the size of a body makes every
//! primitive meet every other.

use std::f64::consts::PI;

use crate::body::Body;
use crate::scene::Contact;
use supple_core::text::number::Brief;
use supple_core::{Error, memory};

/// Memory per pair of primitives that are near, in bytes.
const PAIR_BYTES: f64 = 60.0;

/// Refuses a contact thickness whose pairs this process cannot store.
pub(crate) fn check_pair_memory(bodies: &[Body], contact: &Contact) -> Result<(), Error> {
    let pairs = estimated_pairs(bodies, contact);
    let what = format!(
        "contact within a `thickness` of {} m between {} bodies: about {pairs:.1e} pairs of vertices and edges, which",
        Brief(contact.thickness()),
        bodies.len()
    );
    // The number of pairs grows with the square of the thickness.
    memory::require(&what, PAIR_BYTES * pairs, |excess| {
        format!("use a `contact.thickness` of at most {:.1e} m", contact.thickness() / excess.sqrt())
    })
}

/// Vertices with triangles and edges with edges within the thickness, if every surface is a flat sheet: folds have more.
fn estimated_pairs(bodies: &[Body], contact: &Contact) -> f64 {
    let disc = PI * contact.thickness() * contact.thickness();
    let sheet = |body: &Body| (body.surface_triangles.len() as f64, body.point_areas.iter().sum::<f64>());
    let mut pairs = 0.0;
    for (b, body) in bodies.iter().enumerate() {
        for other in &bodies[..=b] {
            if !contact.meeting(other.into(), body.into()).collides {
                continue;
            }
            let ((own, own_area), (others, other_area)) = (sheet(body), sheet(other));
            // A closed mesh has half as many vertices as triangles and one and a half times as many edges. Sheets that do not
            // touch yet may lie on each other later.
            let all = 3.25 * own * others * if std::ptr::eq(body, other) { 0.5 } else { 1.0 };
            pairs += all * (disc / own_area.max(other_area)).min(1.0);
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scene::{self, Method};

    fn sheets(count: usize, n: u32) -> Vec<Body> {
        let sheet = |i| {
            let mut body: scene::Body =
                scene::Body::cloth(format!("sheet-{i}")).size([1.0, 1.0]).vertices([n, n]).into();
            body.self_contact = Some(true);
            Body::build(&body, Path::new(""), Method::NEWTON).unwrap()
        };
        (0..count).map(sheet).collect()
    }

    #[test]
    fn within_a_thickness_larger_than_the_bodies_all_primitives_meet() {
        let contact = Contact { thickness: Some(10.0), ..Contact::default() };
        let n = 41.0f64;
        let (vertices, triangles) = (n * n, 2.0 * (n - 1.0) * (n - 1.0));
        let edges = vertices + triangles - 1.0;
        let all = vertices * triangles + 0.5 * edges * edges;
        let one = estimated_pairs(&sheets(1, 41), &contact);
        assert!((one / all - 1.0).abs() < 0.1, "{one} of {all}");
        // Two sheets have the pairs of each, and those of one with the other.
        let two = estimated_pairs(&sheets(2, 41), &contact);
        assert!((two / (4.0 * one) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn pairs_of_a_thin_sheet_are_those_of_its_neighbours() {
        let contact = Contact { thickness: Some(0.025), ..Contact::default() };
        let pairs = estimated_pairs(&sheets(1, 41), &contact);
        // Around each vertex within the length of an edge: six triangles, and a few edges for each of its three.
        assert!((5.0..30.0).contains(&(pairs / 1681.0)), "{pairs}");
    }
}
