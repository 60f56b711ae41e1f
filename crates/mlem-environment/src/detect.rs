//! Which distributions a notebook needs.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use mlem_python::{Program, Unit};
use serde::Serialize;

use crate::collect::{self, Found, Source, collect};
use crate::distribution::Distribution;
use crate::environment::Wanted;
use crate::knowledge::{Cause, Knowledge, top_level};
use crate::requirement::{Requirement, read_requirements};
use crate::surroundings::{Evidence, Surroundings};

/// What an import name, magic or install line turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NeedKind {
    /// A distribution that the reviewed table, an install line or the repository's requirements name.
    Known,
    /// No table holds the name; the distribution of the same name is a guess, which may be someone else's project.
    Guessed,
    /// Part of the standard library of some Python.
    StandardLibrary,
    /// One of the notebook's own modules.
    Local,
    /// Only a hosted notebook service has it.
    Platform,
    /// It is known, and no package index has it.
    NotOnIndex,
}

/// What says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// An import statement.
    Import,
    /// An IPython magic.
    Magic,
    /// A `pip install` or `conda install` line.
    PipLine,
    /// The repository's requirements, for an import that no table holds.
    Requirement,
    /// Use of another library that needs it without importing it in the notebook, e.g. `pandas.read_excel`.
    Implied,
}

/// One thing that a notebook needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Need {
    /// The dotted import as first written, or the call or magic; `None` for an install line.
    pub import: Option<String>,
    /// The one distribution that answers the need.
    pub distribution: Option<Distribution>,
    /// Other distributions that offer the same import.
    pub alternatives: Vec<Distribution>,
    /// Version specifiers of PEP 440 that an install line or the repository states, or `""`.
    pub specifier: String,
    /// What it is.
    pub kind: NeedKind,
    /// What says so.
    pub why: Why,
    /// The notebook may do without it: every import of it stands in a `try` that survives its absence, or nothing but
    /// an install line speaks of it.
    pub optional: bool,
    /// Index of the unit, counted as they were given; `None` when a file beside the notebook says so.
    pub unit: Option<usize>,
    /// Line in that unit or file, from 1.
    pub line: usize,
    /// The file beside the notebook that says so.
    pub file: Option<PathBuf>,
    /// What a person should know.
    pub note: Option<String>,
    /// Where a package comes from when an install line names an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl Need {
    /// Whether it is part of the standard library of some Python.
    pub fn is_standard_library(&self) -> bool {
        self.kind == NeedKind::StandardLibrary
    }

    /// Whether it is one of the notebook's own modules.
    pub fn is_local(&self) -> bool {
        self.kind == NeedKind::Local
    }
}

/// Everything one notebook needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Detected {
    /// Needs in the order in which the notebook shows them; one for each distribution and each own module.
    pub needs: Vec<Need>,
    /// The repository's requirements that concern these needs.
    pub evidence: Vec<Evidence>,
    /// What was seen and could not be used, in words.
    pub notes: Vec<String>,
}

/// Whether old version specifiers bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pins {
    /// Names only: today's versions are wanted.
    Ignore,
    /// As the notebook and its repository state them.
    Honour,
}

impl Detected {
    /// What an environment for the notebook should hold, in alphabetical order. Guarded imports, packages that only an
    /// install line names and packages from repositories are not required. Guesses are left out: installing a
    /// stranger's distribution because a lost module had its name would run its code ([`Detected::guesses`] lists them).
    pub fn wanted(&self, pins: Pins) -> Vec<Wanted> {
        let mut wanted: BTreeMap<&Distribution, Wanted> = BTreeMap::new();
        for need in &self.needs {
            let Some(distribution) = &need.distribution else { continue };
            if need.kind == NeedKind::Guessed {
                continue;
            }
            let mut requirement = Requirement::any(distribution.clone());
            // A constraint of the table says where the import still exists, which binds always.
            requirement.specifier = match pins {
                Pins::Honour => need.specifier.clone(),
                Pins::Ignore => constraint(need),
            };
            requirement.url.clone_from(&need.url);
            let required = need.kind == NeedKind::Known && !need.optional && need.url.is_none();
            wanted
                .entry(distribution)
                .and_modify(|other| {
                    other.required |= required;
                    if other.requirement.specifier.is_empty() {
                        other.requirement.specifier.clone_from(&requirement.specifier);
                    }
                })
                .or_insert(Wanted { requirement, required });
        }
        wanted.into_values().collect()
    }

    /// The distributions needed, in alphabetical order, guesses included.
    pub fn distributions(&self) -> Vec<&Distribution> {
        let mut names: Vec<&Distribution> =
            self.needs.iter().filter_map(|need| need.distribution.as_ref()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Needs whose distribution is only guessed.
    pub fn guesses(&self) -> impl Iterator<Item = &Need> {
        self.needs.iter().filter(|need| need.kind == NeedKind::Guessed)
    }
}

fn constraint(need: &Need) -> String {
    match &need.import {
        Some(import) if need.why == Why::Import => {
            Knowledge::shipped().offer(import).map(|offer| offer.specifier).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// Detects needs; remembers what lies around each folder, so that many notebooks of one folder cost one look.
#[derive(Debug)]
pub struct Detector {
    python: (u8, u8),
    folders: Mutex<HashMap<PathBuf, Arc<Surroundings>>>,
}

impl Detector {
    /// For a target Python, which decides which standard library modules are gone.
    pub fn new(python: (u8, u8)) -> Self {
        Self { python, folders: Mutex::new(HashMap::new()) }
    }

    /// What lies around the notebooks of a folder.
    pub fn surroundings(&self, folder: &Path) -> Arc<Surroundings> {
        // The map stays whole if another thread panicked: entries are inserted complete.
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = folders.get(folder) {
            return Arc::clone(known);
        }
        let found = Arc::new(Surroundings::read(folder));
        folders.insert(folder.to_owned(), Arc::clone(&found));
        found
    }

    /// What a notebook needs, from the sources of its code cells in order and the folder it lies in.
    ///
    /// Most cells hold nothing that concerns the environment; they are not even parsed, which makes this several times
    /// faster than [`Detector::detect`] with the same answer.
    pub fn detect_sources<S: AsRef<str>>(&self, cells: &[S], folder: &Path) -> Detected {
        let unit = |cell: &S| Unit::cell(if collect::concerns(cell.as_ref()) { cell.as_ref() } else { "" });
        let units: Vec<Unit> = cells.iter().map(unit).collect();
        self.detect(&units, folder)
    }

    /// What a notebook needs, from its parsed code cells in order and the folder it lies in.
    pub fn detect(&self, units: &[Unit], folder: &Path) -> Detected {
        detect_units(units, &self.surroundings(folder), self.python)
    }
}

/// What a program needs, for a target Python (major, minor).
pub fn detect(program: &Program, folder: &Path, python: (u8, u8)) -> Detected {
    detect_units(program.units(), &Surroundings::read(folder), python)
}

/// What units need, given what lies around them.
pub fn detect_units(units: &[Unit], surroundings: &Surroundings, python: (u8, u8)) -> Detected {
    let mut assembly = Assembly {
        knowledge: Knowledge::shipped(),
        surroundings,
        python,
        detected: Detected::default(),
        positions: HashMap::new(),
        read: Vec::new(),
        written: Vec::new(),
    };
    let found = collect(units, None);
    assembly.written.clone_from(&found.written_modules);
    assembly.take(&found);
    assembly.confirm();
    assembly.settle();
    assembly.detected
}

struct Assembly<'a> {
    knowledge: &'static Knowledge,
    surroundings: &'a Surroundings,
    python: (u8, u8),
    detected: Detected,
    /// Index of the need of a key, so that each is listed once.
    positions: HashMap<String, usize>,
    /// Files beside the notebook that were read.
    read: Vec<PathBuf>,
    /// Modules that `%%writefile` makes.
    written: Vec<String>,
}

/// How many modules beside a notebook are followed.
const MODULES: usize = 50;

impl Assembly<'_> {
    fn take(&mut self, found: &Found) {
        for import in &found.imports {
            self.import(&import.name, import.optional, &import.source);
        }
        for (name, argument, source) in &found.magics {
            self.magic(name, argument, source);
        }
        for (command, source) in &found.commands {
            self.command(command, source);
        }
        self.implied(found);
        for (script, _) in &found.scripts {
            self.follow(self.surroundings.folder().join(script));
        }
    }

    fn add(&mut self, key: String, need: Need) {
        match self.positions.get(&key) {
            Some(&position) => {
                let known = &mut self.detected.needs[position];
                known.optional &= need.optional;
                if known.specifier.is_empty() {
                    known.specifier = need.specifier;
                }
                if known.kind == NeedKind::Guessed && need.kind == NeedKind::Known {
                    known.kind = NeedKind::Known;
                }
                if known.url.is_none() {
                    known.url = need.url;
                }
            }
            None => {
                self.positions.insert(key, self.detected.needs.len());
                self.detected.needs.push(need);
            }
        }
    }

    fn import(&mut self, name: &str, optional: bool, source: &Source) {
        let top = top_level(name);
        let mut need = Need {
            import: Some(name.to_owned()),
            distribution: None,
            alternatives: Vec::new(),
            specifier: String::new(),
            kind: NeedKind::Known,
            why: Why::Import,
            optional,
            unit: source.unit,
            line: source.line,
            file: source.file.clone(),
            note: None,
            url: None,
        };
        if self.written.iter().any(|module| module == top) || self.surroundings.is_local(top) {
            need.kind = NeedKind::Local;
            self.add(format!("local {top}"), need);
            self.follow_module(name);
            return;
        }
        if let Some((first, last)) = self.knowledge.standard_library(top) {
            need.kind = NeedKind::StandardLibrary;
            if self.python > last && last < (3, 13) {
                need.note = Some(format!("not in the standard library after Python {}.{}", last.0, last.1));
            } else if self.python < first {
                need.note = Some(format!("in the standard library since Python {}.{}", first.0, first.1));
            }
            self.add(format!("standard {top}"), need);
            return;
        }
        if self.knowledge.is_platform_only(name) {
            need.kind = NeedKind::Platform;
            need.note = Some("only the hosted notebook service has it".to_owned());
            self.add(format!("platform {name}"), need);
            return;
        }
        // `from google import colab` and `import google.colab` mean the same; `google` alone means nothing.
        match self.knowledge.offer(name) {
            Some(offer) => {
                need.alternatives = offer.alternatives;
                need.specifier = offer.specifier;
                need.note = offer.note;
                match offer.distribution {
                    Some(distribution) => {
                        let key = distribution.to_string();
                        need.distribution = Some(distribution);
                        self.add(key, need);
                    }
                    None => {
                        need.kind = NeedKind::NotOnIndex;
                        self.add(format!("nowhere {top}"), need);
                    }
                }
            }
            None => {
                need.kind = NeedKind::Guessed;
                if Distribution::is_valid(top) {
                    let guess = Distribution::new(top);
                    need.note = Some(format!(
                        "no table holds `{top}`; a distribution of that name may be something else"
                    ));
                    let key = guess.to_string();
                    need.distribution = Some(guess);
                    self.add(key, need);
                } else {
                    need.note = Some(format!("no table holds `{top}`"));
                    self.add(format!("nowhere {top}"), need);
                }
            }
        }
    }

    /// A need for a distribution that is known without an import.
    fn distribution(
        &mut self,
        distribution: &Distribution,
        cause: String,
        why: Why,
        optional: bool,
        source: &Source,
    ) {
        let need = Need {
            import: Some(cause),
            distribution: Some(distribution.clone()),
            alternatives: Vec::new(),
            specifier: String::new(),
            kind: NeedKind::Known,
            why,
            optional,
            unit: source.unit,
            line: source.line,
            file: source.file.clone(),
            note: None,
            url: None,
        };
        self.add(distribution.to_string(), need);
    }

    fn magic(&mut self, name: &str, argument: &str, source: &Source) {
        if matches!(name, "load_ext" | "reload_ext") {
            let extension = argument.split_whitespace().next().unwrap_or_default().trim_matches(['"', '\'']);
            match self.knowledge.extension(extension) {
                Some(needs) => {
                    for distribution in needs {
                        self.distribution(
                            distribution,
                            format!("%load_ext {extension}"),
                            Why::Magic,
                            false,
                            source,
                        );
                    }
                }
                None if extension.is_empty() => {}
                None => self.import(extension, false, source),
            }
            return;
        }
        for distribution in self.knowledge.magic(name) {
            self.distribution(distribution, format!("%{name}"), Why::Magic, false, source);
        }
    }

    fn command(&mut self, command: &str, source: &Source) {
        let mut installs = crate::install_line::read(command);
        self.detected.notes.append(&mut installs.skipped);
        for file in &installs.files {
            let path = self.surroundings.folder().join(file);
            match read_requirements(&path) {
                Ok(read) => installs.requirements.extend(read.requirements.into_iter().map(|(_, each)| each)),
                Err(error) => self.detected.notes.push(error.to_string()),
            }
        }
        for requirement in installs.requirements {
            let named = requirement.distribution;
            let preferred = self.knowledge.preferred(&named).cloned();
            let note = preferred.as_ref().map(|_| format!("the notebook installs `{named}`"));
            // A version of another distribution says nothing about the preferred one.
            let specifier = if preferred.is_some() { String::new() } else { requirement.specifier };
            let url = if preferred.is_some() { None } else { requirement.url };
            let distribution = preferred.unwrap_or(named);
            let need = Need {
                import: None,
                distribution: Some(distribution.clone()),
                alternatives: Vec::new(),
                specifier,
                kind: NeedKind::Known,
                why: Why::PipLine,
                optional: true,
                unit: source.unit,
                line: source.line,
                file: source.file.clone(),
                note,
                url,
            };
            self.add(distribution.to_string(), need);
        }
    }

    fn implied(&mut self, found: &Found) {
        let knowledge = self.knowledge;
        for implied in &knowledge.implied {
            let (cause, optional, source) = match &implied.cause {
                Cause::Import(name) => {
                    let Some(import) = found.imports.iter().find(|import| is_within(&import.name, name))
                    else {
                        continue;
                    };
                    if self.surroundings.is_local(top_level(name)) {
                        continue;
                    }
                    (name.clone(), import.optional, &import.source)
                }
                Cause::Call(name, literal) => {
                    let hit = found.uses.iter().find(|used| {
                        is_within(&used.name, name)
                            && literal.as_ref().is_none_or(|end| {
                                used.literals.iter().any(|text| text.ends_with(end.as_str()))
                            })
                    });
                    let Some(hit) = hit else { continue };
                    (name.clone(), false, &hit.source)
                }
                Cause::Method(name, with) => {
                    let Some(hit) = found.uses.iter().find(|used| used.method && used.name == *name) else {
                        continue;
                    };
                    if !found.imports.iter().any(|import| top_level(&import.name) == with) {
                        continue;
                    }
                    (format!(".{name}"), false, &hit.source)
                }
            };
            for distribution in &implied.needs {
                self.distribution(distribution, cause.clone(), Why::Implied, optional, source);
            }
        }
    }

    /// Reads the file of one of the notebook's own modules: what it imports, the notebook needs.
    fn follow_module(&mut self, dotted: &str) {
        let mut name = dotted;
        loop {
            if let Some(file) = self.surroundings.module_file(name) {
                self.follow(file);
            }
            match name.rsplit_once('.') {
                Some((front, _)) => name = front,
                None => break,
            }
        }
    }

    fn follow(&mut self, file: PathBuf) {
        if self.read.len() >= MODULES || self.read.contains(&file) {
            return;
        }
        self.read.push(file.clone());
        let small = std::fs::metadata(&file).is_ok_and(|data| data.is_file() && data.len() <= 1 << 20);
        let Some(text) = small.then(|| std::fs::read(&file).ok()).flatten() else { return };
        let unit = Unit::module(&String::from_utf8_lossy(&text));
        let found = collect(std::slice::from_ref(&unit), Some(&file));
        self.take(&found);
    }

    /// An import that no table holds is no guess when the repository requires a distribution of that name; and what the
    /// repository says about versions is noted.
    fn confirm(&mut self) {
        for evidence in self.surroundings.evidence() {
            let named = &evidence.requirement.distribution;
            let distribution = self.knowledge.preferred(named).unwrap_or(named);
            let Some(&position) = self.positions.get(distribution.as_str()) else { continue };
            let need = &mut self.detected.needs[position];
            if need.kind == NeedKind::Guessed {
                need.kind = NeedKind::Known;
                need.why = Why::Requirement;
                need.note = None;
            }
            if need.specifier.is_empty() && distribution == named {
                need.specifier.clone_from(&evidence.requirement.specifier);
            }
            self.detected.evidence.push(evidence.clone());
        }
        self.detected.notes.extend(self.surroundings.notes().iter().cloned());
    }

    /// Puts the needs into the notebook's order: cells first, then files.
    fn settle(&mut self) {
        self.detected
            .needs
            .sort_by_key(|need| (need.unit.is_none(), need.unit, need.file.clone(), need.line));
        self.detected.notes.sort();
        self.detected.notes.dedup();
    }
}

/// Whether a dotted name is `prefix` or something inside it.
fn is_within(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
