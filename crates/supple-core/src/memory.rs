//! How much memory this process may have, and the refusal of work that would not fit.
//!
//! Systems promise more memory than there is and end a process that uses it, so a failed allocation is no test: what is
//! about to be allocated is estimated and compared with the least of the machine's memory, the limits of the control
//! groups that the process is in (versions 1 and 2: containers and batch systems set them), and the limit of its address
//! space (`ulimit -v`). What is free at the moment is not considered: the same input is accepted whenever it is tried.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::Error;

/// What limits the memory of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryBound {
    /// The memory of the machine.
    Machine,
    /// The limit of a control group: that of a container or of a batch job.
    Container,
    /// The limit of the process's address space.
    AddressSpace,
}

impl fmt::Display for MemoryBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Machine => "the memory of this machine",
            Self::Container => "the memory limit of this container or job",
            Self::AddressSpace => "the limit of this process's address space, `ulimit -v`",
        })
    }
}

/// The largest amount of memory that this process may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimit {
    /// In bytes.
    pub bytes: u64,
    /// What sets it.
    pub bound: MemoryBound,
}

impl MemoryLimit {
    /// The limit of this process, read once; `None` where the system does not say (only Linux does).
    pub fn of_process() -> Option<Self> {
        static LIMIT: OnceLock<Option<MemoryLimit>> = OnceLock::new();
        *LIMIT.get_or_init(|| Self::read(Path::new("/proc"), Path::new("/sys/fs/cgroup")))
    }

    fn read(proc: &Path, cgroups: &Path) -> Option<Self> {
        let text = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
        let of = |bound, bytes: Option<u64>| bytes.map(|bytes| Self { bytes, bound });
        let containers = files_of_groups(&text(proc.join("self/cgroup")), cgroups);
        let limits = containers.into_iter().map(|path| text(path).trim().parse().ok());
        let all = [
            of(MemoryBound::Machine, machine_bytes(&text(proc.join("meminfo")))),
            of(MemoryBound::AddressSpace, address_space_bytes(&text(proc.join("self/limits")))),
        ];
        let all = all.into_iter().chain(limits.map(|bytes| of(MemoryBound::Container, bytes)));
        all.flatten().min_by_key(|limit| limit.bytes)
    }

    fn refuse(self, what: &str, bytes: f64, remedy: impl FnOnce(f64) -> String) -> Result<(), Error> {
        let limit = self.bytes as f64;
        if bytes <= limit {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "{what} would need about {} of memory; {} is {}: {}",
            Bytes(bytes),
            self.bound,
            Bytes(limit),
            remedy(bytes / limit)
        )))
    }
}

/// Refuses `what` if the `bytes` that it is estimated to need are more than this process may have. `remedy` says what
/// to change, given how many times the limit is exceeded.
pub fn require(what: &str, bytes: f64, remedy: impl FnOnce(f64) -> String) -> Result<(), Error> {
    MemoryLimit::of_process().map_or(Ok(()), |limit| limit.refuse(what, bytes, remedy))
}

/// Whether an estimated number of bytes is within what this process may have.
pub fn fits(bytes: f64) -> bool {
    MemoryLimit::of_process().is_none_or(|limit| bytes <= limit.bytes as f64)
}

/// An amount of memory for people.
#[derive(Debug, Clone, Copy)]
pub struct Bytes(pub f64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes < 1e9 => write!(f, "{:.0} MB", (bytes / 1e6).max(1.0)),
            bytes if bytes < 1e11 => write!(f, "{:.1} GB", bytes / 1e9),
            bytes if bytes < 1e15 => write!(f, "{:.0} GB", bytes / 1e9),
            bytes => write!(f, "{:.1e} GB", bytes / 1e9),
        }
    }
}

/// The line `MemTotal:  24689492 kB`.
fn machine_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse().ok().map(|kilobytes: u64| kilobytes.saturating_mul(1024))
}

/// The line `Max address space  unlimited  unlimited  bytes`: the first number, the soft limit, holds.
fn address_space_bytes(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The files with the limits of the process's control groups and of all groups around them. In a container the groups
/// above its own are often not visible, and its own is mounted as the root.
fn files_of_groups(memberships: &str, mount: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in memberships.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let (root, name) = match controllers {
            "" => (mount.to_path_buf(), "memory.max"),
            list if list.split(',').any(|controller| controller == "memory") => {
                (mount.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let group = Path::new(group.trim_start_matches('/'));
        files.extend(group.ancestors().map(|group| root.join(group).join(name)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A copy of the files that a kernel shows.
    fn system(name: &str, files: &[(&str, &str)]) -> Option<MemoryLimit> {
        let folder = std::env::temp_dir().join(format!("supple-memory-{}-{name}", std::process::id()));
        let common = [
            ("proc/meminfo", "MemTotal:       24689492 kB\nMemFree:          100 kB\n"),
            (
                "proc/self/limits",
                "Limit      Soft Limit   Hard Limit   Units\nMax address space  unlimited  unlimited  bytes\n",
            ),
        ];
        for (path, text) in common.iter().chain(files) {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let limit = MemoryLimit::read(&folder.join("proc"), &folder.join("cgroup"));
        fs::remove_dir_all(folder).unwrap();
        limit
    }

    #[test]
    fn without_other_limits_the_machine_is_the_limit() {
        let v2 = [("proc/self/cgroup", "0::/user.slice\n"), ("cgroup/user.slice/memory.max", "max\n")];
        let expected = MemoryLimit { bytes: 24_689_492 * 1024, bound: MemoryBound::Machine };
        assert_eq!(system("machine", &v2), Some(expected));
        // Version 1 says "no limit" by a huge number.
        let v1 = [
            ("proc/self/cgroup", "4:memory:/job\n"),
            ("cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        assert_eq!(system("unlimited", &v1), Some(expected));
    }

    #[test]
    fn the_tightest_control_group_around_the_process_is_the_limit() {
        let expected = |bytes| Some(MemoryLimit { bytes, bound: MemoryBound::Container });
        let nested = [
            ("proc/self/cgroup", "0::/batch/job\n"),
            ("cgroup/batch/job/memory.max", "max\n"),
            ("cgroup/batch/memory.max", "8000000000\n"),
            ("cgroup/memory.max", "9000000000\n"),
        ];
        assert_eq!(system("nested", &nested), expected(8_000_000_000));
        let v1 = [
            ("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/docker/1f\n0::/\n"),
            ("cgroup/memory/memory.limit_in_bytes", "2000000000\n"),
        ];
        assert_eq!(system("mounted-as-root", &v1), expected(2_000_000_000));
    }

    #[test]
    fn a_limit_of_the_address_space_holds() {
        let limits =
            [("proc/self/limits", "Max address space         4000000000           unlimited   bytes\n")];
        let expected = MemoryLimit { bytes: 4_000_000_000, bound: MemoryBound::AddressSpace };
        assert_eq!(system("ulimit", &limits), Some(expected));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_amount_the_limit_and_the_remedy() {
        let limit = MemoryLimit { bytes: 8_000_000_000, bound: MemoryBound::Container };
        let remedy = |excess: f64| format!("use a `cell` {excess:.1} times as large");
        assert!(limit.refuse("the octree", 7.9e9, remedy).is_ok());
        let text = limit.refuse("the octree", 1.28e11, remedy).unwrap_err().to_string();
        for part in ["the octree", "128 GB", "8.0 GB", "container", "use a `cell` 16.0 times as large"] {
            assert!(text.contains(part), "{text}");
        }
        // An estimate that overflows is refused too.
        assert!([f64::INFINITY, f64::NAN].iter().all(|&bytes| limit.refuse("it", bytes, remedy).is_err()));
    }
}
