//! Temporary storage for simulated frames. An animation can be drawn only once all frames are known (the camera must
//! fit all of them), and may not fit in memory: its positions are kept in an unnamed file.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use supple::output::{Frame, FrameBody, FrameSurface};
use supple::simulation::{Slice, SlicedCell, Stress, StressUnit};
use supple_render::Overlay;

/// Frames written in sequence and read back by index.
pub(super) struct Spool {
    file: BufWriter<File>,
    bytes: u64,
    frames: Vec<SpoolEntry>,
}

/// A frame with its overlay.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShownFrame {
    pub(super) frame: Frame,
    pub(super) overlay: Overlay,
}

/// Everything in a frame except the long arrays; surfaces are shared between frames.
struct SpoolEntry {
    index: u32,
    time: f64,
    bodies: Vec<(Arc<FrameSurface>, usize)>,
    overlay: OverlayEntry,
    start: u64,
}

/// Everything in an overlay except its numbers.
enum OverlayEntry {
    None,
    Hierarchy { regions: usize, cells: usize, slice: Slice },
    Stress(Vec<(StressUnit, usize)>),
    Contact { pressure: usize, released: usize },
}

impl Spool {
    /// An empty spool on the disk of `folder`; the file is unnamed and disappears with the process.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        let file = BufWriter::new(tempfile::tempfile_in(folder)?);
        Ok(Self { file, bytes: 0, frames: Vec::new() })
    }

    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn push(&mut self, ShownFrame { frame, overlay }: &ShownFrame) -> io::Result<()> {
        let start = self.bytes;
        for body in &frame.bodies {
            for coordinate in body.positions.iter().flat_map(|p| p.to_array()) {
                self.file.write_all(&coordinate.to_le_bytes())?;
            }
            self.bytes += 12 * body.positions.len() as u64;
        }
        let overlay = self.push_overlay(overlay)?;
        let bodies = frame.bodies.iter().map(|body| (Arc::clone(&body.surface), body.positions.len()));
        let (index, time, bodies) = (frame.index, frame.time, bodies.collect());
        self.frames.push(SpoolEntry { index, time, bodies, overlay, start });
        Ok(())
    }

    fn push_overlay(&mut self, overlay: &Overlay) -> io::Result<OverlayEntry> {
        match overlay {
            Overlay::None => Ok(OverlayEntry::None),
            Overlay::Hierarchy { regions, cells, slice } => {
                self.push_words(regions.iter().copied())?;
                let corners = cells.iter().flat_map(|cell| cell.corners).flat_map(|p| p.as_vec3().to_array());
                self.push_words(corners.map(f32::to_bits))?;
                self.push_words(cells.iter().map(|cell| cell.kind))?;
                Ok(OverlayEntry::Hierarchy { regions: regions.len(), cells: cells.len(), slice: *slice })
            }
            Overlay::Stress(stress) => {
                self.push_words(stress.of_point.iter().map(|stress| (*stress as f32).to_bits()))?;
                Ok(OverlayEntry::Stress(stress.bodies.clone()))
            }
            Overlay::Contact { pressure, released } => {
                self.push_words(pressure.iter().map(|pressure| pressure.to_bits()))?;
                self.push_words(released.iter().copied())?;
                Ok(OverlayEntry::Contact { pressure: pressure.len(), released: released.len() })
            }
        }
    }

    fn push_words(&mut self, words: impl Iterator<Item = u32>) -> io::Result<()> {
        for word in words {
            self.file.write_all(&word.to_le_bytes())?;
            self.bytes += 4;
        }
        Ok(())
    }

    /// The frame at an index, which must be below [`Spool::len`].
    pub(super) fn read(&mut self, place: usize) -> io::Result<ShownFrame> {
        self.file.flush()?;
        let entry = &self.frames[place];
        let mut file = BufReader::new(self.file.get_ref());
        file.seek(SeekFrom::Start(entry.start))?;
        let mut bodies = Vec::with_capacity(entry.bodies.len());
        for (surface, count) in &entry.bodies {
            let positions = (0..*count).map(|_| read_position(&mut file)).collect::<io::Result<_>>()?;
            bodies.push(FrameBody { surface: Arc::clone(surface), positions, contact: None });
        }
        let overlay = read_overlay(&mut file, &entry.overlay)?;
        Ok(ShownFrame { frame: Frame { index: entry.index, time: entry.time, bodies }, overlay })
    }
}

fn read_overlay(file: &mut impl Read, entry: &OverlayEntry) -> io::Result<Overlay> {
    match entry {
        OverlayEntry::None => Ok(Overlay::None),
        OverlayEntry::Hierarchy { regions, cells, slice } => {
            let regions = (0..*regions).map(|_| read_word(file)).collect::<io::Result<_>>()?;
            let corners = (0..4 * cells).map(|_| read_position(file)).collect::<io::Result<Vec<_>>>()?;
            let kinds = (0..*cells).map(|_| read_word(file)).collect::<io::Result<Vec<_>>>()?;
            let cell = |(corners, kind): (&[glam::Vec3], u32)| SlicedCell {
                corners: std::array::from_fn(|k| corners[k].as_dvec3()),
                kind,
            };
            let cells = corners.chunks_exact(4).zip(kinds).map(cell).collect();
            Ok(Overlay::Hierarchy { regions, cells, slice: *slice })
        }
        OverlayEntry::Stress(bodies) => {
            let points: usize = bodies.iter().map(|body| body.1).sum();
            let number = |_| read_word(file).map(|word| f64::from(f32::from_bits(word)));
            let of_point = (0..points).map(number).collect::<io::Result<_>>()?;
            Ok(Overlay::Stress(Stress { of_point, bodies: bodies.clone() }))
        }
        OverlayEntry::Contact { pressure, released } => {
            let number = |_| read_word(file).map(f32::from_bits);
            let pressure = (0..*pressure).map(number).collect::<io::Result<_>>()?;
            let released = (0..*released).map(|_| read_word(file)).collect::<io::Result<_>>()?;
            Ok(Overlay::Contact { pressure, released })
        }
    }
}

fn read_word(file: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn read_position(file: &mut impl Read) -> io::Result<glam::Vec3> {
    let mut bytes = [[0; 4]; 3];
    file.read_exact(bytes.as_flattened_mut())?;
    Ok(bytes.map(f32::from_le_bytes).into())
}

#[cfg(test)]
mod tests {
    use supple::scene::Scene;
    use supple::simulation::Simulation;

    use super::*;

    #[test]
    fn frames_come_back_as_they_were_and_leave_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut scene = Scene::builtin("demo").unwrap();
        scene.scale_resolution(0.1).unwrap();
        let mut simulation = Simulation::new(scene).unwrap();
        let mut spool = Spool::new(folder.path()).unwrap();
        let corners = [glam::DVec3::ZERO, glam::DVec3::X, glam::DVec3::ONE, glam::DVec3::Y];
        let cells = vec![SlicedCell { corners, kind: 1 }];
        let overlays = [
            Overlay::None,
            Overlay::Hierarchy { regions: vec![7, 8], cells, slice: Slice { axis: 1, share: 0.25 } },
            Overlay::Stress(Stress { of_point: vec![0.5, 2.0], bodies: vec![(StressUnit::Pascal, 2)] }),
            Overlay::Contact { pressure: vec![0.25, 3.0, 0.0], released: vec![2] },
        ];
        let mut frame = |index: usize| {
            simulation.step(0.01).unwrap();
            ShownFrame { frame: simulation.frame(index as u32), overlay: overlays[index].clone() }
        };
        let frames: Vec<ShownFrame> = (0..4).map(&mut frame).collect();
        for frame in &frames {
            spool.push(frame).unwrap();
        }
        assert_eq!(spool.len(), 4);
        for place in [2, 0, 3, 1] {
            assert_eq!(spool.read(place).unwrap(), frames[place]);
        }
        drop(spool);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
