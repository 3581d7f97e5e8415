//! PointCache2 (`.pc2`), the point cache of 3ds Max, Blender and Houdini. Little-endian: `POINTCACHE2\0`, version 1,
//! points (`i32`), start frame and frames per sample (`f32`), samples (`i32`), then the positions of every sample.

use std::path::PathBuf;

use super::job::Job;
use super::point_cache::PointCache;
use supple_core::Error;

/// Writes one file per body.
pub(super) fn export(job: &mut Job) -> Result<Vec<PathBuf>, Error> {
    let step = frames_per_sample(job.frames())?;
    let (first, samples) = (job.frames()[0], job.frames().len());
    let header = |points: i32| {
        let mut bytes = b"POINTCACHE2\0".to_vec();
        bytes.extend(1i32.to_le_bytes());
        bytes.extend(points.to_le_bytes());
        bytes.extend((first as f32).to_le_bytes());
        bytes.extend((step as f32).to_le_bytes());
        bytes.extend((samples as i32).to_le_bytes());
        bytes
    };
    PointCache { name: "PC2", ending: "pc2", header: &header, to_bytes: f32::to_le_bytes }.export(job)
}

/// PC2 has one interval for all samples, so frames must not be missing.
fn frames_per_sample(frames: &[u32]) -> Result<u32, Error> {
    let steps: Vec<u32> = frames.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let step = steps.iter().copied().min().unwrap_or(1);
    match steps.iter().position(|&other| other != step) {
        None => Ok(step),
        Some(gap) => Err(Error::Invalid(format!(
            "frames between {} and {} are missing; PC2 does not allow gaps: compute them or export to mdd",
            frames[gap],
            frames[gap + 1]
        ))),
    }
}
