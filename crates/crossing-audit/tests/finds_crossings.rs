//! The audit finds what was put there by hand, and nothing else.

use crossing_audit::audit::{Audit, Findings};
use crossing_audit::record::{
    self, FrameRecord, Header, Record, Solid, SolidKind, SolidName, State, StepEnd, Surface,
};
use crossing_audit::still::{pierces, winding};
use crossing_audit::sweep::{Mover, first_below, first_touch};
use glam::{DVec3, Vec3Swizzles as _};
use proptest::prelude::*;

/// A body of one triangle at z = 0, and a collider of one triangle that stands across it.
fn two_triangles(collider_at: &[[f64; 3]; 2]) -> FrameRecord {
    let surface = |name: &str, collider: bool, first: usize| Surface {
        name: name.into(),
        collider,
        closed: false,
        points: [first, first + 3],
        triangles: vec![[first, first + 1, first + 2]],
    };
    let header = Header {
        frame: 1,
        swept: true,
        surfaces: vec![surface("sheet", false, 0), surface("blade", true, 3)],
        solids: Vec::new(),
        pairs: vec![[0, 1]],
    };
    let sheet = [DVec3::new(-1.0, -1.0, 0.0), DVec3::new(1.0, -1.0, 0.0), DVec3::new(0.0, 1.0, 0.0)];
    let blade = [DVec3::new(0.0, 0.0, 0.2), DVec3::new(-0.1, 0.1, 1.0), DVec3::new(0.1, 0.1, 1.0)];
    let state = |by: [f64; 3]| State {
        time: 0.0,
        points: sheet.iter().copied().chain(blade.map(|p| p + DVec3::from_array(by))).collect(),
        solids: Vec::new(),
    };
    let [from, to] = collider_at.map(state);
    let end = StepEnd {
        time: 0.0,
        driven: to.points[3..].to_vec(),
        solids: Vec::new(),
        pins: Vec::new(),
        released: Vec::new(),
    };
    FrameRecord { header, records: vec![Record::Restart(from), Record::Piece(to, 3), Record::End(end)] }
}

fn audited(frames: &[FrameRecord]) -> Findings {
    let mut audit = Audit::default();
    for frame in frames {
        // Through the file format, as the program does.
        let bytes = record::write(frame).unwrap();
        let read = record::read(&bytes).unwrap();
        assert_eq!(&read, frame);
        audit.frame(&read);
    }
    audit.findings
}

#[test]
fn a_blade_that_stops_before_the_sheet_is_clean() {
    let found = audited(&[two_triangles(&[[0.0; 3], [0.0, 0.0, -0.199]])]);
    assert!(found.is_clean(1e-6), "{found:?}");
    assert_eq!((found.pieces, found.steps), (1, 1));
}

#[test]
fn a_blade_in_the_sheet_is_an_event_and_a_crossing() {
    let found = audited(&[two_triangles(&[[0.0; 3], [0.0, 0.0, -0.5]])]);
    assert!(found.events >= 1 && found.crossings >= 1, "{found:?}");
}

#[test]
fn a_blade_that_has_passed_is_an_event_though_nothing_crosses_at_the_end() {
    let found = audited(&[two_triangles(&[[0.0; 3], [0.0, 0.0, -5.0]])]);
    assert_eq!(found.crossings, 0);
    assert!(found.events >= 1, "{found:?}");
}

#[test]
fn released_points_are_counted_by_themselves() {
    let mut frame = two_triangles(&[[0.0; 3], [0.0, 0.0, -5.0]]);
    if let Some(Record::End(end)) = frame.records.last_mut() {
        end.released = vec![0, 1, 2];
    }
    let found = audited(&[frame]);
    assert_eq!(found.events, 0);
    assert!(found.released_events >= 1 && found.released.len() == 3, "{found:?}");
}

#[test]
fn a_jump_to_a_state_that_was_never_recorded_is_found() {
    let mut frame = two_triangles(&[[0.0; 3], [0.0, 0.0, -0.1]]);
    let Record::Piece(state, _) = frame.records[1].clone() else { panic!("a piece") };
    let mut elsewhere = state.clone();
    elsewhere.points[0].x += 1e-3;
    frame.records.insert(2, Record::Restart(elsewhere));
    let found = audited(&[frame.clone()]);
    assert_eq!(found.jumps, 1);
    assert!((found.farthest_jump - 1e-3).abs() < 1e-12);
    // Back to where the step was before is none.
    let Record::Restart(start) = frame.records[0].clone() else { panic!("a start") };
    frame.records[2] = Record::Restart(start);
    frame.records.push(Record::Piece(state, 3));
    assert_eq!(audited(&[frame]).jumps, 0);
}

#[test]
fn a_frame_that_does_not_start_where_the_last_one_ended_is_found() {
    let (first, mut second) = (two_triangles(&[[0.0; 3]; 2]), two_triangles(&[[0.0; 3]; 2]));
    assert!(audited(&[first.clone(), second.clone()]).is_clean(0.0));
    for record in &mut second.records {
        if let Record::Restart(state) | Record::Piece(state, _) = record {
            state.points[1].y += 0.01;
        }
    }
    assert_eq!(audited(&[first, second]).jumps, 1);
}

#[test]
fn late_colliders_and_pins_are_measured() {
    let mut frame = two_triangles(&[[0.0; 3], [0.0, 0.0, -0.1]]);
    if let Some(Record::End(end)) = frame.records.last_mut() {
        end.driven[1].x += 3e-4;
        end.pins.push((2, DVec3::new(0.0, 1.0, 2e-5)));
    }
    let found = audited(&[frame]);
    assert!((found.collider_lateness - 3e-4).abs() < 1e-15);
    assert!((found.pin_lateness - 2e-5).abs() < 1e-15);
    assert!(!found.is_clean(1e-6));
}

/// A triangle over a capsule, which moves by `by` along z, and a half-space below.
fn over_solids(by: f64) -> FrameRecord {
    let header = Header {
        frame: 1,
        swept: true,
        surfaces: vec![Surface {
            name: "face".into(),
            collider: false,
            closed: false,
            points: [0, 3],
            triangles: vec![[0, 1, 2]],
        }],
        solids: vec![
            SolidName { name: "wire".into(), kind: SolidKind::Capsule },
            SolidName { name: "floor".into(), kind: SolidKind::Plane },
        ],
        pairs: vec![[0, 1], [0, 2]],
    };
    let corners = [DVec3::new(-1.0, -1.0, 0.0), DVec3::new(1.0, -1.0, 0.0), DVec3::new(0.0, 1.0, 0.0)];
    let solids = |z: f64| {
        let [a, b] = [-0.2, 0.2].map(|x| DVec3::new(x, 0.0, z));
        let wire = Solid { kind: SolidKind::Capsule, a, b, radius: 1e-3 };
        vec![wire, Solid { kind: SolidKind::Plane, a: DVec3::new(0.0, 0.0, -9.0), b: DVec3::Z, radius: 0.0 }]
    };
    let state = |z: f64| State { time: 0.0, points: corners.to_vec(), solids: solids(z) };
    let end = StepEnd {
        time: 0.0,
        driven: Vec::new(),
        solids: solids(0.1 + by),
        pins: Vec::new(),
        released: Vec::new(),
    };
    FrameRecord {
        header,
        records: vec![Record::Restart(state(0.1)), Record::Piece(state(0.1 + by), 1), Record::End(end)],
    }
}

#[test]
fn a_wire_that_passes_the_inside_of_a_face_is_an_event() {
    assert!(audited(&[over_solids(-0.0989)]).is_clean(1e-6));
    let inside = audited(&[over_solids(-0.0991)]);
    // No vertex is near the wire; the face is in it.
    assert_eq!((inside.events, inside.crossings, inside.inside), (1, 1, 0), "{inside:?}");
    let passed = audited(&[over_solids(-0.2)]);
    assert_eq!((passed.events, passed.crossings), (1, 0), "{passed:?}");
}

#[test]
fn vertices_inside_a_closed_mesh_or_below_a_plane_are_found() {
    let corner =
        |i: usize| DVec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64) - DVec3::splat(0.5);
    let sides = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles: Vec<[DVec3; 3]> =
        sides.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).map(|t| t.map(corner)).collect();
    for (point, inside) in
        [(DVec3::ZERO, 1.0), (DVec3::splat(0.49), 1.0), (DVec3::X, 0.0), (DVec3::splat(0.51), 0.0)]
    {
        assert!((winding(point, triangles.iter().copied()).abs() - inside).abs() < 1e-9, "{point}");
    }
    let mut sinks = over_solids(0.0);
    if let Record::Piece(state, _) = &mut sinks.records[1] {
        state.points[2].z = -9.5;
    }
    let found = audited(&[sinks]);
    assert_eq!((found.events, found.inside), (1, 1), "{found:?}");
    assert!((found.deepest - 0.5).abs() < 1e-12);
}

#[test]
fn damaged_records_are_rejected() {
    let bytes = record::write(&two_triangles(&[[0.0; 3]; 2])).unwrap();
    for end in (0..bytes.len()).step_by(7) {
        let whole = record::read(&bytes[..end]);
        // A record may be missing as a whole.
        assert!(whole.is_err() || whole.unwrap().records.len() < 3, "{end}");
    }
}

fn vector() -> impl Strategy<Value = DVec3> {
    prop::array::uniform3(-1.0..1.0f64).prop_map(DVec3::from_array)
}

proptest! {
    /// A vertex that is put into a triangle at some time is found there, however it moves before and after.
    #[test]
    fn a_touch_that_was_constructed_is_found(
        corners in prop::array::uniform3(vector()),
        motion in prop::array::uniform3(vector()),
        weights in prop::array::uniform2(0.0..1.0f64),
        speed in vector(),
        at in 0.0..1.0f64,
    ) {
        let [u, v] = if weights[0] + weights[1] > 1.0 { weights.map(|w| 1.0 - w) } else { weights };
        let from: [DVec3; 3] = std::array::from_fn(|i| corners[i] - at * motion[i]);
        let to: [DVec3; 3] = std::array::from_fn(|i| corners[i] + (1.0 - at) * motion[i]);
        let place = (1.0 - u - v) * corners[0] + u * corners[1] + v * corners[2];
        let vertex = [place - at * speed, place + (1.0 - at) * speed];
        let triangle = Mover { from: &from, to: &to, radius: [0.0; 2] };
        // Rounding may have moved the touch out of the triangle by an ulp: the audit must still count it, or the pair is that close.
        let found = first_touch(&Mover { from: &vertex[..1], to: &vertex[1..], radius: [1e-14; 2] }, &triangle);
        prop_assert!(found.is_some_and(|time| time <= at + 1e-9));
    }

    /// Edges that were made to meet are found.
    #[test]
    fn edges_that_meet_are_found(
        points in prop::array::uniform4(vector()),
        motion in prop::array::uniform4(vector()),
        part in prop::array::uniform2(0.0..1.0f64),
        at in 0.0..1.0f64,
    ) {
        let mut points = points;
        let shift = points[0].lerp(points[1], part[0]) - points[2].lerp(points[3], part[1]);
        points[2] += shift;
        points[3] += shift;
        let from: [DVec3; 4] = std::array::from_fn(|i| points[i] - at * motion[i]);
        let to: [DVec3; 4] = std::array::from_fn(|i| points[i] + (1.0 - at) * motion[i]);
        let one = Mover { from: &from[..2], to: &to[..2], radius: [1e-14; 2] };
        let found = first_touch(&one, &Mover { from: &from[2..], to: &to[2..], radius: [0.0; 2] });
        prop_assert!(found.is_some_and(|time| time <= at + 1e-9));
    }

    /// What a plane that moves along separates at all times does not touch.
    #[test]
    fn what_a_moving_plane_separates_does_not_touch(
        below in prop::array::uniform3(vector()),
        above in vector(),
        drift in vector(),
        gap in 1e-9..1.0f64,
    ) {
        let flat = |p: DVec3, side: f64| DVec3::new(p.x, p.y, side * (gap + p.z.abs()));
        let from = below.map(|p| flat(p, -1.0));
        let to = below.map(|p| flat(p.yzx(), -1.0) + drift);
        let vertex = [flat(above, 1.0), flat(above.zxy(), 1.0) + drift];
        let found = first_touch(
            &Mover { from: &vertex[..1], to: &vertex[1..], radius: [0.0; 2] },
            &Mover { from: &from, to: &to, radius: [0.0; 2] },
        );
        prop_assert_eq!(found, None);
    }

    /// The first time below a turning plane agrees with sampling.
    #[test]
    fn the_time_below_a_turning_plane_agrees_with_samples(
        vertex in prop::array::uniform2(vector()),
        point in prop::array::uniform2(vector()),
        normal in prop::array::uniform2(vector()),
    ) {
        const SAMPLES: usize = 2000;
        let height = |t: f64| (vertex[0].lerp(vertex[1], t) - point[0].lerp(point[1], t)).dot(normal[0].lerp(normal[1], t));
        let sampled = (0..=SAMPLES).map(|i| i as f64 / SAMPLES as f64).find(|t| height(*t) < 0.0);
        match (first_below(vertex, point, normal), sampled) {
            (None, found) => prop_assert_eq!(found, None),
            (Some(time), Some(sample)) => prop_assert!(time <= sample && sample - time <= 1.5 / SAMPLES as f64 + 1e-9 || height(time).abs() < 1e-6),
            (Some(time), None) => prop_assert!(height(time).abs() < 1e-6),
        }
    }

    /// A segment pierces a triangle if and only if the point where it meets the plane is inside.
    #[test]
    fn piercing_agrees_with_weights(
        corners in prop::array::uniform3(vector()),
        ends in prop::array::uniform2(vector()),
    ) {
        let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
        let [above, below] = ends.map(|p| normal.dot(p - corners[0]));
        let place = ends[0].lerp(ends[1], above / (above - below));
        let area = |a: DVec3, b: DVec3| normal.dot((b - a).cross(place - a)) / normal.length_squared();
        let areas = [area(corners[0], corners[1]), area(corners[1], corners[2]), area(corners[2], corners[0])];
        prop_assume!(areas.iter().chain([&above, &below]).all(|value| value.abs() > 1e-9));
        let expected = above * below < 0.0 && areas.iter().all(|area| *area > 0.0);
        prop_assert_eq!(pierces(ends, corners), expected);
    }
}
