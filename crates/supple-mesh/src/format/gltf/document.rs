//! The JSON of a glTF file, as far as meshes, skins and animations need it. All references are checked, so that the lists can
//! be indexed by them; whether nodes form a tree and accessors fit into their buffers is checked by those who follow them.

use std::collections::BTreeMap;

use glam::{DMat4, DQuat, DVec3};
use serde_json::Value;

use super::json::{List, Object};
use crate::skin::{Interpolation, Parts};

/// Strides of buffer views that the specification allows.
const STRIDES: std::ops::RangeInclusive<usize> = 4..=252;

/// A file's lists; entries are referred to by their numbers.
pub(super) struct Document {
    pub extensions_required: Vec<String>,
    /// The default scene.
    pub scene: Option<usize>,
    /// The root nodes of each scene.
    pub scenes: Vec<Vec<usize>>,
    pub nodes: Vec<Node>,
    pub meshes: Vec<Mesh>,
    /// Their names.
    pub materials: Vec<Option<String>>,
    pub skins: Vec<Skin>,
    pub animations: Vec<Animation>,
    pub accessors: Vec<Accessor>,
    pub views: Vec<View>,
    pub buffers: Vec<Buffer>,
}

pub(super) struct Node {
    pub name: Option<String>,
    pub mesh: Option<usize>,
    pub skin: Option<usize>,
    pub children: Vec<usize>,
    pub transform: Transform,
}

/// How a node stands in its parent.
pub(super) enum Transform {
    Matrix([f32; 16]),
    Parts { translation: [f32; 3], rotation: [f32; 4], scale: [f32; 3] },
}

pub(super) struct Mesh {
    pub name: Option<String>,
    pub primitives: Vec<Primitive>,
}

pub(super) struct Primitive {
    /// Accessors by the names of their attributes.
    attributes: BTreeMap<String, usize>,
    pub indices: Option<usize>,
    pub material: Option<usize>,
    pub mode: Mode,
}

/// How the vertices of a primitive make triangles, if they do.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mode {
    PointsOrLines,
    Triangles,
    TriangleStrip,
    TriangleFan,
}

pub(super) struct Skin {
    pub joints: Vec<usize>,
    pub inverse_bind_matrices: Option<usize>,
}

pub(super) struct Animation {
    pub name: Option<String>,
    pub channels: Vec<Channel>,
}

pub(super) struct Channel {
    /// The node that moves; channels of extensions move something else.
    pub node: Option<usize>,
    pub property: Property,
    /// The accessor of the times.
    pub input: usize,
    /// The accessor of the values.
    pub output: usize,
    pub interpolation: Interpolation,
}

/// What a channel changes.
#[derive(Clone, Copy)]
pub(super) enum Property {
    Translation,
    Rotation,
    Scale,
    /// Weights of morph targets, or what an extension adds.
    Other,
}

pub(super) struct Accessor {
    pub index: usize,
    pub view: Option<usize>,
    pub offset: usize,
    pub count: usize,
    pub component: Component,
    pub shape: Shape,
    pub normalized: bool,
    pub sparse: Option<Sparse>,
}

/// Values that replace some of an accessor's.
pub(super) struct Sparse {
    pub count: usize,
    /// View and offset of the numbers of what is replaced.
    pub indices: (usize, usize),
    pub index_component: Component,
    /// View and offset of what replaces it.
    pub values: (usize, usize),
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

/// How components make up a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    Scalar,
    Vec2,
    Vec3,
    Vec4,
    Mat2,
    Mat3,
    Mat4,
}

pub(super) struct View {
    pub buffer: usize,
    pub offset: usize,
    pub length: usize,
    pub stride: Option<usize>,
}

pub(super) struct Buffer {
    pub uri: Option<String>,
    pub length: usize,
}

impl Document {
    pub(super) fn new(json: &Value) -> Result<Self, String> {
        let root = Object::document(json)?;
        check_version(&root)?;
        let lists = Lists::new(&root)?;
        Ok(Self {
            extensions_required: root.texts("extensionsRequired")?,
            scene: root.reference("scene", lists.scenes)?,
            scenes: each(&root, "scenes", |_, scene| scene.references("nodes", lists.nodes))?,
            nodes: each(&root, "nodes", |_, node| Node::new(node, &lists))?,
            meshes: each(&root, "meshes", |_, mesh| Mesh::new(mesh, &lists))?,
            materials: each(&root, "materials", |_, material| name(material))?,
            skins: each(&root, "skins", |_, skin| Skin::new(skin, &lists))?,
            animations: each(&root, "animations", |_, animation| Animation::new(animation, &lists))?,
            accessors: each(&root, "accessors", |index, accessor| Accessor::new(index, accessor, &lists))?,
            views: each(&root, "bufferViews", |_, view| View::new(view, &lists))?,
            buffers: each(&root, "buffers", |_, buffer| Buffer::new(buffer))?,
        })
    }
}

/// Files of version 1 have other lists altogether.
fn check_version(root: &Object<'_>) -> Result<(), String> {
    let asset = root.require("asset", root.object("asset")?)?;
    let version = asset.require("version", asset.text("version")?)?;
    if version.split('.').next() == Some("2") {
        return Ok(());
    }
    let shown = version.escape_debug();
    Err(asset.error("version", &format!("is `{shown}`; only version 2 can be read; re-export the file")))
}

/// What there is to refer to.
struct Lists {
    scenes: List,
    nodes: List,
    meshes: List,
    materials: List,
    skins: List,
    accessors: List,
    views: List,
    buffers: List,
}

impl Lists {
    fn new(root: &Object<'_>) -> Result<Self, String> {
        Ok(Self {
            scenes: root.list("scenes", "scene")?,
            nodes: root.list("nodes", "node")?,
            meshes: root.list("meshes", "mesh")?,
            materials: root.list("materials", "material")?,
            skins: root.list("skins", "skin")?,
            accessors: root.list("accessors", "accessor")?,
            views: root.list("bufferViews", "buffer view")?,
            buffers: root.list("buffers", "buffer")?,
        })
    }
}

/// Reads each object of a list.
fn each<T>(
    parent: &Object<'_>,
    key: &str,
    read: impl Fn(usize, &Object<'_>) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    parent.objects(key)?.iter().enumerate().map(|(index, entry)| read(index, entry)).collect()
}

fn name(object: &Object<'_>) -> Result<Option<String>, String> {
    Ok(object.text("name")?.map(str::to_owned))
}

fn required(object: &Object<'_>, key: &str, list: List) -> Result<usize, String> {
    object.require(key, object.reference(key, list)?)
}

impl Node {
    fn new(node: &Object<'_>, lists: &Lists) -> Result<Self, String> {
        let transform = match node.floats("matrix")? {
            Some(matrix) => Transform::Matrix(matrix),
            None => Transform::Parts {
                translation: node.floats("translation")?.unwrap_or([0.0; 3]),
                rotation: node.floats("rotation")?.unwrap_or([0.0, 0.0, 0.0, 1.0]),
                scale: node.floats("scale")?.unwrap_or([1.0; 3]),
            },
        };
        Ok(Self {
            name: name(node)?,
            mesh: node.reference("mesh", lists.meshes)?,
            skin: node.reference("skin", lists.skins)?,
            children: node.references("children", lists.nodes)?,
            transform,
        })
    }

    /// The node's transform relative to its parent, as a matrix.
    pub(super) fn matrix(&self) -> DMat4 {
        match self.transform {
            Transform::Matrix(matrix) => DMat4::from_cols_array(&matrix.map(f64::from)),
            Transform::Parts { translation, rotation, scale } => {
                let rotation = DQuat::from_array(rotation.map(f64::from));
                let length = rotation.length();
                let rotation = if length > 0.0 { rotation / length } else { DQuat::IDENTITY };
                let [scale, translation] = [scale, translation].map(|part| DVec3::from(part.map(f64::from)));
                DMat4::from_scale_rotation_translation(scale, rotation, translation)
            }
        }
    }

    /// The same as a scale, a rotation and a translation; a matrix may contain more than these.
    pub(super) fn parts(&self) -> Parts {
        let mut parts = match self.transform {
            Transform::Matrix(_) => Parts::of(&self.matrix()),
            Transform::Parts { translation, rotation, scale } => {
                let rotation = DQuat::from_array(rotation.map(f64::from)).normalize();
                let [scale, translation] = [scale, translation].map(|part| DVec3::from(part.map(f64::from)));
                Parts { translation, rotation, scale }
            }
        };
        if !parts.rotation.is_finite() {
            parts.rotation = DQuat::IDENTITY;
        }
        parts
    }
}

impl Mesh {
    fn new(mesh: &Object<'_>, lists: &Lists) -> Result<Self, String> {
        let primitives = each(mesh, "primitives", |_, primitive| Primitive::new(primitive, lists))?;
        Ok(Self { name: name(mesh)?, primitives })
    }
}

impl Primitive {
    fn new(primitive: &Object<'_>, lists: &Lists) -> Result<Self, String> {
        let held = primitive.require("attributes", primitive.object("attributes")?)?;
        let mut attributes = BTreeMap::new();
        for key in held.keys() {
            attributes.insert(key.to_owned(), required(&held, key, lists.accessors)?);
        }
        let mode = match primitive.number("mode")? {
            Some(0..=3) => Mode::PointsOrLines,
            Some(4) | None => Mode::Triangles,
            Some(5) => Mode::TriangleStrip,
            Some(6) => Mode::TriangleFan,
            Some(mode) => return Err(primitive.error("mode", &format!("is {mode}; it must be 0 to 6"))),
        };
        Ok(Self {
            attributes,
            indices: primitive.reference("indices", lists.accessors)?,
            material: primitive.reference("material", lists.materials)?,
            mode,
        })
    }

    /// The accessor of an attribute, such as `POSITION`.
    pub(super) fn attribute(&self, name: &str) -> Option<usize> {
        self.attributes.get(name).copied()
    }
}

impl Skin {
    fn new(skin: &Object<'_>, lists: &Lists) -> Result<Self, String> {
        let inverse_bind_matrices = skin.reference("inverseBindMatrices", lists.accessors)?;
        Ok(Self { joints: skin.references("joints", lists.nodes)?, inverse_bind_matrices })
    }
}

impl Animation {
    fn new(animation: &Object<'_>, lists: &Lists) -> Result<Self, String> {
        let samplers = animation.objects("samplers")?;
        let channels = each(animation, "channels", |_, channel| Channel::new(channel, &samplers, lists))?;
        Ok(Self { name: name(animation)?, channels })
    }
}

impl Channel {
    fn new(channel: &Object<'_>, samplers: &[Object<'_>], lists: &Lists) -> Result<Self, String> {
        let list = List { entry: "sampler", count: samplers.len() };
        let sampler = &samplers[required(channel, "sampler", list)?];
        let target = channel.require("target", channel.object("target")?)?;
        let property = match target.require("path", target.text("path")?)? {
            "translation" => Property::Translation,
            "rotation" => Property::Rotation,
            "scale" => Property::Scale,
            _ => Property::Other,
        };
        let interpolation = match sampler.text("interpolation")? {
            Some("LINEAR") | None => Interpolation::Linear,
            Some("STEP") => Interpolation::Step,
            Some("CUBICSPLINE") => Interpolation::CubicSpline,
            Some(_) => return Err(sampler.error("interpolation", "must be LINEAR, STEP or CUBICSPLINE")),
        };
        Ok(Self {
            node: target.reference("node", lists.nodes)?,
            property,
            input: required(sampler, "input", lists.accessors)?,
            output: required(sampler, "output", lists.accessors)?,
            interpolation,
        })
    }
}

impl Accessor {
    fn new(index: usize, accessor: &Object<'_>, lists: &Lists) -> Result<Self, String> {
        let view = accessor.reference("bufferView", lists.views)?;
        let sparse = accessor.object("sparse")?.map(|sparse| Sparse::new(&sparse, lists)).transpose()?;
        if sparse.is_none() {
            accessor.require("bufferView", view)?;
        }
        Ok(Self {
            index,
            view,
            offset: accessor.number("byteOffset")?.unwrap_or(0),
            count: accessor.require("count", accessor.number("count")?)?,
            component: Component::new(accessor)?,
            shape: Shape::new(accessor)?,
            normalized: accessor.flag("normalized")?,
            sparse,
        })
    }
}

impl Sparse {
    fn new(sparse: &Object<'_>, lists: &Lists) -> Result<Self, String> {
        let indices = sparse.require("indices", sparse.object("indices")?)?;
        let values = sparse.require("values", sparse.object("values")?)?;
        let place = |part: &Object<'_>| {
            Ok::<_, String>((
                required(part, "bufferView", lists.views)?,
                part.number("byteOffset")?.unwrap_or(0),
            ))
        };
        let index_component = Component::new(&indices)?;
        if !index_component.is_index() {
            return Err(indices.error("componentType", "must be 5121, 5123 or 5125: unsigned integers"));
        }
        Ok(Self {
            count: sparse.require("count", sparse.number("count")?)?,
            indices: place(&indices)?,
            index_component,
            values: place(&values)?,
        })
    }
}

impl Component {
    fn new(object: &Object<'_>) -> Result<Self, String> {
        let number = object.require("componentType", object.number("componentType")?)?;
        Ok(match number {
            5120 => Self::I8,
            5121 => Self::U8,
            5122 => Self::I16,
            5123 => Self::U16,
            5125 => Self::U32,
            5126 => Self::F32,
            _ => {
                let problem = format!("is {number}; component types are 5120 to 5123, 5125 and 5126");
                return Err(object.error("componentType", &problem));
            }
        })
    }

    /// Its bytes.
    pub(super) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }

    /// Whether it can number things.
    pub(super) fn is_index(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32)
    }
}

impl Shape {
    fn new(accessor: &Object<'_>) -> Result<Self, String> {
        Ok(match accessor.require("type", accessor.text("type")?)? {
            "SCALAR" => Self::Scalar,
            "VEC2" => Self::Vec2,
            "VEC3" => Self::Vec3,
            "VEC4" => Self::Vec4,
            "MAT2" => Self::Mat2,
            "MAT3" => Self::Mat3,
            "MAT4" => Self::Mat4,
            _ => return Err(accessor.error("type", "must be SCALAR, VEC2, VEC3, VEC4, MAT2, MAT3 or MAT4")),
        })
    }

    /// The number of components.
    pub(super) fn components(self) -> usize {
        match self {
            Self::Scalar => 1,
            Self::Vec2 => 2,
            Self::Vec3 => 3,
            Self::Vec4 | Self::Mat2 => 4,
            Self::Mat3 => 9,
            Self::Mat4 => 16,
        }
    }
}

impl View {
    fn new(view: &Object<'_>, lists: &Lists) -> Result<Self, String> {
        let stride = view.number("byteStride")?;
        if let Some(stride) = stride.filter(|stride| !STRIDES.contains(stride)) {
            let (least, most) = STRIDES.into_inner();
            return Err(view.error("byteStride", &format!("is {stride}; it must be {least} to {most} bytes")));
        }
        Ok(Self {
            buffer: required(view, "buffer", lists.buffers)?,
            offset: view.number("byteOffset")?.unwrap_or(0),
            length: view.require("byteLength", view.number("byteLength")?)?,
            stride,
        })
    }
}

impl Buffer {
    fn new(buffer: &Object<'_>) -> Result<Self, String> {
        let length = buffer.require("byteLength", buffer.number("byteLength")?)?;
        Ok(Self { uri: buffer.text("uri")?.map(str::to_owned), length })
    }
}
