//! Replacing a file so that a reader never sees half of it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file whole or not at all: into a temporary file of the same folder, flushed to the
/// disk, then renamed over the old one. The old file's permissions (and, where allowed, its owner)
/// are kept, and a symbolic link keeps pointing to the file it points to.
///
/// # Errors
/// If the target is a directory or another thing that is no regular file, is read-only, or its
/// folder cannot be written. The old file is unchanged then.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = resolve(path)?;
    let old = match fs::metadata(&target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(old) = &old {
        if old.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
        }
        if !old.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        // A rename would replace it all the same; whoever made it read-only did not want that.
        if old.permissions().readonly() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
        }
    }
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mlem-").suffix(".tmp");
    #[cfg(unix)]
    if old.is_none() {
        use std::os::unix::fs::PermissionsExt;
        // The umask takes its part away, as for any new file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut temporary = builder.tempfile_in(folder).map_err(|error| {
        let reason = if error.kind() == io::ErrorKind::NotFound {
            "there is no such folder".into()
        } else {
            error.to_string()
        };
        io::Error::new(error.kind(), format!("cannot create a file in `{}`: {reason}", folder.display()))
    })?;
    temporary.write_all(bytes)?;
    if let Some(old) = &old {
        keep_owner(temporary.as_file(), old);
        temporary.as_file().set_permissions(old.permissions())?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|error| error.error)?;
    // The rename itself lives in the folder. Some file systems cannot sync a folder; the file is
    // in place all the same.
    #[cfg(unix)]
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

#[cfg(unix)]
fn keep_owner(file: &File, old: &fs::Metadata) {
    use std::os::unix::fs::MetadataExt;
    // Only the superuser may give files away; for everyone else the new file is their own.
    let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &fs::Metadata) {}

/// Follows symbolic links to the file that is really written, which need not exist yet.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    // Linux gives up after 40 links too (path_resolution(7)).
    for _ in 0..40 {
        match fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.file_type().is_symlink() => {
                let link = fs::read_link(&target)?;
                target = target.parent().map_or_else(|| link.clone(), |parent| parent.join(&link));
            }
            _ => return Ok(target),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links"))
}
