//! The notebook's own `.py` modules: those beside it that its cells, or one another, import.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use mlem_python::ast::{Expr, Stmt};
use mlem_python::{Program, Unit};

/// More modules than this are a library that happens to lie beside the notebook.
const LIMIT: usize = 200;

/// Finds helper modules: path relative to `root` and text, in the order of their paths.
pub fn find(notebook: &Program, folder: &Path, root: &Path) -> Vec<(PathBuf, String)> {
    let mut search = vec![folder.to_owned()];
    for unit in notebook.units() {
        search.extend(added_paths(unit).map(|path| normal(&folder.join(path))));
    }
    search.push(root.to_owned());
    let mut found: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut wanted: Vec<(String, Vec<PathBuf>)> =
        imported(notebook).map(|name| (name, search.clone())).collect();
    while let Some((name, search)) = wanted.pop() {
        for path in resolve(&name, &search) {
            let Ok(relative) = path.strip_prefix(root) else { continue };
            if found.contains_key(relative) || found.len() >= LIMIT {
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            // A package's module imports its siblings with and without the package's name.
            let mut nested = search.clone();
            nested.extend(path.parent().map(Path::to_owned));
            let module = Program::new(vec![Unit::module(&text)]);
            wanted.extend(imported(&module).map(|name| (name, nested.clone())));
            found.insert(relative.to_owned(), text);
        }
    }
    found.into_iter().collect()
}

/// Dotted names that units import; a relative import loses its dots, since the search starts beside it.
fn imported(program: &Program) -> impl Iterator<Item = String> + use<> {
    let run: Vec<String> = program
        .units()
        .iter()
        .flat_map(Unit::magics)
        .filter(|magic| magic.name == "run")
        .filter_map(|magic| {
            magic.argument.split_whitespace().next()?.strip_suffix(".py").map(|name| name.replace('/', "."))
        })
        .collect();
    let names: Vec<String> = program
        .imports()
        .iter()
        .flat_map(|import| [import.qualified.clone(), import.module.clone()])
        .map(|name| name.trim_start_matches('.').to_owned())
        .chain(run)
        .filter(|name| !name.is_empty())
        .collect();
    names.into_iter()
}

/// The files that importing `name` reads from the first folder of `search` that has it.
fn resolve(name: &str, search: &[PathBuf]) -> Vec<PathBuf> {
    let parts: Vec<&str> = name.split('.').collect();
    for folder in search {
        let mut files = Vec::new();
        let mut at = folder.clone();
        for part in &parts {
            at.push(part);
            let module = at.with_extension("py");
            let package = at.join("__init__.py");
            if package.is_file() {
                files.push(package);
            } else if module.is_file() {
                files.push(module);
                break;
            } else if !at.is_dir() {
                break;
            }
        }
        if !files.is_empty() {
            return files;
        }
    }
    Vec::new()
}

/// String arguments of `sys.path.append(…)` and `sys.path.insert(0, …)`.
fn added_paths(unit: &Unit) -> impl Iterator<Item = String> {
    unit.body().iter().filter_map(|statement| {
        let Stmt::Expr(statement) = statement else { return None };
        let Expr::Call(call) = &*statement.value else { return None };
        let Expr::Attribute(method) = &*call.func else { return None };
        let Expr::Attribute(path) = &*method.value else { return None };
        let on_path = path.attr.as_str() == "path" && matches!(method.attr.as_str(), "append" | "insert");
        let Expr::StringLiteral(text) = call.arguments.args.last()? else { return None };
        on_path.then(|| text.value.to_str().to_owned())
    })
}

/// Takes `.` and `..` out of a path without asking the file system.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_through_packages_paths_and_one_another() {
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path();
        std::fs::create_dir_all(root.join("nb/figures")).unwrap();
        std::fs::create_dir_all(root.join("code")).unwrap();
        std::fs::write(root.join("nb/helper.py"), "from figures import plots\n").unwrap();
        std::fs::write(root.join("nb/figures/__init__.py"), "from .plots import draw\n").unwrap();
        std::fs::write(root.join("nb/figures/plots.py"), "import numpy\n").unwrap();
        std::fs::write(root.join("code/shared.py"), "x = 1\n").unwrap();
        std::fs::write(root.join("nb/unused.py"), "x = 1\n").unwrap();
        let text = "import helper\nimport sys\nsys.path.append('../code')\nimport shared\nimport numpy";
        let notebook = Program::new(vec![Unit::cell(text)]);
        let found: Vec<String> = find(&notebook, &root.join("nb"), root)
            .into_iter()
            .map(|(path, _)| path.to_string_lossy().into_owned())
            .collect();
        assert_eq!(
            found,
            ["code/shared.py", "nb/figures/__init__.py", "nb/figures/plots.py", "nb/helper.py"]
        );
    }
}
