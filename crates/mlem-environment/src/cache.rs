//! The folder of built environments: who uses one, and taking out those that nobody uses.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::environment::{EnvironmentError, OURS, RECORD, Record};

/// Held while an environment of the cache is in use: a shared lock that [`prune`] cannot get past. Its file's time is
/// when the environment was last taken.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    _lock: Arc<File>,
}

impl PartialEq for Use {
    /// Who uses an environment says nothing about what it is.
    fn eq(&self, _: &Use) -> bool {
        true
    }
}

impl Eq for Use {}

impl Use {
    /// Marks the environment in `folder` as used until the result is dropped. `None` where its file cannot be locked,
    /// such as in a cache that may only be read; nothing there can be pruned either.
    pub(crate) fn of(folder: &Path) -> Option<Use> {
        let file = open(&lock_path(folder, "use")).ok()?;
        file.lock_shared().ok()?;
        // A file system that keeps no times only makes the environment look older.
        let _ = file.set_modified(SystemTime::now());
        Some(Use { _lock: Arc::new(file) })
    }

    /// As [`Use::of`], for the environment of the cache that an interpreter belongs to, if it belongs to one.
    pub(crate) fn of_interpreter(python: &Path) -> Option<Use> {
        let folder = python.ancestors().nth(3)?;
        folder.join(OURS).is_file().then(|| Use::of(folder))?
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

/// The file beside an environment's folder by which processes take turns: `lock` to build it, `use` to use it.
pub(crate) fn lock_path(folder: &Path, kind: &str) -> PathBuf {
    folder.with_extension(kind)
}

/// One environment of the cache that nobody uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    /// Its folder.
    pub folder: PathBuf,
    /// `3.13` and the number of distributions; `None` of a build that was never finished.
    pub holds: Option<(String, usize)>,
    /// Size of its files in bytes.
    pub bytes: u64,
    /// How long ago it was last taken.
    pub idle: Duration,
}

/// What [`prune`] did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Environments that were removed.
    pub removed: Vec<Unused>,
    /// Folders of environments that a running process uses or builds.
    pub in_use: Vec<PathBuf>,
    /// Environments that were used too recently.
    pub recent: usize,
}

/// Begins the name of a folder that is being removed.
const DOOMED: &str = ".removing-";

/// Removes environments under `cache/environments` that were built here, are used by no process, and were last taken at
/// least `older_than` ago. With `only_tell` nothing is removed.
///
/// # Errors
/// [`EnvironmentError::Cache`] when a folder cannot be read or removed.
pub fn prune(cache: &Path, older_than: Duration, only_tell: bool) -> Result<Pruned, EnvironmentError> {
    let environments = cache.join("environments");
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| EnvironmentError::Cache { path, source }
    };
    let mut pruned = Pruned::default();
    let entries = match fs::read_dir(&environments) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(pruned),
        Err(error) => return Err(at(&environments)(error)),
    };
    let mut folders: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    folders.sort();
    for folder in folders {
        if is_doomed(&folder) {
            // A removal that was interrupted; nothing finds an environment under this name.
            if !only_tell {
                fs::remove_dir_all(&folder).map_err(at(&folder))?;
            }
            continue;
        }
        // Only what carries our mark is ours to remove; links are never followed.
        let is_folder = fs::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_dir());
        if !is_folder || !folder.join(OURS).is_file() {
            continue;
        }
        // Before its files are opened here, since that makes those that are lacking.
        let unused = describe(&folder);
        let mut locks = Vec::new();
        for kind in ["lock", "use"] {
            let path = lock_path(&folder, kind);
            let file = open(&path).map_err(at(&path))?;
            match file.try_lock() {
                Ok(()) => locks.push(file),
                Err(TryLockError::WouldBlock) => break,
                Err(TryLockError::Error(error)) => return Err(at(&path)(error)),
            }
        }
        if locks.len() < 2 {
            pruned.in_use.push(folder);
            continue;
        }
        if unused.idle < older_than {
            pruned.recent += 1;
            continue;
        }
        if !only_tell {
            // Under another name first, so that half of it is never taken for an environment.
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            let doomed = environments.join(format!("{DOOMED}{name}"));
            fs::rename(&folder, &doomed).map_err(at(&folder))?;
            fs::remove_dir_all(&doomed).map_err(at(&doomed))?;
        }
        pruned.removed.push(unused);
    }
    Ok(pruned)
}

fn is_doomed(folder: &Path) -> bool {
    folder.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(DOOMED))
}

fn describe(folder: &Path) -> Unused {
    let record = fs::read_to_string(folder.join(RECORD)).ok();
    let record = record.and_then(|text| serde_json::from_str::<Record>(&text).ok());
    // Environments of before there was a file for their use have the time of their record.
    let times = [lock_path(folder, "use"), folder.join(RECORD), folder.join(OURS)];
    let used = times.iter().find_map(|path| fs::metadata(path).ok()?.modified().ok());
    Unused {
        folder: folder.to_owned(),
        holds: record.map(|record| (record.lock.python.clone(), record.lock.packages.len())),
        bytes: size(folder),
        idle: used.and_then(|time| time.elapsed().ok()).unwrap_or_default(),
    }
}

fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(of).sum()
}
