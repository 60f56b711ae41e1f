//! What lies around a notebook: its own modules, and what its repository says about requirements.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Distribution;
use crate::knowledge::Knowledge;
use crate::requirement::{Requirement, read_requirements};

/// A requirement that the repository states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The file.
    pub file: PathBuf,
    /// Its line, from 1; `None` where the format has no lines of its own.
    pub line: Option<usize>,
    /// What it asks for.
    pub requirement: Requirement,
}

/// What lies around the notebooks of one folder. Read once for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    folder: PathBuf,
    root: Option<PathBuf>,
    /// Modules and packages beside the notebook: these come first on Python's path.
    beside: BTreeSet<String>,
    /// Folders beside the notebook with Python files but no `__init__.py`: namespace packages, the last on the path.
    loose: BTreeSet<String>,
    /// Modules and packages in the repository's root and its `src`.
    in_root: BTreeSet<String>,
    evidence: Vec<Evidence>,
    notes: Vec<String>,
}

/// How many entries of a folder are looked at for Python files: a folder of a million pictures is no package.
const LOOKED_AT: usize = 2_000;

/// Requirements of a file, with their lines from 1 where the format has lines.
type Stated = Vec<(Option<usize>, Requirement)>;

/// How many folders up a repository's root is looked for.
const CLIMB: usize = 12;

impl Surroundings {
    /// Looks at a folder and its parents up to the root of the repository. Without a version control folder, the
    /// nearest of at most three parents that states requirements counts as root.
    pub fn read(folder: &Path) -> Self {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let mut found = Self { folder: folder.clone(), ..Self::default() };
        found.root = root_of(&folder);
        modules_in(&folder, &mut found.beside, &mut found.loose);
        if let Some(root) = found.root.clone() {
            let mut loose = BTreeSet::new();
            if root != folder {
                modules_in(&root, &mut found.in_root, &mut loose);
            }
            modules_in(&root.join("src"), &mut found.in_root, &mut loose);
            found.in_root.append(&mut loose);
        }
        let mut place = Some(folder.as_path());
        while let Some(here) = place {
            found.read_evidence(here);
            let at_root = found.root.as_deref().is_none_or(|root| root == here);
            place = if at_root { None } else { here.parent() };
        }
        found
    }

    /// The folder of the notebook.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The repository's root, when there is one.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Requirements that the repository states, the nearest files first.
    pub fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    /// Files that could not be read, and why.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether a top-level import is one of the notebook's own modules. What lies beside the notebook hides any
    /// installed module, except a folder without `__init__.py`, which any installed module hides; what lies in the
    /// repository's root counts only for names that mean nothing else.
    pub fn is_local(&self, top_level: &str) -> bool {
        if self.beside.contains(top_level) {
            return true;
        }
        let knowledge = Knowledge::shipped();
        (self.loose.contains(top_level) || self.in_root.contains(top_level))
            && knowledge.offer(top_level).is_none()
            && knowledge.standard_library(top_level).is_none()
    }

    /// The file of a local module, e.g. `utils.py` or `helpers/__init__.py` for `helpers`.
    pub(crate) fn module_file(&self, dotted: &str) -> Option<PathBuf> {
        let mut relative = PathBuf::new();
        relative.extend(dotted.split('.'));
        let root = self.root.iter().cloned();
        let places =
            std::iter::once(self.folder.clone()).chain(root.clone()).chain(root.map(|root| root.join("src")));
        for place in places {
            for path in
                [place.join(&relative).with_extension("py"), place.join(&relative).join("__init__.py")]
            {
                if path.is_file() {
                    return Some(path);
                }
            }
        }
        None
    }

    fn read_evidence(&mut self, folder: &Path) {
        for path in names_in(folder) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with("requirements") && (name.ends_with(".txt") || name.ends_with(".pip")) {
                match read_requirements(&path) {
                    Ok(file) => {
                        self.evidence.extend(file.requirements.into_iter().map(|(line, requirement)| {
                            Evidence { file: path.clone(), line: Some(line), requirement }
                        }))
                    }
                    Err(error) => self.notes.push(error.to_string()),
                }
            } else if matches!(name, "environment.yml" | "environment.yaml") {
                self.read_text(&path, conda_environment);
            } else if name == "pyproject.toml" {
                self.read_text(&path, pyproject);
            }
        }
    }

    fn read_text(&mut self, path: &Path, read: fn(&str) -> Result<Stated, String>) {
        let text = match fs::metadata(path) {
            Ok(data) if data.len() <= 1 << 20 => fs::read_to_string(path).map_err(|error| error.to_string()),
            Ok(_) => Err("larger than 1 MB".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        match text.and_then(|text| read(&text)) {
            Ok(found) => self.evidence.extend(found.into_iter().map(|(line, requirement)| Evidence {
                file: path.to_owned(),
                line,
                requirement,
            })),
            Err(reason) => self.notes.push(format!("cannot read {}: {reason}", path.display())),
        }
    }
}

fn root_of(folder: &Path) -> Option<PathBuf> {
    let versioned = folder
        .ancestors()
        .take(CLIMB)
        .find(|place| [".git", ".hg", ".svn"].iter().any(|mark| place.join(mark).exists()));
    let states = |place: &&Path| {
        names_in(place).iter().any(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            matches!(name, "pyproject.toml" | "environment.yml" | "environment.yaml" | "setup.py")
                || name.starts_with("requirements") && name.ends_with(".txt")
        })
    };
    versioned.or_else(|| folder.ancestors().take(4).find(states)).map(Path::to_owned)
}

fn names_in(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .map(|list| list.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}

fn modules_in(folder: &Path, modules: &mut BTreeSet<String>, loose: &mut BTreeSet<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if let Some(stem) = name.strip_suffix(".py") {
            // An nbconvert copy of a notebook, `01 Intro.py`, is no module.
            if is_identifier(stem) {
                modules.insert(stem.to_owned());
            }
        } else if is_identifier(name) && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if path.join("__init__.py").is_file() {
                modules.insert(name.to_owned());
            } else if fs::read_dir(&path).is_ok_and(|list| {
                list.flatten()
                    .take(LOOKED_AT)
                    .any(|inner| inner.path().extension().is_some_and(|end| end == "py"))
            }) {
                loose.insert(name.to_owned());
            }
        }
    }
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The `dependencies` of a conda environment file, its `pip` section included. Only the form that conda itself writes and
/// its documentation shows is read: block lists with `- item` lines; anchors, flow lists and multi-line strings are not.
fn conda_environment(text: &str) -> Result<Stated, String> {
    let mut found = Vec::new();
    let mut inside = false;
    let mut pip_indent = None;
    for (index, raw) in text.lines().enumerate() {
        let line = raw.split(" #").next().unwrap_or(raw).trim_end();
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if indent == 0 && !content.starts_with('-') {
            inside = content.starts_with("dependencies:");
            pip_indent = None;
            continue;
        }
        let Some(item) = content.strip_prefix("- ").filter(|_| inside) else { continue };
        let item = item.trim().trim_matches(['"', '\'']);
        if pip_indent.is_some_and(|outer| indent <= outer) {
            pip_indent = None;
        }
        if item == "pip:" {
            pip_indent = Some(indent);
        } else if pip_indent.is_some() {
            // `-r file` and paths inside the section say nothing by themselves.
            if let Ok(requirement) = Requirement::parse(item) {
                found.push((Some(index + 1), requirement));
            }
        } else {
            let item = item.rsplit("::").next().unwrap_or(item);
            // conda also separates name and version by a space: `numpy 1.19.*`.
            let spaced = item
                .split_once(' ')
                .filter(|(_, version)| version.trim().starts_with(|c: char| c.is_ascii_digit()));
            let item = spaced
                .map_or_else(|| item.to_owned(), |(name, version)| format!("{name}={}", version.trim()));
            if let Ok(mut requirement) = Requirement::parse(&item)
                && let Some(name) = Knowledge::shipped().from_conda(requirement.distribution.as_str())
            {
                requirement.distribution = name;
                found.push((Some(index + 1), requirement));
            }
        }
    }
    Ok(found)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Pyproject {
    project: Project,
    tool: Tool,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct Project {
    dependencies: Vec<String>,
    optional_dependencies: std::collections::BTreeMap<String, Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tool {
    poetry: Poetry,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Poetry {
    dependencies: std::collections::BTreeMap<String, toml::Value>,
}

/// `project.dependencies` and its optional groups (PEP 621), and `tool.poetry.dependencies`.
fn pyproject(text: &str) -> Result<Stated, String> {
    let file: Pyproject = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    let groups = file.project.optional_dependencies.into_values().flatten();
    let mut found: Stated = file
        .project
        .dependencies
        .into_iter()
        .chain(groups)
        .filter_map(|text| Requirement::parse(&text).ok())
        .map(|requirement| (None, requirement))
        .collect();
    for (name, value) in file.tool.poetry.dependencies {
        if name == "python" || !Distribution::is_valid(&name) {
            continue;
        }
        let version = match &value {
            toml::Value::String(version) => version.as_str(),
            toml::Value::Table(table) => table.get("version").and_then(toml::Value::as_str).unwrap_or("*"),
            _ => "*",
        };
        // Poetry's own `^1.2` and `~1.2` are no specifiers of PEP 440; the name alone is evidence enough.
        let requirement = Requirement::parse(&format!("{name}{version}"))
            .or_else(|_| Requirement::parse(&name))
            .unwrap_or_else(|_| Requirement::any(Distribution::new(&name)));
        found.push((None, requirement));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(found: Result<Stated, String>) -> Vec<String> {
        found.unwrap().into_iter().map(|(_, requirement)| requirement.to_string()).collect()
    }

    #[test]
    fn conda_environment_files_are_read() {
        let text = "name: course\nchannels:\n  - conda-forge\ndependencies:\n  - python=3.6\n  - numpy=1.14.2=py36_0\n  \
                    - conda-forge::lightgbm # boosted\n  - pytorch\n  - scipy 1.1.*\n  - pip:\n    - kaggle==1.3\n    \
                    - \"tqdm>=4\"\n  - pytables\nprefix: /home/x\n";
        assert_eq!(
            shown(conda_environment(text)),
            ["numpy==1.14.2", "lightgbm", "torch", "scipy==1.1.*", "kaggle==1.3", "tqdm>=4", "tables"]
        );
        let flush = "dependencies:\n- numpy\n- pip:\n  - tqdm\n";
        assert_eq!(shown(conda_environment(flush)), ["numpy", "tqdm"]);
    }

    #[test]
    fn pyproject_files_are_read() {
        let text = "[project]\ndependencies = ['numpy>=1.2', 'pandas']\n[project.optional-dependencies]\nplot = ['seaborn']\n\
                    [tool.poetry.dependencies]\npython = '^3.7'\nxgboost = '^0.90'\nscipy = { version = '>=1.0' }\n";
        assert_eq!(shown(pyproject(text)), ["numpy>=1.2", "pandas", "seaborn", "scipy>=1.0", "xgboost"]);
        assert!(pyproject("[project").is_err());
    }

    #[test]
    fn own_modules_are_found_beside_the_notebook_and_in_the_root() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("notebooks/2019");
        for sub in [
            "notebooks/2019/package",
            "notebooks/2019/tensorflow",
            "notebooks/2019/mystuff",
            "src/inner",
            ".git",
        ] {
            fs::create_dir_all(root.path().join(sub)).unwrap();
        }
        for file in [
            "notebooks/2019/utils.py",
            "notebooks/2019/package/__init__.py",
            "notebooks/2019/tensorflow/example.py",
            "notebooks/2019/mystuff/a.py",
            "notebooks/2019/01 Intro.py",
            "src/inner/__init__.py",
            "shared.py",
            "keras.py",
            "requirements.txt",
        ] {
            fs::write(root.path().join(file), if file.ends_with(".txt") { "numpy==1.2\n" } else { "" })
                .unwrap();
        }
        let found = Surroundings::read(&folder);
        for name in ["utils", "package", "mystuff", "inner", "shared"] {
            assert!(found.is_local(name), "{name}");
        }
        // A folder without __init__.py and a file in the root do not hide the installed libraries.
        for name in ["tensorflow", "keras", "numpy"] {
            assert!(!found.is_local(name), "{name}");
        }
        assert_eq!(found.evidence().len(), 1);
        assert!(found.module_file("inner").is_some());
    }
}
