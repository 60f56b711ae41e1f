//! Globs over paths below one folder.

use std::path::{Path, PathBuf};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// Globs that belong to a folder. A glob without `/` is about names, of files and folders at any depth; one with `/`
/// about the path below the folder. A folder that matches stands for everything in it.
#[derive(Debug, Clone)]
pub(crate) struct Globs {
    folder: PathBuf,
    names: GlobSet,
    paths: GlobSet,
}

impl Globs {
    /// Reads globs; `Err` says which is wrong and why.
    pub(crate) fn new<'a>(
        folder: &Path,
        globs: impl Iterator<Item = &'a str>,
    ) -> Result<Globs, globset::Error> {
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for text in globs {
            let trimmed = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
            if trimmed.contains('/') {
                paths.add(glob(trimmed.trim_start_matches('/'))?);
            } else {
                names.add(glob(trimmed)?);
            }
        }
        Ok(Globs { folder: folder.to_owned(), names: names.build()?, paths: paths.build()? })
    }

    /// Whether one of them matches the file or a folder around it. `file` is absolute, without `.` and `..`.
    pub(crate) fn matches(&self, file: &Path) -> bool {
        if self.names.is_empty() && self.paths.is_empty() {
            return false;
        }
        let Ok(relative) = file.strip_prefix(&self.folder) else {
            return false;
        };
        relative.ancestors().filter(|part| !part.as_os_str().is_empty()).any(|part| {
            self.paths.is_match(part)
                || part.file_name().is_some_and(|name| self.names.is_match(Path::new(name)))
        })
    }
}

fn glob(text: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(text).literal_separator(true).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, file: &str) -> bool {
        Globs::new(Path::new("/project"), [glob].into_iter()).unwrap().matches(Path::new(file))
    }

    #[test]
    fn names_match_at_any_depth() {
        assert!(matches("2017-*.ipynb", "/project/a/b/2017-titanic.ipynb"));
        assert!(matches("old", "/project/a/old/b.ipynb"));
        assert!(matches("old/", "/project/old/b.ipynb"));
        assert!(!matches("old", "/project/older/b.ipynb"));
        assert!(!matches("*.ipynb", "/project/a.py"));
    }

    #[test]
    fn paths_match_below_the_folder() {
        assert!(matches("a/*.ipynb", "/project/a/x.ipynb"));
        assert!(!matches("a/*.ipynb", "/project/a/b/x.ipynb"));
        assert!(matches("a/**/x.ipynb", "/project/a/b/c/x.ipynb"));
        assert!(matches("a/b", "/project/a/b/c/x.ipynb"));
        assert!(!matches("a/*.ipynb", "/elsewhere/a/x.ipynb"));
        assert!(matches("./a/x.ipynb", "/project/a/x.ipynb"));
    }

    #[test]
    fn what_is_no_glob_is_refused() {
        assert!(Globs::new(Path::new("/"), ["a[".to_string()].iter().map(String::as_str)).is_err());
    }
}
