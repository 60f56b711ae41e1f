//! What a notebook's source says that concerns its environment: imports, magics, install commands, uses of names.
//!
//! A walk of its own and not `mlem_python::Program`: thousands of notebooks a second are asked for their imports alone,
//! and the full analysis costs several times that.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use mlem_python::ast::visitor::{Visitor, walk_expr, walk_stmt};
use mlem_python::ast::{self, Expr, Stmt};
use mlem_python::{MagicKind, Ranged, Syntax, TextSize, Unit};
use regex::Regex;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::knowledge::{Cause, Knowledge};

/// Where something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) unit: Option<usize>,
    pub(crate) line: usize,
    pub(crate) file: Option<PathBuf>,
}

pub(crate) struct Imported {
    pub(crate) name: String,
    pub(crate) optional: bool,
    pub(crate) source: Source,
}

/// A name that the table of implied needs speaks of.
pub(crate) struct Used {
    /// The qualified name, or the bare attribute of a method.
    pub(crate) name: String,
    pub(crate) method: bool,
    pub(crate) literals: Vec<String>,
    pub(crate) source: Source,
}

#[derive(Default)]
pub(crate) struct Found {
    pub(crate) imports: Vec<Imported>,
    /// Name, argument, place.
    pub(crate) magics: Vec<(String, String, Source)>,
    /// Shell command lines that may install something.
    pub(crate) commands: Vec<(String, Source)>,
    pub(crate) uses: Vec<Used>,
    /// Modules that the notebook itself writes.
    pub(crate) written_modules: Vec<String>,
    /// Scripts that `%run` names.
    pub(crate) scripts: Vec<(String, Source)>,
}

pub(crate) fn collect(units: &[Unit], file: Option<&Path>) -> Found {
    let mut found = Found::default();
    let mut aliases = FxHashMap::default();
    for (index, unit) in units.iter().enumerate() {
        let mut pass = Statements {
            place: Place { unit, index: file.is_none().then_some(index), file },
            guarded: false,
            found: &mut found,
            aliases: &mut aliases,
        };
        for stmt in unit.body() {
            pass.statement(stmt);
        }
        if !matches!(unit.syntax(), Syntax::Clean | Syntax::Opaque(_)) {
            pass.salvage();
        }
        pass.magics();
    }
    for (index, unit) in units.iter().enumerate() {
        if !INTERESTING.is_match(unit.source()) {
            continue;
        }
        let place = Place { unit, index: file.is_none().then_some(index), file };
        let mut pass = Uses { place, found: &mut found, aliases: &aliases };
        for stmt in unit.body() {
            pass.visit_stmt(stmt);
        }
    }
    found
}

/// Words without which a source holds no use that a table speaks of. Looking for them is far cheaper than walking every
/// expression.
static INTERESTING: LazyLock<Regex> = LazyLock::new(|| {
    let mut words: Vec<String> =
        ["import_module", "__import__", "pip", "conda", r"sys\.path"].map(str::to_owned).into();
    for implied in &Knowledge::shipped().implied {
        match &implied.cause {
            Cause::Import(_) => {}
            Cause::Call(name, _) => words.push(regex::escape(name.rsplit('.').next().unwrap_or(name))),
            Cause::Method(name, _) => words.push(format!(r"\.{}", regex::escape(name))),
        }
    }
    words.sort();
    words.dedup();
    // Every word is a literal of ours, escaped.
    Regex::new(&words.join("|")).expect("a valid pattern")
});

/// Whether a cell may hold anything that [`collect`] looks for: an import, a magic or shell command at the beginning of a
/// line or of an assigned value, or an interesting word.
pub(crate) fn concerns(source: &str) -> bool {
    static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
        // A literal of ours.
        Regex::new(r"import|(?m:^[ \t]*[%!])|=[ \t]*[%!][^=]").expect("a valid pattern")
    });
    ESCAPE.is_match(source) || INTERESTING.is_match(source)
}

/// The last parts of the qualified names, and the methods, of the table of implied needs.
static NAMES: LazyLock<(FxHashSet<&'static str>, FxHashSet<&'static str>)> = LazyLock::new(|| {
    let mut calls = FxHashSet::default();
    let mut methods = FxHashSet::default();
    for implied in &Knowledge::shipped().implied {
        match &implied.cause {
            Cause::Import(_) => {}
            Cause::Call(name, _) => drop(calls.insert(name.as_str())),
            Cause::Method(name, _) => drop(methods.insert(name.as_str())),
        }
    }
    (calls, methods)
});

#[derive(Clone, Copy)]
struct Place<'a> {
    unit: &'a Unit,
    index: Option<usize>,
    file: Option<&'a Path>,
}

impl Place<'_> {
    fn at(&self, offset: TextSize) -> Source {
        self.line(self.unit.position(offset).0)
    }

    fn line(&self, line: usize) -> Source {
        Source { unit: self.index, line, file: self.file.map(Path::to_owned) }
    }
}

struct Statements<'a> {
    place: Place<'a>,
    /// Inside a `try` that survives a failing import.
    guarded: bool,
    found: &'a mut Found,
    aliases: &'a mut FxHashMap<String, String>,
}

impl Statements<'_> {
    fn statement(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name = alias.name.as_str();
                    match &alias.asname {
                        Some(bound) => self.alias(bound.as_str(), name),
                        None => {
                            let top = name.split('.').next().unwrap_or(name);
                            self.alias(top, top);
                        }
                    }
                    self.import(name, import.start());
                }
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map_or("", |module| module.as_str());
                if import.level > 0 {
                    return;
                }
                for alias in &import.names {
                    let name = alias.name.as_str();
                    if name == "*" {
                        self.import(module, import.start());
                        continue;
                    }
                    let qualified = format!("{module}.{name}");
                    self.alias(alias.asname.as_ref().map_or(name, |bound| bound.as_str()), &qualified);
                    self.import(&qualified, import.start());
                    if calls().contains(qualified.as_str()) {
                        let source = self.place.at(import.start());
                        self.found.uses.push(Used {
                            name: qualified,
                            method: false,
                            literals: Vec::new(),
                            source,
                        });
                    }
                }
            }
            Stmt::Try(attempt) => {
                let before = self.guarded;
                self.guarded |= attempt.handlers.iter().any(survives_import);
                self.statements(&attempt.body);
                for handler in &attempt.handlers {
                    let ast::ExceptHandler::ExceptHandler(handler) = handler;
                    self.statements(&handler.body);
                }
                self.guarded = before;
                self.statements(&attempt.orelse);
                self.statements(&attempt.finalbody);
            }
            Stmt::If(branch) => {
                self.statements(&branch.body);
                for clause in &branch.elif_else_clauses {
                    self.statements(&clause.body);
                }
            }
            Stmt::FunctionDef(def) => self.statements(&def.body),
            Stmt::ClassDef(def) => self.statements(&def.body),
            Stmt::With(with) => self.statements(&with.body),
            Stmt::For(each) => {
                self.statements(&each.body);
                self.statements(&each.orelse);
            }
            Stmt::While(each) => {
                self.statements(&each.body);
                self.statements(&each.orelse);
            }
            Stmt::Match(choice) => {
                for case in &choice.cases {
                    self.statements(&case.body);
                }
            }
            _ => {}
        }
    }

    fn statements(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.statement(stmt);
        }
    }

    fn alias(&mut self, bound: &str, qualified: &str) {
        if self.aliases.get(bound).is_none_or(|known| known != qualified) {
            self.aliases.insert(bound.to_owned(), qualified.to_owned());
        }
    }

    fn import(&mut self, name: &str, at: TextSize) {
        if !name.is_empty() {
            let source = self.place.at(at);
            self.found.imports.push(Imported { name: name.to_owned(), optional: self.guarded, source });
        }
    }

    /// Imports of a source that does not parse: the parser's recovery may have swallowed some with a line it did not
    /// understand, so every line that looks like an import counts. What is found twice is counted once later.
    fn salvage(&mut self) {
        static IMPORT: LazyLock<Regex> = LazyLock::new(|| {
            // A literal of ours.
            Regex::new(r"^(\s*)(?:from\s+([A-Za-z_][\w.]*)\s+import\s+[\w(*]|import\s+([A-Za-z_][\w.]*(?:\s+as\s+\w+)?(?:\s*,\s*[A-Za-z_][\w.]*(?:\s+as\s+\w+)?)*)\s*(?:[;#].*)?$)")
                .expect("a valid pattern")
        });
        for (index, line) in self.place.unit.source().lines().enumerate() {
            let Some(parts) = IMPORT.captures(line) else { continue };
            let source = self.place.line(index + 1);
            let seen = |found: &Found, name: &str| {
                found.imports.iter().any(|import| {
                    import.source == source
                        && import
                            .name
                            .strip_prefix(name)
                            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                })
            };
            // A line that is indented may stand in a `try`; what cannot be told is not required.
            let optional = !parts[1].is_empty();
            let names = parts.get(2).or_else(|| parts.get(3)).map_or("", |names| names.as_str());
            for name in names.split(',') {
                let mut words = name.split_whitespace();
                let Some(name) = words.next() else { continue };
                if !seen(self.found, name) {
                    let bound = words.nth(1).unwrap_or(name).to_owned();
                    if parts.get(3).is_some() {
                        self.alias(&bound, name);
                    }
                    self.found.imports.push(Imported {
                        name: name.to_owned(),
                        optional,
                        source: source.clone(),
                    });
                }
            }
        }
    }

    fn magics(&mut self) {
        for magic in self.place.unit.magics() {
            let source = self.place.at(magic.range.start());
            match magic.kind {
                MagicKind::Shell => self.found.commands.push((magic.argument.clone(), source)),
                MagicKind::Line | MagicKind::Cell => {
                    let name = magic.name.as_str();
                    match name {
                        "pip" | "pip3" | "conda" | "mamba" | "sx" | "system" => {
                            let prefix = if matches!(name, "sx" | "system") { "" } else { name };
                            self.found.commands.push((format!("{prefix} {}", magic.argument), source));
                        }
                        "bash" | "sh" | "script" | "!" | "cmd" if magic.kind == MagicKind::Cell => {
                            for (index, line) in
                                self.place.unit.source().lines().enumerate().skip(source.line)
                            {
                                self.found.commands.push((line.to_owned(), self.place.line(index + 1)));
                            }
                        }
                        "writefile" | "file" if magic.kind == MagicKind::Cell => {
                            self.written(&magic.argument, source.line)
                        }
                        "run" => {
                            if let Some(script) =
                                magic.argument.split_whitespace().find(|word| word.ends_with(".py"))
                            {
                                self.found
                                    .scripts
                                    .push((script.trim_matches(['"', '\'']).to_owned(), source));
                            }
                        }
                        _ => self.found.magics.push((name.to_owned(), magic.argument.clone(), source)),
                    }
                }
                _ => {}
            }
        }
    }

    /// `%%writefile utils.py`: a module of the notebook's own, whose imports it needs too.
    fn written(&mut self, argument: &str, first: usize) {
        let Some(stem) =
            argument.split_whitespace().find_map(|word| word.trim_matches(['"', '\'']).strip_suffix(".py"))
        else {
            return;
        };
        let stem = stem.rsplit('/').next().unwrap_or(stem);
        self.found.written_modules.push(stem.to_owned());
        let body: String = self.place.unit.source().split_inclusive('\n').skip(first).collect();
        let module = Unit::module(&body);
        let inner = collect(std::slice::from_ref(&module), None);
        let index = self.place.index;
        self.found.imports.extend(inner.imports.into_iter().map(|import| Imported {
            source: Source {
                unit: index,
                line: import.source.line + first,
                file: self.place.file.map(Path::to_owned),
            },
            ..import
        }));
    }
}

fn calls() -> &'static FxHashSet<&'static str> {
    &NAMES.0
}

/// Whether a handler catches a failing import and goes on.
fn survives_import(handler: &ast::ExceptHandler) -> bool {
    let ast::ExceptHandler::ExceptHandler(handler) = handler;
    if handler.body.iter().any(|stmt| matches!(stmt, Stmt::Raise(_))) {
        return false;
    }
    let catches = |kind: &Expr| {
        matches!(kind, Expr::Name(name)
            if matches!(name.id.as_str(), "ImportError" | "ModuleNotFoundError" | "Exception" | "BaseException"))
    };
    match handler.type_.as_deref() {
        None => true,
        Some(Expr::Tuple(kinds)) => kinds.elts.iter().any(catches),
        Some(kind) => catches(kind),
    }
}

struct Uses<'a> {
    place: Place<'a>,
    found: &'a mut Found,
    aliases: &'a FxHashMap<String, String>,
}

impl Uses<'_> {
    /// The dotted name that an expression means through the notebook's imports.
    fn qualified(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Name(name) => self.aliases.get(name.id.as_str()).cloned(),
            Expr::Attribute(attribute) => {
                let mut name = self.qualified(&attribute.value)?;
                name.push('.');
                name.push_str(attribute.attr.as_str());
                Some(name)
            }
            _ => None,
        }
    }

    fn called(&mut self, call: &ast::ExprCall) {
        let Some(name) = self.qualified(&call.func) else {
            if let Expr::Name(function) = call.func.as_ref()
                && function.id.as_str() == "__import__"
            {
                self.import_by_text(call);
            }
            return;
        };
        if name == "importlib.import_module" {
            self.import_by_text(call);
        } else if matches!(name.as_str(), "os.system" | "os.popen") || name.starts_with("subprocess.") {
            self.command(call);
        } else if calls().contains(name.as_str()) {
            let literals = call
                .arguments
                .args
                .iter()
                .chain(call.arguments.keywords.iter().map(|keyword| &keyword.value))
                .filter_map(text_of)
                .collect();
            let source = self.place.at(call.start());
            self.found.uses.push(Used { name, method: false, literals, source });
        }
    }

    fn import_by_text(&mut self, call: &ast::ExprCall) {
        if let Some(name) = call.arguments.args.first().and_then(text_of)
            && !name.starts_with('.')
            && !name.is_empty()
        {
            let source = self.place.at(call.start());
            self.found.imports.push(Imported { name, optional: true, source });
        }
    }

    /// `os.system("pip install x")` and `subprocess.run([sys.executable, "-m", "pip", "install", "x"])`.
    fn command(&mut self, call: &ast::ExprCall) {
        let line = match call.arguments.args.first() {
            Some(Expr::List(list)) => {
                let words = list.elts.iter().map(|word| text_of(word).unwrap_or_else(|| "python".to_owned()));
                words.map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ")
            }
            Some(first) => text_of(first).unwrap_or_default(),
            None => return,
        };
        if line.contains("install") {
            let source = self.place.at(call.start());
            self.found.commands.push((line, source));
        }
    }
}

fn text_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::StringLiteral(text) => Some(text.value.to_str().to_owned()),
        _ => None,
    }
}

impl<'a> Visitor<'a> for Uses<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => self.called(call),
            Expr::Attribute(attribute) => {
                if NAMES.1.contains(attribute.attr.as_str()) {
                    // `plt.plot` and `np.hist` are functions of modules, not methods of a data frame.
                    let module = matches!(attribute.value.as_ref(), Expr::Name(name) if self.aliases.contains_key(name.id.as_str()));
                    if !module {
                        let source = self.place.at(attribute.start());
                        let name = attribute.attr.as_str().to_owned();
                        self.found.uses.push(Used { name, method: true, literals: Vec::new(), source });
                    }
                } else if let Some(name) = self.qualified(expr)
                    && calls().contains(name.as_str())
                {
                    let source = self.place.at(attribute.start());
                    self.found.uses.push(Used { name, method: false, literals: Vec::new(), source });
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}
