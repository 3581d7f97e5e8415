//! Messages between the page and the program.
//!
//! The page sends small JSON texts, [`PageRequest`]. The program answers with JSON texts (`state`, `error`, `note`,
//! `scene`, `work`) and with binary messages: a kind, the length of a JSON header, the header padded with spaces to a
//! multiple of four bytes, and the numbers that the header announces, as little-endian `f32` and `u32`.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::Message;
use glam::{DVec3, Vec3};
use serde::{Deserialize, Serialize};
use serde_json::json;
use supple::simulation::Slice;

use super::hub::Work;

/// Maximum length of a message from the page.
pub(super) const MAX_REQUEST_LENGTH: usize = 16 << 10;

/// A request from the page.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum PageRequest {
    /// The last frame is on the screen: ready for the next one.
    Drawn {},
    /// Grab what a ray hits first.
    Grab { origin: DVec3, direction: DVec3 },
    /// Drag it to this position.
    Drag { target: DVec3 },
    /// Let go.
    Release {},
    /// Pin the vertex nearest to where a ray meets a body, or release it if it is pinned.
    Pin { origin: DVec3, direction: DVec3 },
    /// Release the pinned point nearest to a position.
    Unpin { at: DVec3 },
    /// Pause the clock.
    Pause {},
    /// Start it.
    Play {},
    /// Take one step, or show one more frame.
    Step {},
    /// Restart.
    Reset {},
    /// Speed as a multiple of real time; `null`: as fast as possible.
    Speed {
        // Without this, a message without the factor would be read as `null`.
        #[serde(deserialize_with = "Option::deserialize")]
        factor: Option<f64>,
    },
    /// Change the scene as `--set` would.
    Set { path: String, value: String },
    /// Scale the resolution of generated shapes and cells.
    Resolution { factor: f64 },
    /// Simulate a built-in scene instead.
    Open { scene: String },
    /// Simulate a file that was dropped onto the page: a scene or a mesh.
    OpenFile { drop: u32, name: String },
    /// Request the current scene as TOML.
    Save {},
    /// Request the solver's hierarchy, with the cells of this slice.
    Hierarchy { slice: Slice },
    /// Request the stress of every vertex.
    Stress {},
    /// Request the pressure of contact on every vertex.
    Contact {},
    /// Show the frame at this index of the run.
    Seek { place: usize },
}

impl PageRequest {
    /// Reads a message; the error describes the problem.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("not a valid message: {error}"))
    }

    /// Whether a later request of the same kind makes this one redundant.
    pub(super) fn is_replaced_by(&self, later: &Self) -> bool {
        matches!(
            (self, later),
            (Self::Drag { .. }, Self::Drag { .. })
                | (Self::Seek { .. }, Self::Seek { .. })
                | (Self::Hierarchy { .. }, Self::Hierarchy { .. })
                | (Self::Stress {}, Self::Stress {})
                | (Self::Contact {}, Self::Contact {})
        )
    }
}

/// An error as the page shows it.
pub(super) fn error(problem: &str) -> Message {
    Message::text(json!({ "type": "error", "problem": problem }).to_string())
}

/// An informational note.
pub(super) fn note(text: &str) -> Message {
    Message::text(json!({ "type": "note", "text": text }).to_string())
}

/// Work in progress and its duration so far; `None` when it is done.
pub(super) fn work(work: Option<(Work, Duration)>) -> Message {
    let (work, seconds) = work.map(|(work, lasts)| (work, lasts.as_secs_f64())).unzip();
    Message::text(json!({ "type": "work", "work": work, "seconds": seconds }).to_string())
}

/// The kinds of binary messages.
#[derive(Debug, Clone, Copy)]
pub(super) enum BinaryKind {
    Topology = 1,
    Frame = 2,
    Hierarchy = 3,
    Stress = 4,
    Contact = 5,
}

/// The pressure of contact on every vertex of the bodies of a topology, in Pa; none while it is not known.
pub(super) fn contact(topology: u64, pressure: impl ExactSizeIterator<Item = f32>) -> Message {
    let header = json!({ "topology": topology, "points": pressure.len() });
    let mut message = BinaryMessage::new(BinaryKind::Contact, &header, pressure.len());
    message.numbers(pressure);
    Message::Binary(message.finish())
}

/// A binary message under construction.
pub(super) struct BinaryMessage(Vec<u8>);

impl BinaryMessage {
    /// Starts with a header; `numbers` is the number of four-byte numbers that follow.
    pub(super) fn new(kind: BinaryKind, header: &impl Serialize, numbers: usize) -> Self {
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
        assert_eq!(PageRequest::read(grab), Ok(PageRequest::Grab { origin, direction: -DVec3::Z }));
        assert_eq!(
            PageRequest::read(r#"{"type":"speed","factor":null}"#),
            Ok(PageRequest::Speed { factor: None })
        );
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
            assert!(
                PageRequest::read(bad).is_err_and(|problem| problem.contains("not a valid message")),
                "{bad}"
            );
        }
    }

    #[test]
    fn binary_messages_keep_numbers_aligned() {
        for name in ["", "a", "ab", "abc"] {
            let mut message = BinaryMessage::new(BinaryKind::Frame, &json!({ "name": name }), 4);
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
