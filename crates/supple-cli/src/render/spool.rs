//! Frames of a simulation on their way to being drawn. An animation can be drawn only when all of it is known (where
//! the camera must stand), and may be too long for the memory: its positions wait in an unnamed file.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use supple::output::{Frame, FrameBody, FrameSurface};

/// Frames written one after the other, and read back by their place.
pub(super) struct Spool {
    file: BufWriter<File>,
    bytes: u64,
    frames: Vec<Entry>,
}

/// What a picture shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    pub(super) frame: Frame,
    /// The region of every vertex; empty where colours show something else.
    pub(super) regions: Vec<u32>,
}

/// All of a frame but its positions and regions; surfaces are shared between frames.
struct Entry {
    index: u32,
    time: f64,
    bodies: Vec<(Arc<FrameSurface>, usize)>,
    regions: usize,
    start: u64,
}

impl Spool {
    /// An empty spool on the disk of `folder`; the file has no name and is gone with the process.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        let file = BufWriter::new(tempfile::tempfile_in(folder)?);
        Ok(Self { file, bytes: 0, frames: Vec::new() })
    }

    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn push(&mut self, Shown { frame, regions }: &Shown) -> io::Result<()> {
        let start = self.bytes;
        for body in &frame.bodies {
            for coordinate in body.positions.iter().flat_map(|p| p.to_array()) {
                self.file.write_all(&coordinate.to_le_bytes())?;
            }
            self.bytes += 12 * body.positions.len() as u64;
        }
        for region in regions {
            self.file.write_all(&region.to_le_bytes())?;
        }
        self.bytes += 4 * regions.len() as u64;
        let bodies = frame.bodies.iter().map(|body| (Arc::clone(&body.surface), body.positions.len()));
        let (index, time, bodies) = (frame.index, frame.time, bodies.collect());
        self.frames.push(Entry { index, time, bodies, regions: regions.len(), start });
        Ok(())
    }

    /// The frame at a place, which must be below [`Spool::len`].
    pub(super) fn read(&mut self, place: usize) -> io::Result<Shown> {
        self.file.flush()?;
        let entry = &self.frames[place];
        let mut file = BufReader::new(self.file.get_ref());
        file.seek(SeekFrom::Start(entry.start))?;
        let mut bodies = Vec::with_capacity(entry.bodies.len());
        for (surface, count) in &entry.bodies {
            let positions = (0..*count).map(|_| read_position(&mut file)).collect::<io::Result<_>>()?;
            bodies.push(FrameBody { surface: Arc::clone(surface), positions });
        }
        let regions = (0..entry.regions).map(|_| read_word(&mut file)).collect::<io::Result<_>>()?;
        Ok(Shown { frame: Frame { index: entry.index, time: entry.time, bodies }, regions })
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
        let frames: Vec<Shown> = (0..3)
            .map(|index| {
                simulation.step(0.01).unwrap();
                Shown { frame: simulation.frame(index), regions: vec![index; index as usize] }
            })
            .collect();
        for frame in &frames {
            spool.push(frame).unwrap();
        }
        assert_eq!(spool.len(), 3);
        for place in [2, 0, 1] {
            assert_eq!(spool.read(place).unwrap(), frames[place]);
        }
        drop(spool);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
