//! Files that appear whole or not at all: written under a temporary name in the same folder, flushed to the disk,
//! then renamed. A failed or killed writer never harms the file that was there before.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use supple_core::FileError;

/// The suffix of every temporary name; [`sweep`] removes such files.
const TEMPORARY_SUFFIX: &str = ".supple-tmp";
const BUFFER_BYTES: usize = 1 << 18;

/// A file being written under a temporary name. [`AtomicFile::commit`] renames it; dropped before that,
/// it leaves nothing behind.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    temporary: PathBuf,
    /// `None` once committed.
    writer: Option<BufWriter<File>>,
}

impl AtomicFile {
    /// Starts writing `path` under a temporary name in the same folder.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        let temporary = temporary_name(path)?;
        // The rename would fail at the end, when hours of work may have gone into the file.
        if path.is_dir() {
            return Err(write_error(path, "write", &ErrorKind::IsADirectory.into()));
        }
        let file = File::create_new(&temporary).map_err(|e| write_error(path, "create", &e))?;
        // The lock tells `sweep` that the writer is alive. A file system without locks is never swept, so that a
        // failure here does no harm.
        let _ = file.try_lock();
        let writer = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
        Ok(Self { path: path.to_path_buf(), temporary, writer })
    }

    /// Appends bytes; an error names the file and what to do.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.write_all(bytes).map_err(|e| write_error(&self.path, "write", &e))
    }

    /// Flushes to the disk and renames to the final name, replacing an existing file.
    pub fn commit(mut self) -> Result<(), FileError> {
        self.publish().map_err(|e| write_error(&self.path, "write", &e))
    }

    fn publish(&mut self) -> io::Result<()> {
        let mut writer = self.writer.take().ok_or(ErrorKind::NotFound)?;
        let written = writer.flush().and_then(|()| writer.get_ref().sync_all());
        // The handle is closed before renaming or removing: Windows refuses both on an open file. Once disassembled, the
        // buffer is not flushed a second time.
        drop(writer.into_parts());
        let published = written.and_then(|()| fs::rename(&self.temporary, &self.path));
        match published {
            Ok(()) => sync_folder_of(&self.path),
            Err(error) => {
                self.remove_temporary();
                Err(error)
            }
        }
    }

    fn remove_temporary(&self) {
        // Nothing better can be done about a temporary that cannot be removed; `sweep` tries again.
        let _ = fs::remove_file(&self.temporary);
    }

    fn open_writer(&mut self) -> io::Result<&mut BufWriter<File>> {
        self.writer.as_mut().ok_or_else(|| ErrorKind::NotFound.into())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open_writer()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.open_writer()?.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.open_writer()?.seek(to)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            drop(writer.into_parts());
            self.remove_temporary();
        }
    }
}

/// Writes `path` through `write`, whole or not at all.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut AtomicFile) -> io::Result<()>,
) -> Result<(), FileError> {
    let mut file = AtomicFile::create(path)?;
    write(&mut file).map_err(|e| write_error(path, "write", &e))?;
    file.commit()
}

/// Removes temporaries that a killed writer left in `folder`, but not those that are being written now. A folder
/// that does not exist has none.
pub fn sweep(folder: &Path) -> Result<(), FileError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(FileError::io(folder, "list the folder", &e)),
    };
    for entry in entries {
        let path = entry.map_err(|e| FileError::io(folder, "list the folder", &e))?.path();
        if is_temporary(&path) && !is_being_written(&path) {
            fs::remove_file(&path).map_err(|e| write_error(&path, "remove a leftover", &e))?;
        }
    }
    Ok(())
}

/// Whether `path` has a name that [`AtomicFile`] gives to unfinished files.
pub(crate) fn is_temporary(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(TEMPORARY_SUFFIX))
}

fn is_being_written(path: &Path) -> bool {
    match File::open(path).map(|file| file.try_lock()) {
        Ok(Ok(())) => false,
        Ok(Err(TryLockError::WouldBlock | TryLockError::Error(_))) | Err(_) => true,
    }
}

/// Creates `folder` and its parents.
pub(crate) fn create_folder(folder: &Path) -> Result<(), FileError> {
    fs::create_dir_all(folder).map_err(|e| write_error(folder, "create the folder", &e))
}

/// An operating-system error while doing `what` to `path`, with advice.
pub(crate) fn write_error(path: &Path, what: &str, error: &io::Error) -> FileError {
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space or choose a folder on another disk"
        }
        ErrorKind::FileTooLarge => "the disk or a limit of this session does not allow files of this size",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "choose a folder that you may write to"
        }
        ErrorKind::NotFound => "create the folder first or choose another",
        ErrorKind::NotADirectory => "a part of the path is a file; choose another folder",
        ErrorKind::IsADirectory => "a folder of that name is in the way; remove it or choose another name",
        _ => "check the disk and the folder",
    };
    let problem = format!("cannot {what}: {error}; {remedy}. An existing file is unchanged");
    FileError::whole(path, problem).with_write_failure(Some(error.kind()))
}

/// Hidden, and unique per writer, so that two writers never share a temporary.
fn temporary_name(path: &Path) -> Result<PathBuf, FileError> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let Some(name) = path.file_name() else {
        let problem = "cannot write: the path names no file; add a file name";
        let write_failure = Some(ErrorKind::InvalidFilename);
        return Err(FileError::whole(path, problem).with_write_failure(write_failure));
    };
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(
        ".{}-{}{TEMPORARY_SUFFIX}",
        std::process::id(),
        COUNTER.fetch_add(1, Ordering::Relaxed)
    ));
    Ok(path.with_file_name(temporary))
}

/// Makes the rename itself durable.
#[cfg(unix)]
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some network and FUSE file systems have no fsync for folders; the file itself is safe.
        Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        // A folder that may be written to but not read.
        Err(e) if e.kind() == ErrorKind::PermissionDenied => Ok(()),
        result => result,
    }
}

#[cfg(not(unix))]
fn sync_folder_of(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_only_when_committed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"whole").unwrap();
        assert!(!path.exists());
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names_in(folder.path()), ["a.bin"]);
    }

    #[test]
    fn a_failing_writer_leaves_the_old_file_and_no_temporary() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        fs::write(&path, b"old").unwrap();
        let error = write_whole(&path, |file| {
            file.write_all(b"half of the n")?;
            Err(ErrorKind::StorageFull.into())
        })
        .unwrap_err();
        assert!(error.to_string().contains("free some space"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names_in(folder.path()), ["a.bin"]);
    }

    #[test]
    fn a_missing_folder_is_named_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nowhere/a.bin");
        let error = write_whole(&path, |file| file.write_all(b"x")).unwrap_err();
        assert_eq!(error.path, path);
        assert!(error.problem.contains("create the folder"), "{error}");
    }

    #[test]
    fn a_folder_in_the_way_is_refused_and_the_temporary_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        fs::create_dir_all(path.join("inner")).unwrap();
        assert!(write_whole(&path, |file| file.write_all(b"x")).is_err());
        assert_eq!(names_in(folder.path()), ["a.bin"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_read_only_folder_keeps_its_files() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        fs::write(&path, b"old").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        let result = write_whole(&path, |file| file.write_all(b"new"));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        // Root may write anywhere, so that only an ordinary user sees the refusal.
        let expected: &[u8] = if result.is_ok() { b"new" } else { b"old" };
        assert_eq!(fs::read(&path).unwrap(), expected);
        assert_eq!(names_in(folder.path()), ["a.bin"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_even_root_cannot_write_to_is_refused() {
        let error = write_whole(Path::new("/proc/self/a.bin"), |file| file.write_all(b"x")).unwrap_err();
        assert!(error.problem.contains("folder"), "{error}");
    }

    #[test]
    fn leftovers_are_swept_but_not_what_is_being_written() {
        let folder = tempfile::tempdir().unwrap();
        let live = AtomicFile::create(&folder.path().join("live.bin")).unwrap();
        fs::write(folder.path().join(".dead.bin.1-0.supple-tmp"), b"half").unwrap();
        fs::write(folder.path().join("mine.tmp"), b"kept").unwrap();
        sweep(folder.path()).unwrap();
        live.commit().unwrap();
        assert_eq!(names_in(folder.path()), ["live.bin", "mine.tmp"]);
        sweep(&folder.path().join("nowhere")).unwrap();
    }
}
