//! The `[[pin]]` table and its `follows` as they are written.
//!
//! A pin is hard unless `stiffness` (N/m) makes it soft; `hold = "hard"` states the former explicitly. `follows` contains
//! exactly one of `keyframes` (with an optional `pivot`), `mesh-sequence`, `gltf-skin` (with an optional `animation`) and
//! `collider`; `mesh-sequence` and `gltf-skin` may have a `blend_in` and a `loop`.

use std::path::PathBuf;

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::scene::{Follow, Keyframe, Motion, Pin, PinStrength, Selection};
use supple_core::text::suggest::list;

/// The only value of `hold`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PinStrengthName {
    Hard,
}

/// Every key of `[[pin]]`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PinTable {
    body: String,
    selection: Selection,
    hold: Option<PinStrengthName>,
    stiffness: Option<f64>,
    follows: Option<Follow>,
    during: Option<[f64; 2]>,
}

impl TryFrom<PinTable> for Pin {
    type Error = &'static str;

    fn try_from(table: PinTable) -> Result<Self, &'static str> {
        let hold = match (table.hold, table.stiffness) {
            (Some(PinStrengthName::Hard), Some(_)) => {
                return Err("has both `hold = \"hard\"` and `stiffness`: leave one of them out");
            }
            (_, Some(stiffness)) => PinStrength::Stiffness(stiffness),
            (_, None) => PinStrength::Hard,
        };
        let PinTable { body, selection, follows, during, .. } = table;
        Ok(Self { body, selection, hold, follows, during })
    }
}

impl From<Pin> for PinTable {
    fn from(pin: Pin) -> Self {
        let (hold, stiffness) = match pin.hold {
            PinStrength::Hard => (Some(PinStrengthName::Hard), None),
            PinStrength::Stiffness(stiffness) => (None, Some(stiffness)),
        };
        let Pin { body, selection, follows, during, .. } = pin;
        Self { body, selection, hold, stiffness, follows, during }
    }
}

const FOLLOWS: [&str; 4] = ["keyframes", "mesh-sequence", "gltf-skin", "collider"];

/// Every key of `follows`.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct FollowTable {
    keyframes: Option<Vec<Keyframe>>,
    pivot: Option<DVec3>,
    mesh_sequence: Option<PathBuf>,
    gltf_skin: Option<PathBuf>,
    animation: Option<String>,
    #[serde(rename = "blend_in")]
    blend_in: Option<f64>,
    r#loop: Option<bool>,
    collider: Option<String>,
}

impl FollowTable {
    /// A key next to one that it does not belong to.
    fn stray(&self) -> Option<&'static str> {
        let wrong = [
            (self.pivot.is_some() && self.keyframes.is_none(), "has a `pivot`, which belongs to `keyframes`"),
            (
                self.animation.is_some() && self.gltf_skin.is_none(),
                "has an `animation`, which belongs to `gltf-skin`",
            ),
            (
                self.blend_in.is_some() && self.gltf_skin.is_none() && self.mesh_sequence.is_none(),
                "has a `blend_in`, which belongs to `gltf-skin` or `mesh-sequence`",
            ),
            (
                self.r#loop.is_some() && self.gltf_skin.is_none() && self.mesh_sequence.is_none(),
                "has a `loop`, which belongs to `gltf-skin` or `mesh-sequence`",
            ),
        ];
        wrong.into_iter().find(|(is_wrong, _)| *is_wrong).map(|(_, problem)| problem)
    }
}

impl TryFrom<FollowTable> for Follow {
    type Error = String;

    fn try_from(table: FollowTable) -> Result<Self, String> {
        let stray = table.stray();
        let FollowTable { keyframes, pivot, mesh_sequence, gltf_skin, animation, blend_in, .. } = table;
        let (repeats, collider) = (table.r#loop.unwrap_or_default(), table.collider);
        let given = [
            keyframes
                .map(|keyframes| Self::Keyframes(Motion { pivot: pivot.unwrap_or_default(), keyframes })),
            mesh_sequence.map(|files| Self::MeshSequence { files, blend_in, repeats }),
            gltf_skin.map(|file| Self::GltfSkin { file, animation, blend_in, repeats }),
            collider.map(Self::Collider),
        ];
        let mut given = given.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(follow), None) => stray.map_or(Ok(follow), |problem| Err(problem.to_owned())),
            _ => Err(format!("must have exactly one of the keys {}", list(FOLLOWS))),
        }
    }
}

impl From<Follow> for FollowTable {
    fn from(follow: Follow) -> Self {
        let mut table = Self::default();
        match follow {
            Follow::Keyframes(motion) => {
                table.keyframes = Some(motion.keyframes);
                table.pivot = Some(motion.pivot);
            }
            Follow::MeshSequence { files, blend_in, repeats } => {
                (table.mesh_sequence, table.blend_in) = (Some(files), blend_in);
                table.r#loop = repeats.then_some(true);
            }
            Follow::GltfSkin { file, animation, blend_in, repeats } => {
                (table.gltf_skin, table.animation, table.blend_in) = (Some(file), animation, blend_in);
                table.r#loop = repeats.then_some(true);
            }
            Follow::Collider(name) => table.collider = Some(name),
        }
        table
    }
}
