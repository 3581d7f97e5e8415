//! Complete pictures against projection and shadow geometry computed by hand.

use std::sync::Arc;

use glam::{DMat3, DQuat, Vec3};

use super::drawing::Drawing;
use super::shading::Lighting;
use super::*;
use supple::mesh::SurfaceMesh;
use supple::output::{FrameBody, FrameSurface};

fn body(positions: Vec<DVec3>, triangles: &[[u32; 3]]) -> FrameBody {
    let current = positions.iter().map(|p| p.as_vec3()).collect();
    let mesh = SurfaceMesh::from_triangles(positions, triangles);
    let surface = FrameSurface { name: "body".into(), mesh, file_from_world: DMat3::IDENTITY };
    FrameBody { surface: Arc::new(surface), positions: current, contact: None }
}

fn frame(bodies: Vec<FrameBody>) -> Frame {
    Frame { index: 3, time: 0.1, bodies }
}

fn quad(center: DVec3, x: DVec3, y: DVec3) -> FrameBody {
    body(vec![center - x - y, center + x - y, center + x + y, center - x + y], &[[0, 1, 2], [0, 2, 3]])
}

/// A sphere by latitude and longitude.
fn sphere(center: DVec3, radius: f64, n: u32) -> FrameBody {
    let (rows, columns) = (n, 2 * n);
    let at = |i: u32| {
        let (a, b) = (f64::from(i / columns) / f64::from(rows), f64::from(i % columns) / f64::from(columns));
        let (a, b) = (a * std::f64::consts::PI, b * std::f64::consts::TAU);
        center + radius * DVec3::new(a.sin() * b.cos(), a.cos(), a.sin() * b.sin())
    };
    let cell = |i: u32| {
        let next = i / columns * columns + (i % columns + 1) % columns;
        [[i, next, next + columns], [i, next + columns, i + columns]]
    };
    let triangles: Vec<[u32; 3]> = (0..rows * columns).flat_map(cell).collect();
    body((0..(rows + 1) * columns).map(at).collect(), &triangles)
}

/// Looks along -z from 5 m; at the origin the picture is 4 m high.
fn front() -> Camera {
    let fov_degrees = 2.0 * (2.0f64 / 5.0).atan().to_degrees();
    Camera { eye: DVec3::new(0.0, 0.0, 5.0), target: DVec3::ZERO, up: DVec3::Y, fov_degrees }
}

fn cut_out(width: u32, height: u32) -> RenderOptions {
    RenderOptions {
        width,
        height,
        camera: CameraChoice::Given(front()),
        ground: Ground::Hidden,
        background: Background::Transparent,
        ..RenderOptions::default()
    }
}

fn draw(bodies: Vec<FrameBody>, options: &RenderOptions) -> Image {
    render(&RenderScene { frame: &frame(bodies), colliders: &[], overlay: &Overlay::None }, options).unwrap()
}

/// The number of covered pixels, counting fractions.
fn covered(image: &Image) -> f64 {
    image.pixels().iter().map(|p| f64::from(p[3]) / 255.0).sum()
}

#[test]
fn a_triangle_facing_the_camera_covers_its_area() {
    let corners = vec![DVec3::new(-1.5, -1.2, 0.0), DVec3::new(1.7, -0.9, 0.0), DVec3::new(-0.2, 1.6, 0.0)];
    let area = 0.5 * (corners[1] - corners[0]).cross(corners[2] - corners[0]).z;
    let image = draw(vec![body(corners, &[[0, 1, 2]])], &cut_out(240, 240));
    let expected = area * 60.0 * 60.0;
    assert!((covered(&image) / expected - 1.0).abs() < 0.01, "{} of {expected} pixels", covered(&image));
}

#[test]
fn a_sphere_is_as_large_as_its_tangent_cone() {
    // Rays that touch a sphere of radius r at distance d have the slope r / sqrt(d² - r²).
    let (distance, radius) = (5.0f64, 1.2f64);
    let slope = radius / (distance * distance - radius * radius).sqrt();
    let pixels = slope * 5.0 * 60.0;
    let image = draw(vec![sphere(DVec3::ZERO, radius, 60)], &cut_out(240, 240));
    let expected = std::f64::consts::PI * pixels * pixels;
    assert!((covered(&image) / expected - 1.0).abs() < 0.01, "{} of {expected}", covered(&image));
    let row: f64 = (0..240).map(|x| f64::from(image.pixel(x, 120)[3]) / 255.0).sum();
    assert!((row - 2.0 * pixels).abs() < 1.0, "{row} of {}", 2.0 * pixels);
}

#[test]
fn what_is_nearer_hides_what_is_further_in_any_order() {
    let near = || quad(DVec3::Z, DVec3::X * 0.5, DVec3::Y * 0.5);
    let far = || quad(DVec3::NEG_Z, DVec3::X * 2.0, DVec3::Y * 2.0);
    // Bodies are coloured by their order: the first is blue, the second is red.
    let redder = |p: [u8; 4]| p[0] > p[2];
    let image = draw(vec![near(), far()], &cut_out(100, 100));
    assert!(!redder(image.pixel(50, 50)) && redder(image.pixel(20, 50)));
    let image = draw(vec![far(), near()], &cut_out(100, 100));
    assert!(redder(image.pixel(50, 50)) && !redder(image.pixel(20, 50)));
}

#[test]
fn bodies_that_cross_are_cut_where_they_meet() {
    // Two sheets intersect in the plane x = 0, seen in the middle of the picture.
    let tilted = |angle: f64| quad(DVec3::ZERO, DQuat::from_rotation_y(angle) * DVec3::X, DVec3::Y);
    let image = draw(vec![tilted(0.5), tilted(-0.5)], &cut_out(200, 200));
    let redder: Vec<bool> = (60..140).map(|x| image.pixel(x, 100)).map(|p| p[0] > p[2]).collect();
    let changes: Vec<usize> = (1..80).filter(|&i| redder[i] != redder[i - 1]).collect();
    assert!(changes.len() == 1 && changes[0].abs_diff(40) <= 1, "{changes:?}");
}

#[test]
fn the_shadow_of_a_square_lands_where_the_light_puts_it() {
    let camera =
        Camera { eye: DVec3::new(0.0, 3.0, 6.0), target: DVec3::ZERO, up: DVec3::Y, fov_degrees: 40.0 };
    let stage = camera::Stage::new(&camera);
    let view = camera::StageView::new(&camera, &stage, 100, 100);
    let (height, half) = (0.8, 0.5);
    let frame = frame(vec![quad(DVec3::Y * height, DVec3::X * half, DVec3::NEG_Z * half)]);
    let drawing = Drawing::new(
        &RenderScene { frame: &frame, colliders: &[], overlay: &Overlay::None },
        &stage,
        ColorBy::Plain,
    );
    let lighting = Lighting::new(&drawing, &view, Some(stage.height(0.0)));
    let key = lighting.key();
    let shift = key * (-stage.height(height) / key.y);
    let half = stage.height(half);
    let lit = |x: f32, z: f32| {
        lighting.key_reaching(Vec3::new(shift.x + x * half, 0.0, shift.z + z * half), Vec3::Y)
    };
    for t in [-0.8, 0.0, 0.8] {
        assert!(lit(t, 0.0) < 1e-6 && lit(0.0, t) < 1e-6, "inside the shadow at {t}");
    }
    for t in [-1.2, 1.2] {
        assert!(lit(t, 0.0) > 1.0 - 1e-6 && lit(0.0, t) > 1.0 - 1e-6, "outside the shadow at {t}");
    }
    // The soft edge is half bright where the hard edge would be.
    for (x, z) in [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)] {
        assert!((lit(x, z) - 0.5).abs() < 0.15, "{} on the edge", lit(x, z));
    }
}

#[test]
fn lit_slopes_cast_no_shadow_on_themselves() {
    let camera =
        Camera { eye: DVec3::new(0.0, 3.0, 6.0), target: DVec3::ZERO, up: DVec3::Y, fov_degrees: 40.0 };
    let stage = camera::Stage::new(&camera);
    let view = camera::StageView::new(&camera, &stage, 100, 100);
    let mut lit = 0;
    for turn in [0, 1, 3, 5, 8] {
        let tilt = DQuat::from_rotation_y(f64::from(turn)) * DQuat::from_rotation_x(0.1 * f64::from(turn));
        let sheet = quad(DVec3::ZERO, tilt * DVec3::X, tilt * DVec3::NEG_Z);
        let frame = frame(vec![sheet]);
        let drawing = Drawing::new(
            &RenderScene { frame: &frame, colliders: &[], overlay: &Overlay::None },
            &stage,
            ColorBy::Plain,
        );
        let lighting = Lighting::new(&drawing, &view, None);
        let normal = (tilt * DVec3::Y).as_vec3();
        if normal.dot(lighting.key()) < 0.2 {
            continue;
        }
        lit += 1;
        for i in 0..400 {
            let (s, t) = (f64::from(i % 20) / 11.0 - 0.86, f64::from(i / 20) / 11.0 - 0.86);
            let place = stage.point(tilt * DVec3::new(s, 0.0, t));
            assert!(lighting.key_reaching(place, normal) > 0.999, "turn {turn} at {s}, {t}");
        }
    }
    assert!(lit >= 3, "only {lit} slopes are lit: the test tests nothing");
}

#[test]
fn open_ground_sees_all_of_the_sky_and_a_wall_half() {
    let options = cut_out(100, 100);
    let CameraChoice::Given(camera) = options.camera else { unreachable!() };
    let stage = camera::Stage::new(&camera);
    let bodies = vec![
        quad(DVec3::ZERO, DVec3::X * 0.2, DVec3::NEG_Z * 0.2),
        quad(DVec3::new(1.6, 0.0, 0.0), DVec3::Z * 0.2, DVec3::NEG_Y * 0.2),
    ];
    let frame = frame(bodies);
    let drawing = Drawing::new(
        &RenderScene { frame: &frame, colliders: &[], overlay: &Overlay::None },
        &stage,
        ColorBy::Plain,
    );
    let sky = ambient::Sky::new(&drawing).on_vertices(&drawing);
    for (vertex, sides) in drawing.vertices.iter().zip(sky) {
        if vertex.normal.y > 0.9 {
            assert!((sides[0] - 1.0).abs() < 0.06 && sides[1] < 0.01, "ground {sides:?}");
        } else {
            assert!((sides[0] - 0.5).abs() < 0.06 && (sides[1] - 0.5).abs() < 0.06, "wall {sides:?}");
        }
    }
}

#[test]
fn bit_identical_for_any_number_of_threads() {
    let bodies = || vec![sphere(DVec3::Y * 0.2, 0.8, 20), quad(DVec3::Y * 1.3, DVec3::X, DVec3::Z * 0.7)];
    let options = RenderOptions { width: 150, height: 110, wireframe: true, ..RenderOptions::default() };
    let with = |threads: usize| {
        let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| draw(bodies(), &options))
    };
    assert!(with(1) == with(3));
}

#[test]
fn millimetres_and_kilometres_look_alike() {
    let options = RenderOptions { width: 120, height: 90, ..cut_out(120, 90) };
    let options = RenderOptions { camera: CameraChoice::Auto, ..options };
    let shapes =
        [1e-3, 1.0, 1e6].map(|scale| covered(&draw(vec![sphere(DVec3::X * scale, scale, 24)], &options)));
    assert!(shapes[0] > 0.3 * 120.0 * 90.0);
    assert!(shapes.iter().all(|s| (s / shapes[0] - 1.0).abs() < 1e-3), "{shapes:?}");
}

#[test]
fn an_empty_frame_is_just_ground() {
    let options = RenderOptions { width: 80, height: 60, ..RenderOptions::default() };
    let image = draw(vec![], &options);
    assert!(image.pixels().iter().all(|p| p[3] == 255 && p[0] > 180), "light and opaque");
}

#[test]
fn positions_that_are_not_finite_are_left_out() {
    let options = cut_out(60, 60);
    for bad in [f32::NAN, f32::NEG_INFINITY, 1e30] {
        let mut broken = sphere(DVec3::ZERO, 1.0, 12);
        broken.positions[100].y = bad;
        let whole = covered(&draw(vec![sphere(DVec3::ZERO, 1.0, 12)], &options));
        let left = covered(&draw(vec![broken.clone()], &options));
        assert!(left > 0.9 * whole, "{left} of {whole} with {bad}");
        let automatic = RenderOptions { width: 60, height: 60, ..RenderOptions::default() };
        draw(vec![broken], &automatic);
    }
    let mut gone = sphere(DVec3::ZERO, 1.0, 8);
    gone.positions.fill(Vec3::NAN);
    assert_eq!(covered(&draw(vec![gone], &options)), 0.0);
}

#[test]
fn a_camera_inside_the_scene_still_draws() {
    let inside = Camera { eye: DVec3::new(0.1, 0.2, 0.3), target: DVec3::X, up: DVec3::Y, fov_degrees: 90.0 };
    let options = RenderOptions { camera: CameraChoice::Given(inside), ..cut_out(64, 48) };
    let image = draw(vec![sphere(DVec3::ZERO, 1.0, 16)], &options);
    assert_eq!(covered(&image), 64.0 * 48.0);
}

#[test]
fn stretched_cloth_is_red_and_cloth_at_rest_is_neutral() {
    let mut cloth = quad(DVec3::ZERO, DVec3::X, DVec3::Y);
    let options = RenderOptions { color: ColorBy::Stretch { limit: Some(1.2) }, ..cut_out(200, 200) };
    let p = draw(vec![cloth.clone()], &options).pixel(100, 100);
    assert!(p[0].abs_diff(p[2]) < 30, "{p:?}");
    for position in &mut cloth.positions {
        position.x *= 1.2;
    }
    let p = draw(vec![cloth], &options).pixel(100, 100);
    assert!(p[0] > 2 * p[2], "{p:?}");
}

#[test]
fn unusable_options_and_meshes_are_refused_by_name() {
    let empty = frame(vec![]);
    let refused = |options: RenderOptions| {
        render(&RenderScene { frame: &empty, colliders: &[], overlay: &Overlay::None }, &options)
            .unwrap_err()
            .to_string()
    };
    assert!(refused(RenderOptions { width: 0, ..Default::default() }).contains("width is 0"));
    assert!(refused(RenderOptions { height: 100_000, ..Default::default() }).contains("100000"));
    assert!(refused(RenderOptions { samples: 17, ..Default::default() }).contains("1 to 16"));
    assert!(
        refused(RenderOptions { ground: Ground::Height(f64::NAN), ..Default::default() }).contains("NaN")
    );
    let scale = ColorBy::Stretch { limit: Some(0.9) };
    assert!(refused(RenderOptions { color: scale, ..Default::default() }).contains("0.9"));

    let mut short = quad(DVec3::ZERO, DVec3::X, DVec3::Y);
    short.positions.pop();
    let short = frame(vec![short]);
    let scene = RenderScene { frame: &short, colliders: &[], overlay: &Overlay::None };
    let error = render(&scene, &RenderOptions::default()).unwrap_err().to_string();
    assert!(error.contains("`body`") && error.contains("frame 3") && error.contains('4'), "{error}");
    let collider =
        ColliderMesh { name: "floor".into(), positions: vec![], triangles: vec![[0, 1, 2]], color: None };
    let scene = RenderScene { frame: &empty, colliders: &[collider], overlay: &Overlay::None };
    let error = render(&scene, &RenderOptions::default()).unwrap_err().to_string();
    assert!(error.contains("`floor`"), "{error}");
}

#[test]
fn a_slice_cuts_bodies_open_exactly_and_shows_its_cells() {
    let ball = frame(vec![sphere(DVec3::ZERO, 1.0, 7)]);
    let corners = [[1.2, -0.2], [1.6, -0.2], [1.6, 0.2], [1.2, 0.2]].map(|[x, y]| DVec3::new(x, y, 0.0));
    let overlay = Overlay::Hierarchy {
        regions: vec![u32::MAX; ball.bodies[0].positions.len()],
        cells: vec![SlicedCell { corners, kind: 1 }],
        slice: Slice { axis: 0, share: 0.5 },
    };
    let scene = RenderScene { frame: &ball, colliders: &[], overlay: &overlay };
    let image = render(&scene, &cut_out(80, 80)).unwrap();
    // 20 pixels are a metre. The left half of the ball is drawn, the right half is not, independent of its triangulation.
    let pixel = |x: f64, y: f64| image.pixels()[(40.0 - 20.0 * y) as usize * 80 + (40.0 + 20.0 * x) as usize];
    for y in [-0.6, 0.0, 0.6] {
        assert_eq!((pixel(-0.1, y)[3], pixel(0.15, y)[3]), (255, 0), "at height {y}");
    }
    let [r, _, b, a] = pixel(1.4, 0.0);
    assert!(a == 255 && r > b + 40, "the second kind is orange, not {:?}", pixel(1.4, 0.0));
}
