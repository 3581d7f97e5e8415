//! Point caches: the vertices of a mesh over time, without its faces. `.pc2` (PointCache2 of 3ds Max and Blender) is little-endian:
//! `POINTCACHE2\0`, version 1, points (`i32`), start frame and frames per sample (`f32`), samples (`i32`), then the positions of every
//! sample. `.mdd` (LightWave) is big-endian: samples and points (`i32`), the time of every sample in seconds (`f32`), then the positions.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use glam::DVec3;

use supple_core::FileError;

/// Bytes of a position: three numbers of single precision.
const POINT: u64 = 12;
/// Times of samples may differ by this fraction of the interval from equal spacing.
const UNEVEN: f64 = 0.02;

/// A point cache whose samples are read one by one.
#[derive(Debug, Clone)]
pub struct PointCache {
    path: PathBuf,
    samples: usize,
    points: usize,
    /// Offset of the first sample in bytes.
    start: u64,
    is_big_endian: bool,
    spacing: Spacing,
}

#[derive(Debug, Clone, Copy)]
enum Spacing {
    Frames(f64),
    Seconds(f64),
}

impl PointCache {
    /// Reads the header of a file and checks that the file has the samples that it declares.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let io = |error: std::io::Error| FileError::io(path, "read", &error);
        let mut file = File::open(path).map_err(|error| FileError::io(path, "open", &error))?;
        let length = file.metadata().map_err(io)?.len();
        let cache = match super::extension(path).as_str() {
            "pc2" => Self::pc2(path, &mut file)?,
            "mdd" => Self::mdd(path, &mut file, length)?,
            _ => return Err(FileError::whole(path, "is not a point cache; supported: .pc2 .mdd")),
        };
        let needed = cache.offset(cache.samples);
        if cache.samples == 0 || cache.points == 0 {
            let problem =
                format!("has {} samples of {} points; export it again", cache.samples, cache.points);
            return Err(FileError::whole(path, problem));
        }
        if needed.is_none_or(|needed| needed > length) {
            let problem = format!(
                "declares {} samples of {} points, but has {length} bytes; it was cut off: export it again",
                cache.samples, cache.points
            );
            return Err(FileError::whole(path, problem));
        }
        Ok(cache)
    }

    fn pc2(path: &Path, file: &mut File) -> Result<Self, FileError> {
        let header: [u8; 32] = read_header(path, file)?;
        let word = |at: usize| [header[at], header[at + 1], header[at + 2], header[at + 3]];
        if &header[..12] != b"POINTCACHE2\0" {
            return Err(FileError::byte(path, 0, "is not a PC2 file: it does not start with `POINTCACHE2`"));
        }
        let frames = f64::from(f32::from_le_bytes(word(24)));
        if !(frames.is_finite() && frames > 0.0) {
            return Err(FileError::byte(path, 24, format!("{frames} frames per sample; it must be above 0")));
        }
        Ok(Self {
            path: path.to_path_buf(),
            samples: count(path, 28, i32::from_le_bytes(word(28)))?,
            points: count(path, 16, i32::from_le_bytes(word(16)))?,
            start: 32,
            is_big_endian: false,
            spacing: Spacing::Frames(frames),
        })
    }

    fn mdd(path: &Path, file: &mut File, length: u64) -> Result<Self, FileError> {
        let header: [u8; 8] = read_header(path, file)?;
        let word =
            |at: usize| i32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let samples = count(path, 0, word(0))?;
        let start = 8 + 4 * samples as u64;
        if start > length {
            let problem = format!("declares {samples} samples, but has {length} bytes; export it again");
            return Err(FileError::byte(path, 0, problem));
        }
        let mut bytes = vec![0; 4 * samples];
        file.read_exact(&mut bytes).map_err(|error| FileError::io(path, "read", &error))?;
        let times: Vec<f64> =
            bytes.as_chunks().0.iter().map(|time| f64::from(f32::from_be_bytes(*time))).collect();
        Ok(Self {
            path: path.to_path_buf(),
            samples,
            points: count(path, 4, word(4))?,
            start,
            is_big_endian: true,
            spacing: Spacing::Seconds(even_interval(path, &times)?),
        })
    }

    /// The number of samples.
    pub fn sample_count(&self) -> usize {
        self.samples
    }

    /// The number of points of every sample.
    pub fn point_count(&self) -> usize {
        self.points
    }

    /// Samples per second in a scene of `fps` frames per second.
    pub fn rate(&self, fps: f64) -> f64 {
        match self.spacing {
            Spacing::Frames(frames) => fps / frames,
            Spacing::Seconds(seconds) => 1.0 / seconds,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The positions of a sample, in the unit of the file.
    pub fn read(&self, sample: usize) -> Result<Vec<DVec3>, FileError> {
        let io = |error: std::io::Error| FileError::io(&self.path, "read", &error);
        let mut file = File::open(&self.path).map_err(io)?;
        file.seek(SeekFrom::Start(self.offset(sample).unwrap_or(u64::MAX))).map_err(io)?;
        let mut bytes = vec![0; self.points * POINT as usize];
        file.read_exact(&mut bytes).map_err(io)?;
        let number = |bytes: &[u8; 4]| match self.is_big_endian {
            true => f32::from_be_bytes(*bytes),
            false => f32::from_le_bytes(*bytes),
        };
        let numbers: Vec<f64> = bytes.as_chunks().0.iter().map(|bytes| f64::from(number(bytes))).collect();
        Ok(numbers.as_chunks().0.iter().map(|point| DVec3::from_array(*point)).collect())
    }

    /// Where a sample starts, if that is a number of bytes at all.
    fn offset(&self, sample: usize) -> Option<u64> {
        let size = (self.points as u64).checked_mul(POINT)?;
        self.start.checked_add(size.checked_mul(sample as u64)?)
    }
}

fn read_header<const N: usize>(path: &Path, file: &mut File) -> Result<[u8; N], FileError> {
    let mut header = [0; N];
    file.read_exact(&mut header).map_err(|_| {
        FileError::whole(path, format!("is shorter than its header of {N} bytes; export it again"))
    })?;
    Ok(header)
}

fn count(path: &Path, byte: u64, number: i32) -> Result<usize, FileError> {
    usize::try_from(number)
        .map_err(|_| FileError::byte(path, byte, format!("the number {number} is negative; export it again")))
}

/// The interval between samples, which must be the same between all of them; a second for a single sample.
fn even_interval(path: &Path, times: &[f64]) -> Result<f64, FileError> {
    let [first, .., last] = times else { return Ok(1.0) };
    let interval = (last - first) / (times.len() - 1) as f64;
    let is_even = |pair: &[f64]| ((pair[1] - pair[0]) - interval).abs() <= UNEVEN * interval;
    match times.windows(2).position(|pair| !is_even(pair)) {
        None if interval.is_finite() && interval > 0.0 => Ok(interval),
        found => {
            let sample = found.unwrap_or(0) + 1;
            let problem = format!(
                "sample {sample} is not as far from the one before as others; export it with equal intervals"
            );
            Err(FileError::byte(path, 8 + 4 * sample as u64, problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    fn pc2(samples: i32) -> Vec<u8> {
        let mut bytes = b"POINTCACHE2\0".to_vec();
        for number in [1_i32, 2] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [1_f32, 0.5] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(samples.to_le_bytes());
        (0..18_u8).for_each(|number| bytes.extend(f32::from(number).to_le_bytes()));
        bytes
    }

    fn mdd(times: &[f32]) -> Vec<u8> {
        let mut bytes = [times.len() as i32, 1].map(i32::to_be_bytes).concat();
        times.iter().for_each(|time| bytes.extend(time.to_be_bytes()));
        (0..3 * times.len() as u8).for_each(|number| bytes.extend(f32::from(number).to_be_bytes()));
        bytes
    }

    #[test]
    fn both_layouts_are_read_by_the_sample() {
        let (_folder, path) = write("a.pc2", &pc2(3));
        let cache = PointCache::open(&path).unwrap();
        assert_eq!((cache.sample_count(), cache.point_count(), cache.rate(24.0)), (3, 2, 48.0));
        assert_eq!(cache.read(1).unwrap(), [DVec3::new(6.0, 7.0, 8.0), DVec3::new(9.0, 10.0, 11.0)]);
        let (_folder, path) = write("a.mdd", &mdd(&[0.0, 0.04, 0.08]));
        let cache = PointCache::open(&path).unwrap();
        assert!((cache.rate(24.0) - 25.0).abs() < 1e-4);
        assert_eq!(cache.read(2).unwrap(), [DVec3::new(6.0, 7.0, 8.0)]);
    }

    #[test]
    fn a_damaged_cache_is_refused_with_the_remedy() {
        let problem = |name: &str, bytes: &[u8]| {
            let (_folder, path) = write(name, bytes);
            PointCache::open(&path).unwrap_err().problem
        };
        assert!(problem("a.pc2", &pc2(4)).contains("declares 4 samples of 2 points"));
        assert!(problem("a.pc2", &pc2(-1)).contains("-1 is negative"));
        assert!(problem("a.pc2", &pc2(0)).contains("0 samples"));
        assert!(problem("a.pc2", b"POINT").contains("shorter than its header"));
        assert!(problem("a.pc2", &[0; 40]).contains("is not a PC2 file"));
        assert!(problem("a.mdd", &mdd(&[0.0, 0.04, 0.2])).contains("equal intervals"));
        assert!(problem("a.mdd", &i32::MAX.to_be_bytes().repeat(2)).contains("declares 2147483647 samples"));
        assert!(problem("a.abc", b"x").contains(".pc2 .mdd"));
    }
}
