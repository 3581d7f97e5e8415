//! Bodies of generated shapes, every size by its name.

use glam::DVec3;

use crate::material::MaterialSpec;
use crate::scene::{Body, Cuboid, ShapeSource};
use supple_mesh::generate::{ClothGrid, CylinderShape, GridPattern, SphereShape, TorusShape};

/// A [`Body`] of a generated shape whose sizes are still being set. The sizes come first: whatever else is set makes
/// it a [`Body`], as `into()` does.
///
/// ```
/// use supple::{Body, Scene};
/// let scene = Scene::builder()
///     .body(Body::cuboid("shelf").size([1.0, 0.1, 0.4]).solid(0.05))
///     .body(Body::sphere("ball").radius(0.2).cells(6).at([0.0, 1.0, 0.0]))
///     .build()?;
/// assert_eq!(scene.bodies[1].transform.translate.y, 1.0);
/// # Ok::<(), supple::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ShapedBody<S> {
    name: String,
    shape: S,
}

impl Body {
    /// A flat cloth in the x-z plane, centred at the origin: 1 m by 1 m with 51 by 51 vertices, unless set
    /// otherwise.
    ///
    /// ```
    /// use supple::Body;
    /// let tablecloth = Body::cloth("tablecloth").size([2.0, 1.2]).vertices([81, 49]).material("linen");
    /// assert_eq!(tablecloth.name, "tablecloth");
    /// ```
    pub fn cloth(name: impl Into<String>) -> ShapedBody<ClothGrid> {
        let grid = ClothGrid { size: [1.0; 2], vertices: [51; 2], pattern: GridPattern::default(), seed: 0 };
        ShapedBody { name: name.into(), shape: grid }
    }

    /// An axis-aligned box of side length 1 m centred at the origin, unless set otherwise. A solid has the size of
    /// its cells from [`ShapedBody::solid`], cloth their number from `cells`.
    pub fn cuboid(name: impl Into<String>) -> ShapedBody<Cuboid> {
        ShapedBody { name: name.into(), shape: Cuboid { size: [1.0; 3], cells: None } }
    }

    /// A sphere of radius 0.5 m around the origin, a subdivided icosahedron of 8 cells along each edge, unless set
    /// otherwise.
    pub fn sphere(name: impl Into<String>) -> ShapedBody<SphereShape> {
        ShapedBody { name: name.into(), shape: SphereShape { radius: 0.5, cells: 8 } }
    }

    /// A closed cylinder of radius 0.5 m and height 1 m around the y axis, of 24 segments and 8 rings, unless set
    /// otherwise.
    pub fn cylinder(name: impl Into<String>) -> ShapedBody<CylinderShape> {
        let shape = CylinderShape { radius: 0.5, height: 1.0, segments: 24, rings: 8, closed: true };
        ShapedBody { name: name.into(), shape }
    }

    /// A torus around the y axis of radii 0.5 m and 0.15 m, of 32 segments and 12 rings, unless set otherwise.
    pub fn torus(name: impl Into<String>) -> ShapedBody<TorusShape> {
        let shape = TorusShape { major_radius: 0.5, minor_radius: 0.15, segments: 32, rings: 12 };
        ShapedBody { name: name.into(), shape }
    }
}

impl ShapedBody<ClothGrid> {
    /// Metres along x and z.
    pub fn size(mut self, size: [f64; 2]) -> Self {
        self.shape.size = size;
        self
    }

    /// Vertices along x and z, 2 or more each.
    pub fn vertices(mut self, vertices: [u32; 2]) -> Self {
        self.shape.vertices = vertices;
        self
    }

    /// How the quadrilaterals are split into triangles.
    pub fn pattern(mut self, pattern: GridPattern) -> Self {
        self.shape.pattern = pattern;
        self
    }

    /// Seed of the irregular pattern.
    pub fn seed(mut self, seed: u64) -> Self {
        self.shape.seed = seed;
        self
    }
}

impl ShapedBody<Cuboid> {
    /// Metres along x, y and z.
    pub fn size(mut self, size: [f64; 3]) -> Self {
        self.shape.size = size;
        self
    }

    /// Cells along each side of a box of cloth.
    pub fn cells(mut self, cells: [u32; 3]) -> Self {
        self.shape.cells = Some(cells);
        self
    }
}

impl ShapedBody<SphereShape> {
    /// Metres.
    pub fn radius(mut self, radius: f64) -> Self {
        self.shape.radius = radius;
        self
    }

    /// Cells along each edge of the icosahedron.
    pub fn cells(mut self, cells: u32) -> Self {
        self.shape.cells = cells;
        self
    }
}

impl ShapedBody<CylinderShape> {
    /// Metres.
    pub fn radius(mut self, radius: f64) -> Self {
        self.shape.radius = radius;
        self
    }

    /// Metres along y.
    pub fn height(mut self, height: f64) -> Self {
        self.shape.height = height;
        self
    }

    /// Segments around the axis, 3 or more.
    pub fn segments(mut self, segments: u32) -> Self {
        self.shape.segments = segments;
        self
    }

    /// Rings along the axis.
    pub fn rings(mut self, rings: u32) -> Self {
        self.shape.rings = rings;
        self
    }

    /// A tube of cloth, without the two discs.
    pub fn open(mut self) -> Self {
        self.shape.closed = false;
        self
    }
}

impl ShapedBody<TorusShape> {
    /// Metres from the axis to the middle of the tube.
    pub fn major_radius(mut self, radius: f64) -> Self {
        self.shape.major_radius = radius;
        self
    }

    /// Radius of the tube in metres.
    pub fn minor_radius(mut self, radius: f64) -> Self {
        self.shape.minor_radius = radius;
        self
    }

    /// Segments around the axis, 3 or more.
    pub fn segments(mut self, segments: u32) -> Self {
        self.shape.segments = segments;
        self
    }

    /// Rings around the tube, 3 or more.
    pub fn rings(mut self, rings: u32) -> Self {
        self.shape.rings = rings;
        self
    }
}

impl<S: Into<ShapeSource>> ShapedBody<S> {
    /// As [`Body::at`].
    pub fn at(self, translate: impl Into<DVec3>) -> Body {
        Body::from(self).at(translate)
    }

    /// As [`Body::rotated`].
    pub fn rotated(self, degrees: impl Into<DVec3>) -> Body {
        Body::from(self).rotated(degrees)
    }

    /// As [`Body::moving`].
    pub fn moving(self, velocity: impl Into<DVec3>) -> Body {
        Body::from(self).moving(velocity)
    }

    /// As [`Body::material`].
    pub fn material(self, material: impl Into<MaterialSpec>) -> Body {
        Body::from(self).material(material)
    }

    /// As [`Body::tuned`].
    pub fn tuned(self, change: impl FnOnce(&mut MaterialSpec)) -> Body {
        Body::from(self).tuned(change)
    }

    /// As [`Body::solid`].
    pub fn solid(self, cell: f64) -> Body {
        Body::from(self).solid(cell)
    }
}

impl<S: Into<ShapeSource>> From<ShapedBody<S>> for Body {
    fn from(shaped: ShapedBody<S>) -> Self {
        Self::new(shaped.name, shaped.shape.into())
    }
}

macro_rules! shape_source_from {
    ($($shape:ident => $source:ident),*) => {$(
        impl From<$shape> for ShapeSource {
            fn from(shape: $shape) -> Self {
                Self::$source(shape)
            }
        }
    )*};
}
shape_source_from!(ClothGrid => Grid, Cuboid => Box, SphereShape => Sphere, CylinderShape => Cylinder, TorusShape => Torus);
