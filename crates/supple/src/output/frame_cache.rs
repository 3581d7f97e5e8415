//! The frames of a run on disk: `frames/frame-000012.supf` contains the positions of every body (single precision),
//! and refers by hash to `frames/topology-<hash>.supt`, which is written once per topology. After the bodies come contact forces, if they are
//! stored: for each body whether it has them, the vertices that are touched, and force and pressure of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use glam::Vec3;
use xxhash_rust::xxh3::xxh3_64;

use super::atomic::{create_folder, write_error};
use super::bytes::{Number, PayloadReader, put_list};
use super::checkpoint::CheckpointStore;
use super::frame::{Frame, FrameBody, FrameContact, FrameSurface};
use super::record::{self, RecordKind};
use super::run_folder::{
    RunInfo, WriterLock, frames_folder, is_run, lock_for_writing, names_in, numbered_files, read_info,
    write_info,
};
use super::topology::{self, TOPOLOGY};
use supple_core::FileError;

/// A frame with contact forces.
const FRAME: RecordKind = RecordKind {
    code: *b"FRAM",
    version: 2,
    name: "frame",
    remedy: "compute it again with `supple run --from` an earlier frame",
};
/// A frame without.
const BARE_FRAME: RecordKind = RecordKind { version: 1, ..FRAME };

/// The frames of one run. Reading is possible from several threads and while another process writes.
#[derive(Debug)]
pub struct FrameCache {
    folder: PathBuf,
    info: RunInfo,
    lock: Option<WriterLock>,
    /// Topologies in use, by hash; unreferenced ones are dropped when a frame without them is read.
    topologies: Mutex<Vec<(u64, Arc<FrameSurface>)>>,
}

impl FrameCache {
    /// Starts a run in `dir`, which is created if it does not exist. A folder with anything but a run of Supple is
    /// rejected; so is one with a run, unless `replace`, which removes its frames and checkpoints.
    pub fn create(dir: &Path, info: RunInfo, replace: bool) -> Result<Self, FileError> {
        create_folder(dir)?;
        let holds_run = is_run(dir)?;
        // A run killed before its first frame has nothing to lose and nothing to resume.
        let has_frames = !numbered_files(&frames_folder(dir), frame_name)?.is_empty();
        if holds_run && has_frames && !replace {
            let problem = "the folder already contains a run: resume it (`--resume`), replace it (`--replace`) or choose another";
            return Err(FileError::whole(dir, problem));
        }
        let cache = Self { lock: Some(lock_for_writing(dir)?), ..Self::new(dir, info) };
        if holds_run {
            CheckpointStore::open(dir, None).remove_from(0)?;
            cache.remove_all()?;
        }
        write_info(dir, &cache.info)?;
        Ok(cache)
    }

    /// Opens the run in `dir` for reading; nothing in it is modified.
    pub fn open(dir: &Path) -> Result<Self, FileError> {
        Ok(Self::new(dir, read_info(dir)?))
    }

    /// Opens the run in `dir` to resume it: no other process may be writing, and partial files left by a killed process
    /// are removed.
    pub fn resume(dir: &Path) -> Result<Self, FileError> {
        let info = read_info(dir)?;
        Ok(Self { lock: Some(lock_for_writing(dir)?), ..Self::new(dir, info) })
    }

    fn new(dir: &Path, info: RunInfo) -> Self {
        Self { folder: frames_folder(dir), info, lock: None, topologies: Mutex::default() }
    }

    /// The scene's name and frame rate.
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// The numbers of the existing frames, sorted.
    pub fn frames(&self) -> Result<Vec<u32>, FileError> {
        numbered_files(&self.folder, frame_name)
    }

    /// The path of frame `index`, existing or not.
    pub fn frame_path(&self, index: u32) -> PathBuf {
        self.folder.join(frame_name(index))
    }

    /// Writes a frame, whole or not at all; new topologies are written before it.
    pub fn write(&mut self, frame: &Frame) -> Result<(), FileError> {
        let path = self.frame_path(frame.index);
        self.check_writable()?;
        let mut payload = Vec::new();
        frame.index.put(&mut payload);
        frame.time.put(&mut payload);
        (frame.bodies.len() as u32).put(&mut payload);
        let mut used = Vec::with_capacity(frame.bodies.len());
        for body in &frame.bodies {
            check_body(&path, body)?;
            let hash = self.store_topology(&body.surface)?;
            used.push((hash, Arc::clone(&body.surface)));
            hash.put(&mut payload);
            put_list(&mut payload, body.positions.iter().map(|p| p.to_array()));
        }
        self.keep_only(used);
        let has_contact = frame.bodies.iter().any(|body| body.contact.is_some());
        if !has_contact {
            return record::write(&path, BARE_FRAME, &[&payload]);
        }
        frame.bodies.iter().for_each(|body| put_contact(&mut payload, body.contact.as_ref()));
        record::write(&path, FRAME, &[&payload])
    }

    /// Reads frame `index`; bodies whose topology did not change share it with earlier frames.
    pub fn read(&self, index: u32) -> Result<Frame, FileError> {
        let path = self.frame_path(index);
        if !path.exists() {
            return Err(FileError::whole(&path, self.missing_frame(index)?));
        }
        let (version, payload) = record::read_since(&path, FRAME, BARE_FRAME.version)?;
        let mut reader = PayloadReader::new(&path, &payload);
        let stored_index: u32 = reader.number()?;
        if stored_index != index {
            return Err(reader
                .error(format!("the file contains frame {stored_index}; it was renamed: restore its name")));
        }
        let time = reader.number()?;
        let count: u32 = reader.number()?;
        let mut bodies = Vec::new();
        let mut used = Vec::new();
        for _ in 0..count {
            let hash = reader.number()?;
            let surface = self.load_topology(hash)?;
            used.push((hash, Arc::clone(&surface)));
            let positions = reader.list("the positions")?.into_iter().map(Vec3::from_array).collect();
            bodies.push(FrameBody { surface, positions, contact: None });
        }
        if version == FRAME.version {
            for body in &mut bodies {
                body.contact = read_contact(&mut reader, body.positions.len())?;
            }
        }
        bodies.iter().try_for_each(|body| check_body(&path, body))?;
        reader.finish()?;
        self.keep_only(used);
        Ok(Frame { index, time, bodies })
    }

    /// Removes every frame from `index` on, last first, so that an interruption leaves no gap.
    pub fn remove_from(&mut self, index: u32) -> Result<(), FileError> {
        self.check_writable()?;
        for frame in self.frames()?.into_iter().rev().take_while(|&frame| frame >= index) {
            remove(&self.frame_path(frame))?;
        }
        Ok(())
    }

    fn remove_all(&self) -> Result<(), FileError> {
        for name in names_in(&self.folder)? {
            let ours = |start, end| name.starts_with(start) && name.ends_with(end);
            if ours("frame-", ".supf") || ours("topology-", ".supt") {
                remove(&self.folder.join(name))?;
            }
        }
        Ok(())
    }

    fn check_writable(&self) -> Result<(), FileError> {
        match self.lock {
            Some(_) => Ok(()),
            None => {
                Err(FileError::whole(&self.folder, "opened for reading only; resume the run to write to it"))
            }
        }
    }

    fn missing_frame(&self, index: u32) -> Result<String, FileError> {
        Ok(match self.frames()?[..] {
            [] => format!("frame {index} does not exist: the run has no frames yet"),
            [first, .., last] if !(first..=last).contains(&index) => {
                format!("frame {index} does not exist: the run has frames {first} to {last}")
            }
            [only] => format!("frame {index} does not exist: the run only has frame {only}"),
            _ => format!("frame {index} is missing; {}", FRAME.remedy),
        })
    }

    /// The surface's hash, after making sure that its file exists and is valid.
    fn store_topology(&self, surface: &Arc<FrameSurface>) -> Result<u64, FileError> {
        if let Some((hash, _)) = self.known(|_, known| Arc::ptr_eq(known, surface)) {
            return Ok(hash);
        }
        let payload = topology::encode(surface);
        let hash = xxh3_64(&payload);
        let path = self.topology_path(hash);
        if !record::read(&path, TOPOLOGY).is_ok_and(|stored| stored == payload) {
            if let Some(fault) = topology::fault(&surface.mesh) {
                return Err(FileError::whole(&path, format!("body `{}`: {fault}", surface.name)));
            }
            record::write(&path, TOPOLOGY, &[&payload])?;
        }
        Ok(hash)
    }

    fn load_topology(&self, hash: u64) -> Result<Arc<FrameSurface>, FileError> {
        if let Some((_, surface)) = self.known(|known, _| known == hash) {
            return Ok(surface);
        }
        let path = self.topology_path(hash);
        let surface = topology::decode(&path, &record::read(&path, TOPOLOGY)?)?;
        Ok(Arc::new(surface))
    }

    fn known(&self, is_it: impl Fn(u64, &Arc<FrameSurface>) -> bool) -> Option<(u64, Arc<FrameSurface>)> {
        let known = self.topologies.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(hash, surface)| is_it(*hash, surface)).cloned()
    }

    /// Keeps the topologies of the current frame and those that are still referenced elsewhere.
    fn keep_only(&self, used: Vec<(u64, Arc<FrameSurface>)>) {
        let mut known = self.topologies.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(_, surface)| Arc::strong_count(surface) > 1);
        for (hash, surface) in used {
            if !known.iter().any(|(known, _)| *known == hash) {
                known.push((hash, surface));
            }
        }
    }

    fn topology_path(&self, hash: u64) -> PathBuf {
        self.folder.join(format!("topology-{hash:016x}.supt"))
    }
}

fn frame_name(index: u32) -> String {
    format!("frame-{index:06}.supf")
}

/// Writes the forces on the vertices that are touched.
fn put_contact(out: &mut Vec<u8>, contact: Option<&FrameContact>) {
    u8::from(contact.is_some()).put(out);
    let Some(FrameContact { force, pressure }) = contact else { return };
    let is_touched = |v: &u32| force[*v as usize] != Vec3::ZERO || pressure[*v as usize] != 0.0;
    let touched: Vec<u32> = (0..force.len() as u32).filter(is_touched).collect();
    put_list(out, touched.iter().copied());
    let values = touched.iter().map(|&v| force[v as usize].extend(pressure[v as usize]).to_array());
    put_list(out, values);
}

/// Reads them, for a body with this many vertices.
fn read_contact(reader: &mut PayloadReader<'_>, vertices: usize) -> Result<Option<FrameContact>, FileError> {
    if reader.number::<u8>()? == 0 {
        return Ok(None);
    }
    let touched: Vec<u32> = reader.list("the vertices in contact")?;
    let values: Vec<[f32; 4]> = reader.list("the contact forces")?;
    if values.len() != touched.len() {
        return Err(reader.error(format!("{} contact forces on {} vertices", values.len(), touched.len())));
    }
    let mut contact = FrameContact { force: vec![Vec3::ZERO; vertices], pressure: vec![0.0; vertices] };
    for (&vertex, [x, y, z, pressure]) in touched.iter().zip(values) {
        let Some(force) = contact.force.get_mut(vertex as usize) else {
            return Err(reader.error(format!("a contact force on vertex {vertex} of {vertices}")));
        };
        *force = Vec3::new(x, y, z);
        contact.pressure[vertex as usize] = pressure;
    }
    Ok(Some(contact))
}

fn remove(path: &Path) -> Result<(), FileError> {
    fs::remove_file(path).map_err(|e| write_error(path, "remove", &e))
}

fn check_body(path: &Path, body: &FrameBody) -> Result<(), FileError> {
    let (name, vertices) = (&body.surface.name, body.surface.mesh.positions.len());
    if body.positions.len() != vertices {
        let found = body.positions.len();
        return Err(FileError::whole(
            path,
            format!("body `{name}` has {found} positions for {vertices} vertices"),
        ));
    }
    if let Some(FrameContact { force, pressure }) = &body.contact {
        let (forces, pressures) = (force.len(), pressure.len());
        if [forces, pressures] != [vertices; 2] {
            let problem = format!(
                "body `{name}` has {forces} contact forces and {pressures} pressures for {vertices} vertices"
            );
            return Err(FileError::whole(path, problem));
        }
        if let Some(v) = (0..vertices).find(|&v| !(force[v].is_finite() && pressure[v].is_finite())) {
            let problem = format!("body `{name}`, vertex {v}: its contact force is not finite");
            return Err(FileError::whole(path, problem));
        }
    }
    match body.positions.iter().position(|p| !p.is_finite()) {
        None => Ok(()),
        Some(v) => Err(FileError::whole(
            path,
            format!("body `{name}`, vertex {v}: {} is not finite", body.positions[v]),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::topology::tests::decorated;

    fn info() -> RunInfo {
        RunInfo { scene: "demo".into(), fps: 24.0, simd: Default::default() }
    }

    fn frame(index: u32, surfaces: &[Arc<FrameSurface>]) -> Frame {
        let body = |surface: &Arc<FrameSurface>| FrameBody {
            surface: Arc::clone(surface),
            positions: surface.mesh.positions.iter().map(|p| p.as_vec3() - Vec3::Y * index as f32).collect(),
            contact: None,
        };
        Frame { index, time: f64::from(index) / 24.0, bodies: surfaces.iter().map(body).collect() }
    }

    fn files(run: &Path, end: &str) -> usize {
        names_in(&frames_folder(run)).unwrap().iter().filter(|name| name.ends_with(end)).count()
    }

    #[test]
    fn frames_come_back_exactly_and_share_their_topology() {
        let run = tempfile::tempdir().unwrap();
        let surfaces = [Arc::new(decorated("dress")), Arc::new(decorated("scarf"))];
        let mut cache = FrameCache::create(run.path(), info(), false).unwrap();
        for index in [2, 0, 1] {
            cache.write(&frame(index, &surfaces)).unwrap();
        }
        assert_eq!(files(run.path(), ".supt"), 2);
        let reader = FrameCache::open(run.path()).unwrap();
        assert_eq!(reader.info(), &info());
        assert_eq!(reader.frames().unwrap(), [0, 1, 2]);
        let first = reader.read(0).unwrap();
        let last = reader.read(2).unwrap();
        assert_eq!(first, frame(0, &surfaces));
        assert_eq!(last, frame(2, &surfaces));
        assert!(Arc::ptr_eq(&first.bodies[1].surface, &last.bodies[1].surface));
    }

    #[test]
    fn a_changed_topology_is_stored_beside_the_old_one_and_let_go_of_when_unused() {
        let run = tempfile::tempdir().unwrap();
        let mut cache = FrameCache::create(run.path(), info(), false).unwrap();
        let whole = Arc::new(decorated("dress"));
        let mut torn = decorated("dress");
        torn.mesh.positions.push(glam::DVec3::ONE);
        torn.mesh.colors.as_mut().unwrap().push([1.0; 4]);
        torn.mesh.corners[4] = 5;
        cache.write(&frame(0, &[whole])).unwrap();
        cache.write(&frame(1, &[Arc::new(torn.clone())])).unwrap();
        assert_eq!(files(run.path(), ".supt"), 2);
        let reader = FrameCache::open(run.path()).unwrap();
        assert_eq!(reader.read(0).unwrap().bodies[0].positions.len(), 5);
        assert_eq!(*reader.read(1).unwrap().bodies[0].surface, torn);
        assert_eq!(reader.topologies.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_frame_cut_at_any_byte_or_with_any_bit_flipped_is_refused_by_name() {
        let run = tempfile::tempdir().unwrap();
        let mut cache = FrameCache::create(run.path(), info(), false).unwrap();
        cache.write(&frame(7, &[Arc::new(decorated("dress"))])).unwrap();
        let path = cache.frame_path(7);
        let whole = fs::read(&path).unwrap();
        let refuse = |bytes: &[u8], case: usize| {
            fs::write(&path, bytes).unwrap();
            let error = cache.read(7).unwrap_err().to_string();
            assert!(error.contains("frame-000007.supf"), "{case}: {error}");
        };
        (0..whole.len()).for_each(|length| refuse(&whole[..length], length));
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            refuse(&flipped, bit);
        }
    }

    #[test]
    fn a_missing_frame_is_named_with_those_that_are_there() {
        let run = tempfile::tempdir().unwrap();
        let mut cache = FrameCache::create(run.path(), info(), false).unwrap();
        assert!(cache.read(0).unwrap_err().problem.contains("no frames yet"));
        let surfaces = [Arc::new(decorated("dress"))];
        cache.write(&frame(0, &surfaces)).unwrap();
        cache.write(&frame(2, &surfaces)).unwrap();
        assert!(cache.read(9).unwrap_err().problem.contains("frames 0 to 2"));
        assert!(cache.read(1).unwrap_err().problem.contains("frame 1 is missing"));
    }

    #[test]
    fn a_foreign_folder_is_refused_and_left_as_it_was() {
        let run = tempfile::tempdir().unwrap();
        fs::write(run.path().join("thesis.tex"), b"years of work").unwrap();
        for replace in [false, true] {
            let error = FrameCache::create(run.path(), info(), replace).unwrap_err();
            assert!(error.problem.contains("thesis.tex"), "{error}");
        }
        assert_eq!(names_in(run.path()).unwrap(), ["thesis.tex"]);
        assert!(FrameCache::open(run.path()).unwrap_err().problem.contains("not a Supple run"));
    }

    #[test]
    fn a_foreign_run_file_is_refused_even_when_replacing() {
        let run = tempfile::tempdir().unwrap();
        fs::create_dir(run.path().join("frames")).unwrap();
        let description = run.path().join("frames/run.json");
        fs::write(&description, r#"{"format":"other","version":1,"scene":"a","fps":24}"#).unwrap();
        assert!(FrameCache::create(run.path(), info(), true).unwrap_err().problem.contains("\"other\""));
        fs::write(&description, r#"{"format":"supple run","version":2,"scene":"a","fps":24}"#).unwrap();
        assert!(FrameCache::open(run.path()).unwrap_err().problem.contains("newer"));
        fs::write(&description, "{").unwrap();
        assert!(FrameCache::resume(run.path()).is_err());
    }

    #[test]
    fn an_existing_run_is_replaced_only_on_request() {
        let run = tempfile::tempdir().unwrap();
        let mut cache = FrameCache::create(run.path(), info(), false).unwrap();
        cache.write(&frame(0, &[Arc::new(decorated("dress"))])).unwrap();
        CheckpointStore::open(run.path(), None).write(0, 1, b"state").unwrap();
        drop(cache);
        assert!(FrameCache::create(run.path(), info(), false).unwrap_err().problem.contains("resume"));
        assert_eq!(FrameCache::open(run.path()).unwrap().frames().unwrap(), [0]);
        let cache = FrameCache::create(run.path(), info(), true).unwrap();
        assert!(cache.frames().unwrap().is_empty());
        assert_eq!(files(run.path(), ".supt"), 0);
        assert!(CheckpointStore::open(run.path(), None).frames().unwrap().is_empty());
    }

    #[test]
    fn a_run_killed_before_its_first_frame_can_begin_again() {
        let run = tempfile::tempdir().unwrap();
        drop(FrameCache::create(run.path(), info(), false).unwrap());
        let mut again = FrameCache::create(run.path(), info(), false).unwrap();
        again.write(&frame(0, &[Arc::new(decorated("dress"))])).unwrap();
        assert_eq!(again.frames().unwrap(), [0]);
    }

    #[test]
    fn one_writer_at_a_time_and_readers_never_write() {
        let run = tempfile::tempdir().unwrap();
        let first = FrameCache::create(run.path(), info(), false).unwrap();
        assert!(FrameCache::resume(run.path()).unwrap_err().problem.contains("another process"));
        let mut reader = FrameCache::open(run.path()).unwrap();
        let error = reader.write(&frame(0, &[])).unwrap_err();
        assert!(error.problem.contains("reading only"), "{error}");
        drop(first);
        FrameCache::resume(run.path()).unwrap();
    }

    #[test]
    fn resuming_sweeps_leftovers_and_drops_later_frames() {
        let run = tempfile::tempdir().unwrap();
        let surfaces = [Arc::new(decorated("dress"))];
        let mut cache = FrameCache::create(run.path(), info(), false).unwrap();
        (0..5).for_each(|index| cache.write(&frame(index, &surfaces)).unwrap());
        drop(cache);
        let leftover = run.path().join("frames/.frame-000005.supf.9-0.supple-tmp");
        fs::write(&leftover, b"half").unwrap();
        let mut cache = FrameCache::resume(run.path()).unwrap();
        assert!(!leftover.exists());
        cache.remove_from(3).unwrap();
        assert_eq!(cache.frames().unwrap(), [0, 1, 2]);
        cache.write(&frame(3, &surfaces)).unwrap();
        assert_eq!(cache.read(3).unwrap(), frame(3, &surfaces));
    }

    #[test]
    fn a_damaged_topology_is_repaired_by_the_next_run_that_has_it() {
        let run = tempfile::tempdir().unwrap();
        let surfaces = [Arc::new(decorated("dress"))];
        FrameCache::create(run.path(), info(), false).unwrap().write(&frame(0, &surfaces)).unwrap();
        let name = names_in(&frames_folder(run.path())).unwrap();
        let name = name.iter().find(|name| name.ends_with(".supt")).unwrap();
        fs::write(run.path().join("frames").join(name), b"SUPPLE\r\n").unwrap();
        let error = FrameCache::open(run.path()).unwrap().read(0).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        FrameCache::resume(run.path()).unwrap().write(&frame(1, &surfaces)).unwrap();
        FrameCache::open(run.path()).unwrap().read(0).unwrap();
    }

    #[test]
    fn contact_forces_come_back_exactly_and_frames_without_them_keep_their_layout() {
        let run = tempfile::tempdir().unwrap();
        let mut cache = FrameCache::create(run.path(), info(), false).unwrap();
        let bare = frame(0, &[Arc::new(decorated("dress")), Arc::new(decorated("scarf"))]);
        let mut touched = Frame { index: 1, ..bare.clone() };
        let mut contact = FrameContact { force: vec![Vec3::ZERO; 5], pressure: vec![0.0; 5] };
        (contact.force[3], contact.pressure[3], contact.pressure[4]) =
            (Vec3::new(0.1, -2.0, 1e-30), 7.5, 0.25);
        touched.bodies[1].contact = Some(contact);
        cache.write(&bare).unwrap();
        cache.write(&touched).unwrap();
        let version = |index: u32| fs::read(cache.frame_path(index)).unwrap()[12];
        assert_eq!([version(0), version(1)], [1, 2]);
        assert_eq!(cache.read(0).unwrap(), bare);
        assert_eq!(cache.read(1).unwrap(), touched);
        let mut bad = touched.clone();
        bad.bodies[1].contact.as_mut().unwrap().pressure[2] = f32::NAN;
        assert!(cache.write(&bad).unwrap_err().problem.contains("`scarf`, vertex 2"));
        bad.bodies[1].contact.as_mut().unwrap().pressure.pop();
        assert!(cache.write(&bad).unwrap_err().problem.contains("4 pressures for 5 vertices"));
    }

    #[test]
    fn what_is_not_finite_or_does_not_fit_its_mesh_is_not_written() {
        let run = tempfile::tempdir().unwrap();
        let mut cache = FrameCache::create(run.path(), info(), false).unwrap();
        let good = frame(0, &[Arc::new(decorated("dress"))]);
        let mut bad = good.clone();
        bad.bodies[0].positions[3].x = f32::NAN;
        assert!(cache.write(&bad).unwrap_err().problem.contains("`dress`, vertex 3"));
        bad.bodies[0].positions.truncate(3);
        assert!(cache.write(&bad).unwrap_err().problem.contains("3 positions for 5 vertices"));
        assert!(cache.frames().unwrap().is_empty());
    }
}
