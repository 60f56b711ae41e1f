//! A throw-away copy of the notebook's surroundings, so that a run never changes the user's files.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;
use walkdir::WalkDir;

/// What is said of every run: the copy protects relative paths only.
pub const UNCONFINED: &str =
    "the notebook ran on a copy of its folder, but absolute paths and linked folders lead to the real files";
/// Files above this size are linked, not copied: data sets are read, and copying them would cost minutes.
/// `fs::copy` shares the blocks on file systems that can (`copy_file_range`), so that most copies cost nothing.
const COPY_LIMIT_BYTES: u64 = 1 << 30;
/// Once this much of a tree is copied, the rest is linked.
const TREE_COPY_LIMIT_BYTES: u64 = 4 << 30;
/// A tree with more files than this is not the notebook's own (a home folder, a data lake): only the notebook's folder is taken.
const FILE_LIMIT: usize = 20_000;

/// A scratch copy of the tree that a notebook lives in.
#[derive(Debug)]
pub struct Scratch {
    directory: TempDir,
    original_root: PathBuf,
    relative_folder: PathBuf,
}

/// The repository that a notebook lies in, else its own folder.
pub fn repository_root(notebook: &Path) -> &Path {
    let folder = notebook.parent().unwrap_or(Path::new("."));
    folder.ancestors().find(|ancestor| ancestor.join(".git").exists()).unwrap_or(folder)
}

/// The tree that is copied for a run: the notebook's repository if it is of a size to copy, else the notebook's own
/// folder, or the nearest one above it that holds everything existing that `named` paths (relative to that folder,
/// such as `../data/a.csv`) lead to.
pub fn tree_root<'a>(notebook: &Path, named: impl IntoIterator<Item = &'a str>) -> PathBuf {
    let folder = notebook.parent().unwrap_or(Path::new("."));
    let repository = repository_root(notebook);
    if repository != folder && file_count(repository) <= FILE_LIMIT {
        return repository.to_owned();
    }
    let climbs = named
        .into_iter()
        .filter(|path| folder.join(path).exists())
        .map(|path| Path::new(path).components().take_while(|part| *part == Component::ParentDir).count())
        .max()
        .unwrap_or(0);
    (1..=climbs)
        .rev()
        .filter_map(|levels| folder.ancestors().nth(levels))
        // A home folder or a file system's root is never a notebook's own tree.
        .filter(|root| root.parent().is_some_and(|parent| parent.parent().is_some()))
        .find(|root| file_count(root) <= FILE_LIMIT)
        .unwrap_or(folder)
        .to_owned()
}

fn file_count(root: &Path) -> usize {
    entries(root, usize::MAX).take(FILE_LIMIT + 1).count()
}

/// Copies a file while the budget for this tree lasts; what is larger, and folders, are linked.
fn copy_or_link(from: &Path, to: &Path, budget: &mut u64) -> io::Result<()> {
    match fs::metadata(from) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= COPY_LIMIT_BYTES.min(*budget) => {
            *budget -= metadata.len();
            fs::copy(from, to).map(drop)
        }
        _ => link(from, to),
    }
}

fn entries(root: &Path, depth: usize) -> impl Iterator<Item = walkdir::DirEntry> {
    WalkDir::new(root)
        .max_depth(depth)
        .follow_links(false)
        .into_iter()
        .filter_entry(|entry| {
            let name = entry.file_name().to_string_lossy();
            entry.depth() == 0
                || !(name == ".git"
                    || name == ".ipynb_checkpoints"
                    || name == "__pycache__"
                    || name == ".mlem"
                    || name.ends_with(".mlem"))
        })
        .filter_map(Result::ok)
}

impl Scratch {
    /// Copies the tree `root` ([`tree_root`]) of `notebook`; both are absolute paths.
    ///
    /// # Errors
    /// When the scratch folder cannot be made or filled, e.g. because the disk is full.
    pub fn copy_of(notebook: &Path, root: &Path) -> io::Result<Scratch> {
        let original_root = root.to_owned();
        let folder = notebook.parent().unwrap_or(Path::new("."));
        let relative_folder = folder.strip_prefix(&original_root).unwrap_or(Path::new("")).to_owned();
        let directory = tempfile::Builder::new().prefix("mlem-").tempdir()?;
        let scratch = Scratch { directory, original_root, relative_folder };
        copy_tree(&scratch.original_root, &scratch.root())?;
        Ok(scratch)
    }

    /// Puts a copy of the folder `data` where Kaggle's notebooks look for it: `../input` of their working folder. What lies
    /// there already stays; a `..` that leads out of the scratch folder is never written to.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn offer_input(&self, data: &Path) -> io::Result<()> {
        let folder = self.folder();
        let Some(parent) = folder.parent().filter(|parent| parent.starts_with(self.directory.path())) else {
            return Ok(());
        };
        let input = parent.join("input");
        if input.exists() { Ok(()) } else { copy_tree(data, &input) }
    }

    /// The copy of the tree's root.
    pub fn root(&self) -> PathBuf {
        self.directory.path().join("tree")
    }

    /// The copy of the notebook's folder: the kernel's working directory.
    pub fn folder(&self) -> PathBuf {
        self.root().join(&self.relative_folder)
    }

    /// The root of the original tree.
    pub fn original_root(&self) -> &Path {
        &self.original_root
    }

    /// A file of the scratch tree as a path relative to the tree's root, if it lies in it.
    pub fn relative(&self, path: &Path) -> Option<PathBuf> {
        let root = self.root();
        let real_root = fs::canonicalize(&root).unwrap_or(root);
        let real = fs::canonicalize(path).ok()?;
        real.strip_prefix(real_root).ok().map(Path::to_owned)
    }
}

/// Copies the tree `root` to `target_root`, within bounds.
fn copy_tree(root: &Path, target_root: &Path) -> io::Result<()> {
    fs::create_dir_all(target_root)?;
    // A folder of very many files (a downloads folder, a data lake) is not the notebook's own: its sub-folders are
    // linked, since copying them would take minutes and a disk.
    let shallow = file_count(root) > FILE_LIMIT;
    let depth = if shallow { 1 } else { usize::MAX };
    let mut budget = TREE_COPY_LIMIT_BYTES;
    for entry in entries(root, depth) {
        let Ok(relative) = entry.path().strip_prefix(root) else { continue };
        let target = target_root.join(relative);
        let made = if entry.file_type().is_dir() {
            if shallow && entry.depth() == 1 {
                link(entry.path(), &target)
            } else {
                fs::create_dir_all(&target)
            }
        } else if entry.path_is_symlink() {
            fs::read_link(entry.path()).and_then(|to| {
                let to = link_target(root, entry.path(), to);
                // A linked file outside the tree is copied, so that writing to it stays here.
                if to.is_absolute() { copy_or_link(&to, &target, &mut budget) } else { link(&to, &target) }
            })
        } else if entry.file_type().is_file() {
            copy_or_link(entry.path(), &target, &mut budget)
        } else {
            // Sockets and pipes are no data.
            Ok(())
        };
        match made {
            // What cannot be read, the notebook could not read either; what has just gone is gone.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound) => {}
            other => other?,
        }
    }
    Ok(())
}

/// A relative link that stays inside the tree is kept, so that it leads into the copy and never back to the
/// user's files; any other is made absolute. Broken and circular links stay so.
fn link_target(root: &Path, at: &Path, to: PathBuf) -> PathBuf {
    if to.is_absolute() {
        return to;
    }
    let folder = at.parent().unwrap_or(Path::new("."));
    let depth = folder.strip_prefix(root).map_or(0, |inside| inside.components().count());
    let climbs = to.components().filter(|part| matches!(part, std::path::Component::ParentDir)).count();
    if climbs <= depth { to } else { folder.join(to) }
}

#[cfg(unix)]
fn link(original: &Path, target: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(original, target)
}

#[cfg(not(unix))]
fn link(original: &Path, target: &Path) -> io::Result<()> {
    fs::copy(original, target).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_reaches_up_to_what_the_notebook_names() {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("project/notebooks");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(tree.path().join("project/data")).unwrap();
        let notebook = folder.join("a.ipynb");
        assert_eq!(tree_root(&notebook, ["../data/a.csv"]), folder, "nothing is there");
        fs::write(tree.path().join("project/data/a.csv"), "").unwrap();
        assert_eq!(tree_root(&notebook, ["x", "../data/a.csv"]), tree.path().join("project"));
    }

    #[test]
    fn a_folder_of_very_many_files_is_not_copied() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("many")).unwrap();
        for number in 0..=FILE_LIMIT {
            fs::write(tree.path().join(format!("many/{number}")), "").unwrap();
        }
        fs::write(tree.path().join("a.csv"), "x").unwrap();
        let notebook = tree.path().join("nb.ipynb");
        let scratch = Scratch::copy_of(&notebook, &tree_root(&notebook, [])).unwrap();
        assert!(!fs::symlink_metadata(scratch.folder().join("a.csv")).unwrap().is_symlink());
        assert!(fs::symlink_metadata(scratch.folder().join("many")).unwrap().is_symlink());
        assert!(scratch.folder().join("many/7").is_file());
    }

    #[test]
    fn copies_the_repository_and_survives_circular_links() {
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join("course/data")).unwrap();
        fs::write(root.join("helper.py"), "x = 1\n").unwrap();
        fs::write(root.join("course/data/a.csv"), "a\n1\n").unwrap();
        fs::write(root.join("course/nb.ipynb"), "{}").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(".", root.join("course/loop")).unwrap();
        let scratch = Scratch::copy_of(&root.join("course/nb.ipynb"), root).unwrap();
        assert_eq!(scratch.original_root(), root);
        assert!(scratch.root().join("helper.py").is_file());
        assert!(scratch.folder().join("data/a.csv").is_file());
        assert!(!scratch.root().join(".git").exists());
        #[cfg(unix)]
        assert_eq!(fs::read_link(scratch.root().join("course/loop")).unwrap(), PathBuf::from("."));
        assert_eq!(scratch.relative(&scratch.root().join("helper.py")), Some(PathBuf::from("helper.py")));
    }
}
