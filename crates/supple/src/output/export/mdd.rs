//! MDD (`.mdd`), the point cache of LightWave, Blender and Houdini. Big-endian: frames and points (`i32`), the time
//! of every frame in seconds (`f32`), then the positions of every frame.

use std::path::PathBuf;

use super::job::Job;
use super::point_cache::PointCache;
use supple_core::Error;

/// Writes one file per body.
pub(super) fn export(job: &mut Job) -> Result<Vec<PathBuf>, Error> {
    let frames = (job.frames().len() as i32).to_be_bytes();
    let times = job.frames().iter().map(|&frame| ((f64::from(frame) / job.fps()) as f32).to_be_bytes());
    let times: Vec<[u8; 4]> = times.collect();
    let header =
        |points: i32| [frames, points.to_be_bytes()].iter().chain(&times).flatten().copied().collect();
    PointCache { name: "MDD", ending: "mdd", header: &header, to_bytes: f32::to_be_bytes }.export(job)
}
