//! What the page and the program say to each other.
//!
//! The page sends small JSON texts, [`Request`]. The program answers with JSON texts (`state`, `error`, `note`, `scene`) and
//! with binary messages: a kind, the length of a JSON header, the header padded with spaces to a multiple of four bytes,
//! and the numbers that the header announces, single precision and 32-bit whole numbers, little-endian.

use axum::body::Bytes;
use axum::extract::ws::Message;
use glam::{DVec3, Vec3};
use serde::{Deserialize, Serialize};
use serde_json::json;
use supple::simulation::Slice;

/// No message of the page is longer.
pub(super) const LONGEST_REQUEST: usize = 16 << 10;

/// What the page asks for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Request {
    /// The last frame is on the screen: the next one may come.
    Drawn {},
    /// Take hold of what a ray meets first.
    Grab { origin: DVec3, direction: DVec3 },
    /// Pull it there.
    Drag { target: DVec3 },
    /// Let go.
    Release {},
    /// Hold the vertex nearest to where a ray meets a body, or let it go if it is held.
    Pin { origin: DVec3, direction: DVec3 },
    /// Let the held point go that is nearest to a place.
    Unpin { at: DVec3 },
    /// Stop the clock.
    Pause {},
    /// Start it.
    Play {},
    /// Take one step, or show one frame more.
    Step {},
    /// Begin again.
    Reset {},
    /// So many times as fast as the world; `null` as fast as possible.
    Speed {
        // Without this a message that forgets the factor would read as `null`.
        #[serde(deserialize_with = "Option::deserialize")]
        factor: Option<f64>,
    },
    /// Change the scene as `--set` would.
    Set { path: String, value: String },
    /// The scene as it is now, as TOML.
    Save {},
    /// The solver's hierarchy, with cells where this slice goes.
    Hierarchy { slice: Slice },
    /// The stress of every vertex.
    Stress {},
    /// Show the frame at this place of the run.
    Seek { place: usize },
}

impl Request {
    /// Reads a message; the error says what is wrong with it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("not a message of this page: {error}"))
    }

    /// Whether a later one of the same kind makes this one needless.
    pub(super) fn is_replaced_by(&self, later: &Self) -> bool {
        matches!(
            (self, later),
            (Self::Drag { .. }, Self::Drag { .. })
                | (Self::Seek { .. }, Self::Seek { .. })
                | (Self::Hierarchy { .. }, Self::Hierarchy { .. })
                | (Self::Stress {}, Self::Stress {})
        )
    }
}

/// An error as the page shows it.
pub(super) fn error(problem: &str) -> Message {
    Message::text(json!({ "type": "error", "problem": problem }).to_string())
}

/// Something worth knowing.
pub(super) fn note(text: &str) -> Message {
    Message::text(json!({ "type": "note", "text": text }).to_string())
}

/// The kinds of binary messages.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Topology = 1,
    Frame = 2,
    Hierarchy = 3,
    Stress = 4,
}

/// A binary message being written.
pub(super) struct Binary(Vec<u8>);

impl Binary {
    /// Begins with a header; `numbers` is how many four-byte numbers will follow.
    pub(super) fn new(kind: Kind, header: &impl Serialize, numbers: usize) -> Self {
        let mut text = serde_json::to_vec(header).expect("headers are plain data");
        text.resize(text.len().next_multiple_of(4), b' ');
        let mut bytes = Vec::with_capacity(8 + text.len() + 4 * numbers);
        bytes.extend((kind as u32).to_le_bytes());
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text);
        Self(bytes)
    }

    pub(super) fn points(&mut self, points: impl IntoIterator<Item = Vec3>) {
        for point in points {
            point.to_array().into_iter().for_each(|c| self.0.extend_from_slice(&c.to_le_bytes()));
        }
    }

    pub(super) fn numbers(&mut self, numbers: impl IntoIterator<Item = f32>) {
        numbers.into_iter().for_each(|number| self.0.extend_from_slice(&number.to_le_bytes()));
    }

    pub(super) fn words(&mut self, words: impl IntoIterator<Item = u32>) {
        words.into_iter().for_each(|word| self.0.extend_from_slice(&word.to_le_bytes()));
    }

    pub(super) fn finish(self) -> Bytes {
        self.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_and_all_else_is_refused_with_a_reason() {
        let grab = r#"{"type":"grab","origin":[0,1,2],"direction":[0,0,-1]}"#;
        let origin = DVec3::new(0.0, 1.0, 2.0);
        assert_eq!(Request::read(grab), Ok(Request::Grab { origin, direction: -DVec3::Z }));
        assert_eq!(Request::read(r#"{"type":"speed","factor":null}"#), Ok(Request::Speed { factor: None }));
        for bad in [
            "",
            "{",
            "[]",
            "null",
            "{}",
            r#"{"type":"format-disk"}"#,
            r#"{"type":"drag"}"#,
            r#"{"type":"drag","target":[1,2]}"#,
            r#"{"type":"drag","target":[1,2,1e999]}"#,
            r#"{"type":"drag","target":["a","b","c"]}"#,
            r#"{"type":"pause","why":"tea"}"#,
            r#"{"type":"seek","place":-1}"#,
            r#"{"type":"speed"}"#,
            r#"{"type":"hierarchy"}"#,
            r#"{"type":"hierarchy","slice":{"axis":-1,"share":0.5}}"#,
        ] {
            assert!(Request::read(bad).is_err_and(|problem| problem.contains("not a message")), "{bad}");
        }
    }

    #[test]
    fn binary_messages_keep_numbers_aligned() {
        for name in ["", "a", "ab", "abc"] {
            let mut message = Binary::new(Kind::Frame, &json!({ "name": name }), 4);
            message.words([7]);
            message.points([Vec3::new(1.0, 2.0, 3.0)]);
            let bytes = message.finish();
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            let start = 8 + word(4) as usize;
            assert_eq!((word(0), start % 4, word(start)), (2, 0, 7));
            assert_eq!(f32::from_bits(word(start + 12)), 3.0);
            assert_eq!(bytes.len(), start + 16);
        }
    }
}
