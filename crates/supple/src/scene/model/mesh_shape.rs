//! The mesh of a collider: a file, what places it, and what moves its vertices.

use std::path::{Path, PathBuf};

use glam::DMat3;

use crate::scene::Axis;

/// A mesh of a file, of a sequence of files or of a finished run.
///
/// ```
/// use supple::{Collider, scene::MeshShape};
/// let man = MeshShape::new("man.glb").scaled(0.01).following_animation("Walk").repeated();
/// let man = Collider::mesh("man", man).at([0.0, 0.1, 0.0]);
/// # assert_eq!(man.transform.translate.y, 0.1);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MeshShape {
    /// A mesh file, a folder of mesh files, a pattern such as `name_####.obj`, or the folder of a finished run; relative to the scene.
    pub file: PathBuf,
    /// One object of the file, by the name of an object or group, or of a glTF node or mesh [default: all of them].
    pub object: Option<String>,
    /// Metres per unit of the file.
    pub scale: f64,
    /// The file's up axis.
    pub up: Axis,
    /// Whether it follows the skeleton of its glTF file.
    pub skin: bool,
    /// The name of the animation that the skeleton plays [default: the first].
    pub animation: Option<String>,
    /// Seconds over which the skeleton blends from the modelled pose into the animation [default: half a second, or none if the
    /// animation starts as modelled].
    pub blend_in: Option<f64>,
    /// A point cache (`.pc2`, `.mdd`) that has its vertices over time.
    pub cache: Option<PathBuf>,
    /// Whether its animation, sequence, cache or run repeats.
    pub repeats: bool,
}

impl MeshShape {
    /// A mesh in metres with y up.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            object: None,
            scale: 1.0,
            up: Axis::Y,
            skin: false,
            animation: None,
            blend_in: None,
            cache: None,
            repeats: false,
        }
    }

    /// Metres per unit of the file.
    pub fn scaled(mut self, scale: f64) -> Self {
        self.scale = scale;
        self
    }

    /// From a file with z up.
    pub fn z_up(mut self) -> Self {
        self.up = Axis::Z;
        self
    }

    /// One object of the file.
    pub fn object(mut self, name: impl Into<String>) -> Self {
        self.object = Some(name.into());
        self
    }

    /// Follows the skeleton of its glTF file through the first animation.
    pub fn following_skin(mut self) -> Self {
        self.skin = true;
        self
    }

    /// Follows the skeleton of its glTF file through the animation of a name.
    pub fn following_animation(mut self, name: impl Into<String>) -> Self {
        (self.skin, self.animation) = (true, Some(name.into()));
        self
    }

    /// Has the vertices of a point cache over time.
    pub fn cached(mut self, file: impl Into<PathBuf>) -> Self {
        self.cache = Some(file.into());
        self
    }

    /// Repeats what moves its vertices.
    pub fn repeated(mut self) -> Self {
        self.repeats = true;
        self
    }

    /// The matrix that maps points of the file to metres with y up.
    pub fn to_metres(&self) -> DMat3 {
        self.up.matrix() * self.scale
    }

    /// Whether the file name is that of a sequence of files or of a run.
    pub fn is_sequence(&self) -> bool {
        let is_pattern = self.file.file_name().is_some_and(|name| name.to_string_lossy().contains('#'));
        self.file.is_dir() || is_pattern
    }

    /// Whether its vertices move.
    pub fn deforms(&self) -> bool {
        self.skin || self.cache.is_some() || self.is_sequence()
    }
}

impl From<PathBuf> for MeshShape {
    fn from(file: PathBuf) -> Self {
        Self::new(file)
    }
}

impl From<&Path> for MeshShape {
    fn from(file: &Path) -> Self {
        Self::new(file)
    }
}

impl From<&PathBuf> for MeshShape {
    fn from(file: &PathBuf) -> Self {
        Self::new(file)
    }
}

impl From<&str> for MeshShape {
    fn from(file: &str) -> Self {
        Self::new(file)
    }
}

impl From<String> for MeshShape {
    fn from(file: String) -> Self {
        Self::new(file)
    }
}
