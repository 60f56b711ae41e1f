//! The index of public names: what the installed distributions offer, read from their source.
//!
//! Nothing is imported for it. Python's own `ast` would need ten seconds and more for a usual environment; the parser in
//! `mlem-python` needs a second, and does not care which Python the source is for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use mlem_python::Unit;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Distribution;
use crate::bindings::{Binding, Module};
use crate::environment::Environment;
use crate::outline::outline;
use crate::probe::Kind;

/// The standard library's place among distributions.
pub(crate) const PYTHON: &str = "python";

/// One place where a name can be imported from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Module and name, e.g. `sklearn.model_selection.train_test_split`.
    pub(crate) qualified: String,
    /// Where it is defined; places with the same origin are the same thing.
    pub(crate) origin: String,
    pub(crate) distribution: String,
    pub(crate) kind: &'static str,
}

#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    /// Entries while they are collected.
    entries: Vec<Entry>,
    /// The finished index: one entry a line, fields separated by tabs, sorted, with a line break before the first.
    text: String,
    /// Distribution of each top-level name, for modules added later.
    holders: BTreeMap<String, String>,
}

/// The first line of an index file; changes with its format.
const HEADING: &str = "#mlem names 1";

impl NameIndex {
    /// Reads an index that was written before.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).ok()?;
        text.starts_with(HEADING).then(|| Self { text, ..Self::default() })
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let draft = tempfile::NamedTempFile::new_in(folder)?;
        fs::write(draft.path(), &self.text)?;
        draft.persist(path)?;
        Ok(())
    }

    /// Reads the source of everything on the environment's path. Also returns the public modules that re-export a
    /// compiled module whole (`from ._ufuncs import *`), whose names only an import tells.
    pub(crate) fn build(environment: &Environment) -> (Self, Vec<String>) {
        let mut reader = Reader::default();
        let interpreter = &environment.interpreter;
        for place in &interpreter.search_path {
            let is_library = *place == interpreter.standard_library;
            let inside = place.starts_with(&interpreter.standard_library);
            let is_packages = place.ends_with("site-packages") || place.ends_with("dist-packages");
            if is_library || !inside || is_packages {
                reader.add_place(place, is_library);
            }
        }
        let mut entries = BTreeSet::new();
        let mut compiled = Vec::new();
        let mut modules: Vec<String> =
            reader.files.keys().filter(|module| is_public(module)).cloned().collect();
        modules.sort();
        for module in &modules {
            let distribution = reader.distribution(module);
            for (name, kind) in reader.public_names(module, &mut compiled) {
                let origin = reader.origin(module, &name, 0);
                let qualified = format!("{module}.{name}");
                let kind = if reader.files.contains_key(&qualified) { "module" } else { kind };
                entries.insert(Entry { name, qualified, origin, distribution: distribution.clone(), kind });
            }
            let name = module.rsplit('.').next().unwrap_or(module).to_owned();
            entries.insert(Entry {
                name,
                qualified: module.clone(),
                origin: module.clone(),
                distribution,
                kind: "module",
            });
        }
        compiled.sort();
        compiled.dedup();
        let holders = reader.holders.iter().map(|(path, name)| (path.clone(), name.clone())).collect();
        (Self { entries: entries.into_iter().collect(), text: String::new(), holders }, compiled)
    }

    /// Adds the names of a module that was imported.
    pub(crate) fn add_compiled(&mut self, module: &str, names: &[(String, Kind)]) {
        let top = module.split('.').next().unwrap_or(module);
        let distribution = self.holders.get(top).cloned().unwrap_or_else(|| top.to_owned());
        let known: FxHashSet<&str> = self
            .entries
            .iter()
            .filter(|entry| entry.qualified.rsplit_once('.').is_some_and(|(front, _)| front == module))
            .map(|entry| entry.name.as_str())
            .collect();
        let fresh: Vec<Entry> = names
            .iter()
            .filter(|(name, _)| !known.contains(name.as_str()))
            .map(|(name, kind)| {
                let qualified = format!("{module}.{name}");
                let kind = match kind {
                    Kind::Class => "class",
                    Kind::Data => "data",
                    _ => "function",
                };
                Entry {
                    name: name.clone(),
                    origin: qualified.clone(),
                    qualified,
                    distribution: distribution.clone(),
                    kind,
                }
            })
            .collect();
        self.entries.extend(fresh);
    }

    /// Sorts what was collected into its searchable form.
    pub(crate) fn finish(&mut self) {
        self.entries.sort();
        self.text = HEADING.to_owned();
        for entry in self.entries.drain(..) {
            let fields =
                [&entry.name, &entry.qualified, &entry.origin, &entry.distribution].map(String::as_str);
            self.text.push('\n');
            self.text.push_str(&fields.join("\t"));
            self.text.push('\t');
            self.text.push_str(entry.kind);
        }
        self.text.push('\n');
    }

    /// All entries of a name.
    pub(crate) fn find(&self, name: &str) -> Vec<Entry> {
        let needle = format!("\n{name}\t");
        let Some(first) = self.text.find(&needle) else { return Vec::new() };
        let entry = |line: &str| {
            let mut fields = line.split('\t').map(str::to_owned);
            let [name, qualified, origin, distribution] =
                [fields.next()?, fields.next()?, fields.next()?, fields.next()?];
            let kind = match fields.next()?.as_str() {
                "class" => "class",
                "function" => "function",
                "module" => "module",
                _ => "data",
            };
            Some(Entry { name, qualified, origin, distribution, kind })
        };
        self.text[first + 1..].lines().map_while(entry).take_while(|entry| entry.name == name).collect()
    }
}

/// Whether no part of a dotted name is private or belongs to tests.
fn is_public(module: &str) -> bool {
    module.split('.').all(|part| {
        !part.starts_with('_')
            && !part.starts_with("test_")
            && !matches!(
                part,
                "tests"
                    | "test"
                    | "conftest"
                    | "setup"
                    | "setup_package"
                    | "benchmarks"
                    | "benchmark"
                    | "examples"
                    | "doc"
                    | "docs"
                    | "vendored"
                    | "vendor"
                    | "third_party"
                    | "extern"
                    | "externals"
                    | "compat"
                    | "deprecated"
                    | "bundled"
            )
    })
}

#[derive(Default)]
struct Reader {
    /// Module to file. Private ones too, for following re-exports.
    files: FxHashMap<String, PathBuf>,
    /// Compiled modules.
    compiled: FxHashSet<String>,
    /// Folder or module of up to three parts, separated by dots, to distribution.
    holders: FxHashMap<String, String>,
    library: FxHashSet<String>,
    read: FxHashMap<String, Rc<Module>>,
}

impl Reader {
    fn add_place(&mut self, place: &Path, is_library: bool) {
        let Ok(entries) = fs::read_dir(place) else { return };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in &paths {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if name.ends_with(".dist-info") {
                self.add_record(path, name);
            }
        }
        for path in &paths {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if is_library
                && matches!(
                    name,
                    "site-packages" | "dist-packages" | "lib-dynload" | "idlelib" | "lib2to3" | "turtledemo"
                )
            {
                continue;
            }
            let before = self.files.len();
            self.add_path(path, name, "", 0);
            if is_library && self.files.len() > before {
                self.library.insert(name.trim_end_matches(".py").to_owned());
            }
        }
    }

    /// Adds a module or a package with all that is in it. What an earlier place has, stays.
    fn add_path(&mut self, path: &Path, name: &str, prefix: &str, depth: usize) {
        let dotted =
            |stem: &str| if prefix.is_empty() { stem.to_owned() } else { format!("{prefix}.{stem}") };
        if let Some(stem) = name.strip_suffix(".py") {
            if stem != "__init__" && is_identifier(stem) {
                self.files.entry(dotted(stem)).or_insert_with(|| path.to_owned());
            }
            return;
        }
        if name.ends_with(".so") || name.ends_with(".pyd") {
            self.compiled.insert(dotted(name.split('.').next().unwrap_or(name)));
            return;
        }
        // Links inside packages are rare, and can lead in circles.
        if depth > 12
            || !is_identifier(name)
            || matches!(name, "tests" | "test" | "__pycache__")
            || !path.is_dir()
        {
            return;
        }
        let module = dotted(name);
        let init = path.join("__init__.py");
        if init.is_file() {
            if depth == 0 && self.files.contains_key(&module) {
                return;
            }
            self.files.entry(module.clone()).or_insert(init);
        }
        let Ok(entries) = fs::read_dir(path) else { return };
        let mut inner: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        inner.sort();
        for path in inner {
            if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
                self.add_path(&path, name, &module, depth + 1);
            }
        }
    }

    /// Reads which files a distribution brought.
    fn add_record(&mut self, folder: &Path, name: &str) {
        let stem = name.trim_end_matches(".dist-info");
        let distribution = Distribution::new(stem.rsplit_once('-').map_or(stem, |(name, _)| name));
        let Ok(record) = fs::read_to_string(folder.join("RECORD")) else { return };
        for line in record.lines() {
            let path = line.split(',').next().unwrap_or(line);
            if path.starts_with(['.', '/', '"']) || path.contains(".dist-info") || !path.ends_with(".py") {
                continue;
            }
            let parts: Vec<&str> =
                path.trim_end_matches(".py").split('/').filter(|part| *part != "__init__").collect();
            for length in 1..=parts.len().min(3) {
                self.holders
                    .entry(parts[..length].join("."))
                    .or_insert_with(|| distribution.as_str().to_owned());
            }
        }
    }

    fn distribution(&self, module: &str) -> String {
        let top = module.split('.').next().unwrap_or(module);
        if self.library.contains(top) {
            return PYTHON.to_owned();
        }
        let parts: Vec<&str> = module.split('.').collect();
        (1..=parts.len().min(3))
            .rev()
            .find_map(|length| self.holders.get(&parts[..length].join(".")).cloned())
            .unwrap_or_else(|| Distribution::new(top).as_str().to_owned())
    }

    fn module(&mut self, name: &str) -> Option<Rc<Module>> {
        if let Some(known) = self.read.get(name) {
            return Some(Rc::clone(known));
        }
        let path = self.files.get(name)?.clone();
        let mut module = Module {
            is_package: path.file_name().is_some_and(|file| file == "__init__.py"),
            ..Module::default()
        };
        for path in [path.clone(), path.with_extension("pyi")] {
            // A stub beside an `__init__.py` that loads lazily holds its re-exports (lazy_loader's convention).
            let is_stub = path.extension().is_some_and(|end| end == "pyi");
            if is_stub && !module.is_package {
                continue;
            }
            let small = fs::metadata(&path).is_ok_and(|data| data.len() <= 8 << 20);
            if let Some(bytes) = small.then(|| fs::read(&path).ok()).flatten() {
                let unit = Unit::module(&outline(&String::from_utf8_lossy(&bytes)));
                module.take(unit.body(), name);
            }
        }
        let module = Rc::new(module);
        self.read.insert(name.to_owned(), Rc::clone(&module));
        Some(module)
    }

    /// The names that a module means to offer, with their kinds.
    fn public_names(&mut self, name: &str, compiled: &mut Vec<String>) -> Vec<(String, &'static str)> {
        let mut found = BTreeMap::new();
        self.gather(name, &mut found, compiled, name, 0);
        found.into_iter().filter(|(name, _)| !name.starts_with('_')).collect()
    }

    fn gather(
        &mut self,
        name: &str,
        found: &mut BTreeMap<String, &'static str>,
        compiled: &mut Vec<String>,
        asked: &str,
        depth: usize,
    ) {
        let Some(module) = self.module(name) else {
            if self.compiled.contains(name) {
                compiled.push(asked.to_owned());
            }
            return;
        };
        if depth > 8 {
            return;
        }
        let top = name.split('.').next().unwrap_or(name).to_owned();
        let own = |target: &str| {
            let first = target.split('.').next().unwrap_or(target);
            first == top || first.trim_start_matches('_') == top || first.starts_with('_')
        };
        let mut stars = BTreeMap::new();
        for star in &module.stars {
            if own(star) {
                self.gather(star, &mut stars, compiled, asked, depth + 1);
            }
        }
        for (bound, binding) in &module.binds {
            let listed = module.all.as_ref().is_some_and(|all| all.contains(bound));
            let free = module.all.is_none() || module.partial;
            let kind = match binding {
                Binding::Class => "class",
                Binding::Function => "function",
                Binding::Data => "data",
                // A plain module imports for its own use; a package's `__init__` to offer.
                Binding::From(target, _) if listed || free && module.is_package && own(target) => "",
                Binding::Module(target) if listed || free && module.is_package && own(target) => "module",
                _ => continue,
            };
            if !(listed || free) {
                continue;
            }
            let kind = if kind.is_empty() { self.kind(name, bound, 0) } else { kind };
            found.insert(bound.clone(), kind);
        }
        for (bound, kind) in stars {
            if module.all.as_ref().is_none_or(|all| all.contains(&bound) || module.partial) {
                found.entry(bound).or_insert(kind);
            }
        }
    }

    /// What a name bound in a module stands for, re-exports followed.
    fn kind(&mut self, module: &str, name: &str, depth: usize) -> &'static str {
        if depth > 10 {
            return "data";
        }
        let Some(read) = self.module(module) else { return "data" };
        match read.binds.get(name) {
            Some(Binding::Class) => "class",
            Some(Binding::Function) => "function",
            Some(Binding::Data) => "data",
            Some(Binding::Module(_)) => "module",
            Some(Binding::From(target, inner)) => {
                if self.files.contains_key(&format!("{target}.{inner}")) {
                    "module"
                } else {
                    self.kind(target, inner, depth + 1)
                }
            }
            None => {
                let stars = read.stars.clone();
                stars
                    .iter()
                    .map(|star| self.kind(star, name, depth + 1))
                    .find(|kind| *kind != "data")
                    .unwrap_or("data")
            }
        }
    }

    /// Where a name bound in a module is defined, re-exports followed.
    fn origin(&mut self, module: &str, name: &str, depth: usize) -> String {
        let here = format!("{module}.{name}");
        if depth > 10 {
            return here;
        }
        let Some(read) = self.module(module) else { return here };
        match read.binds.get(name) {
            Some(Binding::From(target, inner)) => {
                let inside = format!("{target}.{inner}");
                if self.files.contains_key(&inside) { inside } else { self.origin(target, inner, depth + 1) }
            }
            Some(Binding::Module(target)) => target.clone(),
            Some(_) => here,
            None => {
                for star in read.stars.clone() {
                    let offers = self
                        .module(&star)
                        .is_some_and(|read| read.binds.contains_key(name) || !read.stars.is_empty());
                    if offers {
                        return self.origin(&star, name, depth + 1);
                    }
                }
                here
            }
        }
    }
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(files: &[(&str, &str)]) -> NameIndex {
        let place = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let interpreter = crate::Interpreter {
            path: PathBuf::new(),
            version: (3, 13, 0),
            implementation: "CPython".to_owned(),
            machine: String::new(),
            system: String::new(),
            virtual_environment: false,
            search_path: vec![place.path().to_owned()],
            standard_library: PathBuf::from("/nowhere"),
            packages: BTreeMap::new(),
        };
        let environment = Environment {
            python: PathBuf::new(),
            version: (3, 13, 0),
            packages: BTreeMap::new(),
            interpreter,
            lock: None,
            dropped: Vec::new(),
            passed_over: Vec::new(),
            suspects: Vec::new(),
            used: None,
        };
        let (mut index, _) = NameIndex::build(&environment);
        index.finish();
        index
    }

    fn shown(index: &NameIndex, name: &str) -> Vec<String> {
        let shown = |entry: Entry| {
            format!("{} <- {} {} {}", entry.qualified, entry.origin, entry.distribution, entry.kind)
        };
        index.find(name).into_iter().map(shown).collect()
    }

    #[test]
    fn re_exports_are_followed_to_where_a_name_is_defined() {
        let index = index(&[
            (
                "lib/__init__.py",
                "from ._impl import *\nfrom .sub import helper as assist\nfrom os import path\n__version__ = '1'\n",
            ),
            (
                "lib/_impl.py",
                "__all__ = ['split']\ndef split(): pass\ndef hidden(): pass\nfrom numpy import array\n",
            ),
            ("lib/sub.py", "import json\nfrom ._impl import split\ndef helper(): pass\nclass Thing: pass\n"),
            ("lib/tests/test_a.py", "def split(): pass\n"),
            ("Lib_Name-1.0.dist-info/RECORD", "lib/__init__.py,sha256=x,1\nlib/sub.py,,\n"),
        ]);
        assert_eq!(shown(&index, "split"), ["lib.split <- lib._impl.split lib-name function"]);
        assert_eq!(shown(&index, "assist"), ["lib.assist <- lib.sub.helper lib-name function"]);
        assert_eq!(shown(&index, "Thing"), ["lib.sub.Thing <- lib.sub.Thing lib-name class"]);
        assert_eq!(shown(&index, "sub"), ["lib.sub <- lib.sub lib-name module"]);
        for name in ["hidden", "array", "path", "json", "__version__", "nothing"] {
            assert!(shown(&index, name).is_empty(), "{name}: {:?}", shown(&index, name));
        }
    }

    #[test]
    fn lazy_packages_are_read_from_their_stub() {
        let index = index(&[
            (
                "pic/__init__.py",
                "import lazy_loader as lazy\n__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)\n",
            ),
            ("pic/__init__.pyi", "from .io import imread as imread\n"),
            ("pic/io.py", "def imread(): pass\n"),
        ]);
        assert_eq!(
            shown(&index, "imread"),
            ["pic.imread <- pic.io.imread pic function", "pic.io.imread <- pic.io.imread pic function"]
        );
    }

    #[test]
    fn an_index_file_is_read_back() {
        let index = index(&[("one.py", "def f(): pass\n")]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("names/x.tsv");
        index.write(&path).unwrap();
        let read = NameIndex::read(&path).unwrap();
        assert_eq!(shown(&read, "f"), shown(&index, "f"));
        fs::write(&path, "something else").unwrap();
        assert!(NameIndex::read(&path).is_none());
    }
}
