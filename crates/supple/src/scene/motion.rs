//! Motions by keyframes: translate, rotate and scale in time.

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// A pose at a time. What a keyframe leaves out is interpolated from its neighbours that say it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Keyframe {
    /// Time in seconds.
    pub time: f64,
    /// Translation in metres.
    pub translate: Option<DVec3>,
    /// Rotation vector about the motion's pivot: axis times angle in degrees; more than one turn is allowed.
    pub rotate: Option<DVec3>,
    /// Uniform scale about the pivot.
    pub scale: Option<f64>,
}

/// A motion: keyframes with linear interpolation between them, held before the first and after the last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Motion {
    /// Centre of rotation and scale in metres.
    pub pivot: DVec3,
    /// The keyframes, by rising time.
    pub keyframes: Vec<Keyframe>,
}

/// A placement at one time: `x -> pivot + translate + rotate(scale * (x - pivot))`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// Centre of rotation and scale in metres.
    pub pivot: DVec3,
    /// Translation in metres.
    pub translate: DVec3,
    /// Rotation vector in radians.
    pub rotate: DVec3,
    /// Uniform scale.
    pub scale: f64,
}
