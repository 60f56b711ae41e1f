//! The data-path resolver: where a file that the notebook names lies today, and the literal to change.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use mlem_python::ast::visitor::{Visitor, walk_expr};
use mlem_python::ast::{Expr, ExprFString, InterpolatedStringElement, Operator, Stmt, StringLiteral};
use mlem_python::{Edit, Program, Ranged, TextRange, Unit};
use walkdir::WalkDir;

use crate::tables::{self, Sample};

/// Where notebooks of the big platforms keep their data; what follows is a data set's name or a file.
/// Sources: Kaggle's and Colab's documentation of their file systems.
const PLATFORM_ROOTS: &[&[&str]] = &[
    &["kaggle", "input"],
    &["kaggle", "working"],
    &["..", "input"],
    &["input"],
    &["content", "drive", "My Drive"],
    &["content", "drive", "MyDrive"],
    &["content", "gdrive", "My Drive"],
    &["content"],
    &["gdrive", "My Drive"],
    &["drive", "My Drive"],
];

/// A folder that may hold the notebook's data.
#[derive(Debug, Clone)]
pub struct Root {
    /// Where it lies.
    pub folder: PathBuf,
    /// How a notebook names it: relative to the notebook's folder, or absolute.
    pub written: String,
}

/// All files and folders under the data's roots, by name.
#[derive(Debug)]
pub struct FileIndex {
    entries: Vec<Entry>,
    roots: Vec<Root>,
}

#[derive(Debug)]
struct Entry {
    root: usize,
    segments: Vec<String>,
    written: String,
}

/// The most entries that are indexed; image data sets hold hundreds of thousands of files.
const INDEX_LIMIT: usize = 500_000;

impl FileIndex {
    /// Indexes `roots`; earlier roots win where names are equally good.
    pub fn of(roots: &[Root]) -> FileIndex {
        let mut entries = Vec::new();
        for (root, Root { folder, written }) in roots.iter().enumerate() {
            let files = WalkDir::new(folder).follow_links(true).into_iter().filter_entry(|entry| {
                let name = entry.file_name().to_string_lossy();
                entry.depth() == 0 || !(name.starts_with('.') || name == "__pycache__")
            });
            for entry in files.filter_map(Result::ok).take(INDEX_LIMIT) {
                let Ok(relative) = entry.path().strip_prefix(folder) else { continue };
                let segments: Vec<String> = relative
                    .components()
                    .map(|part| part.as_os_str().to_string_lossy().into_owned())
                    .collect();
                let written = if segments.is_empty() {
                    written.clone()
                } else if written.is_empty() || written == "." {
                    segments.join("/")
                } else {
                    format!("{}/{}", written.trim_end_matches('/'), segments.join("/"))
                };
                entries.push(Entry { root, segments, written });
            }
        }
        FileIndex { entries, roots: roots.to_vec() }
    }

    /// The first root as the notebook writes it: the data folder, where one was named.
    pub fn data(&self) -> Option<&str> {
        self.roots.first().map(|root| root.written.as_str())
    }

    /// The sample submissions among the files.
    pub fn samples(&self) -> Vec<Sample> {
        let path = |entry: &Entry| self.roots[entry.root].folder.join(entry.segments.join("/"));
        let named = self.entries.iter().map(path).filter(|path| tables::is_sample(path));
        named.filter_map(|path| tables::sample(&path)).collect()
    }

    /// The one place that `missing` can mean: the entry that shares the longest tail of its path.
    /// `None` when nothing has its name or when several are equally good.
    pub fn resolve(&self, missing: &str) -> Option<&str> {
        let wanted = segments(missing);
        let name = wanted.last()?;
        let tail = |entry: &Entry, same: fn(&str, &str) -> bool| {
            entry.segments.iter().rev().zip(wanted.iter().rev()).take_while(|(a, b)| same(a, b)).count()
        };
        // Names are compared exactly first: a case-insensitive match is a second-best guess that
        // notebooks written on Windows or macOS need.
        let comparisons: [fn(&str, &str) -> bool; 2] = [|a, b| a == b, |a, b| a.eq_ignore_ascii_case(b)];
        for same in comparisons {
            let candidates: Vec<&Entry> = self
                .entries
                .iter()
                .filter(|entry| entry.segments.last().is_some_and(|last| same(last, name)))
                .collect();
            let Some(best) = candidates
                .iter()
                .map(|entry| (tail(entry, same), std::cmp::Reverse((entry.root, entry.segments.len()))))
                .max()
            else {
                continue;
            };
            let mut winners = candidates.iter().filter(|entry| {
                (tail(entry, same), std::cmp::Reverse((entry.root, entry.segments.len()))) == best
            });
            let winner = winners.next()?;
            return winners.next().is_none().then_some(winner.written.as_str());
        }
        None
    }

    /// Whether anything is indexed besides the roots themselves.
    pub fn is_empty(&self) -> bool {
        self.entries.iter().all(|entry| entry.segments.is_empty())
    }
}

fn segments(path: &str) -> Vec<String> {
    path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect()
}

/// The name of the data set that a platform path belongs to: `/kaggle/input/NAME/…`, `../input/NAME/…`.
pub fn data_set(missing: &str) -> Option<String> {
    let parts = segments(missing);
    PLATFORM_ROOTS.iter().find_map(|root| {
        let rest = parts.strip_prefix_of(root)?;
        (rest.len() > 1).then(|| rest[0].clone())
    })
}

trait StripPrefixOf {
    fn strip_prefix_of(&self, root: &[&str]) -> Option<&[String]>;
}

impl StripPrefixOf for Vec<String> {
    fn strip_prefix_of(&self, root: &[&str]) -> Option<&[String]> {
        let head = self.get(..root.len())?;
        (head.iter().zip(root).all(|(a, b)| a == b)).then(|| &self[root.len()..])
    }
}

/// Whether a path lies where only a platform (Kaggle, Colab) has files.
pub fn is_platform_path(path: &str) -> bool {
    let parts = segments(path);
    PLATFORM_ROOTS.iter().any(|root| parts.strip_prefix_of(root).is_some())
}

/// Takes the path out of the messages that libraries write for a file that is not there.
pub fn missing_path(ename: &str, evalue: &str) -> Option<String> {
    // IOError and OSError also stand for other things (matplotlib's unknown style is one), so their words decide.
    let says_so = ["No such file or directory", "does not exist", "nable to open file"];
    let not_found = matches!(ename, "FileNotFoundError" | "NotADirectoryError")
        || says_so.iter().any(|words| evalue.contains(words))
        || evalue.ends_with(" not found.");
    if !not_found {
        return None;
    }
    // `[Errno 2] No such file or directory: 'p'`, `File b'p' does not exist`, `p not found.`
    // (numpy.loadtxt), `Unable to open file (unable to open file: name = 'p', …)` (h5py).
    for quote in ['\'', '"'] {
        if let Some(start) = evalue.find(quote)
            && let Some(end) = evalue[start + 1..].find(quote)
        {
            return Some(evalue[start + 1..start + 1 + end].to_owned());
        }
    }
    evalue
        .strip_suffix(" not found.")
        .or_else(|| evalue.strip_prefix("File ").and_then(|rest| rest.split(" does not exist").next()))
        .map(|path| path.trim().to_owned())
        .filter(|path| !path.is_empty())
}

/// The edit of a folder that is left over from an `os.walk` loop (`for dirname, _, names in os.walk(…)`, then
/// `dirname + '/train.csv'`): which folder came last depends on the machine, so the found one is written out.
pub fn rewrite_walked_folder(program: &Program, unit: usize, missing: &str, found: &str) -> Option<Edit> {
    let mut finder = Walked { program, unit, missing, found, edit: None };
    for statement in program.units()[unit].body() {
        finder.visit_stmt(statement);
    }
    finder.edit
}

struct Walked<'a> {
    program: &'a Program,
    unit: usize,
    missing: &'a str,
    found: &'a str,
    edit: Option<Edit>,
}

impl Walked<'_> {
    /// A name and the text joined to it, as parts of the missing path. `place` is what is replaced, if not the name.
    fn consider(&mut self, name: &Expr, rest: &str, place: Option<TextRange>) {
        let Expr::Name(folder) = name else { return };
        let walked = is_walked(self.program, folder.id.as_str()) && self.missing.ends_with(rest);
        let Some(head) = self.found.strip_suffix(rest.trim_start_matches('/')).filter(|_| walked) else {
            return;
        };
        let head = head.trim_end_matches('/');
        let head = if head.is_empty() { "." } else { head };
        if !head.contains(['\'', '\\', '{', '}']) {
            self.edit = Some(match place {
                Some(braces) => Edit::replacement(braces, head),
                None => Edit::replacement(name.range(), format!("'{head}'")),
            });
        }
    }

    /// `f'{dirname}/train.csv'`: the folder in braces at the front, and one text behind it.
    fn consider_text(&mut self, text: &ExprFString) {
        let elements: Vec<&InterpolatedStringElement> = text.value.elements().collect();
        let [InterpolatedStringElement::Interpolation(folder), InterpolatedStringElement::Literal(rest)] =
            elements.as_slice()
        else {
            return;
        };
        if folder.format_spec.is_none() && folder.debug_text.is_none() {
            self.consider(&folder.expression, &rest.value, Some(folder.range()));
        }
    }
}

impl<'a> Visitor<'a> for Walked<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::BinOp(sum) if sum.op == Operator::Add => {
                if let Expr::StringLiteral(rest) = &*sum.right {
                    self.consider(&sum.left, rest.value.to_str(), None);
                }
            }
            // `Path(dirname) / 'train.csv'`
            Expr::BinOp(joined) if joined.op == Operator::Div => {
                if let (Expr::Call(path), Expr::StringLiteral(rest)) = (&*joined.left, &*joined.right)
                    && let [name] = &*path.arguments.args
                {
                    self.consider(name, rest.value.to_str(), None);
                }
            }
            Expr::FString(text) => self.consider_text(text),
            // `'{}/train.csv'.format(dirname)`
            Expr::Call(call) if matches!(&*call.func, Expr::Attribute(method) if method.attr.as_str() == "format") => {
                if let (Expr::Attribute(method), [name]) = (&*call.func, &*call.arguments.args)
                    && let Expr::StringLiteral(text) = &*method.value
                    && let Some(rest) = text.value.to_str().strip_prefix("{}")
                {
                    self.consider(name, rest, None);
                }
            }
            Expr::Call(call)
                if self.program.qualified_name(self.unit, &call.func) == Some("os.path.join") =>
            {
                if let [name, Expr::StringLiteral(rest)] = &*call.arguments.args {
                    self.consider(name, rest.value.to_str(), None);
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

/// Whether a name is the folder of some `for name, _, _ in os.walk(…)`.
fn is_walked(program: &Program, name: &str) -> bool {
    program.units().iter().enumerate().any(|(unit, parsed)| {
        parsed.body().iter().any(|statement| {
            let Stmt::For(walk) = statement else { return false };
            let (Expr::Tuple(targets), Expr::Call(call)) = (&*walk.target, &*walk.iter) else { return false };
            let is_folder =
                matches!(targets.elts.first(), Some(Expr::Name(first)) if first.id.as_str() == name);
            is_folder && program.qualified_name(unit, &call.func) == Some("os.walk")
        })
    })
}

/// The edits that open a loose file beside an archive of several members, which pandas refuses to choose from
/// (`Multiple files found in ZIP file`): `train.csv.zip` and `train.zip` give way to `train.csv` where it exists.
pub fn rewrite_archive(unit: &Unit, files: &FileIndex) -> Option<(Edit, String)> {
    let mut literals = Literals::default();
    for statement in unit.body() {
        literals.visit_stmt(statement);
    }
    literals.found.iter().find_map(|literal| {
        let stem = literal.value.strip_suffix(".zip")?;
        let loose = if stem.ends_with(".csv") { stem.to_owned() } else { format!("{stem}.csv") };
        let found = files.resolve(&loose)?;
        Some((
            inside(unit, literal, found)?,
            format!("`{}` holds several files; `{found}` lies beside it", literal.value),
        ))
    })
}

/// The edit that makes `unit` open `found` instead of `missing`: of the literal that says the whole path,
/// or of the longest literal that is a folder part of it. `None` when no literal of this unit is part of the path.
pub fn rewrite(unit: &Unit, missing: &str, found: &str) -> Option<Edit> {
    let mut literals = Literals::default();
    for statement in unit.body() {
        literals.visit_stmt(statement);
    }
    let mut best: Option<(usize, Edit)> = None;
    for literal in literals.found {
        let Some(new) = replacement(&literal.value, missing, found) else { continue };
        let Some(edit) = inside(unit, &literal, &new) else { continue };
        if best.as_ref().is_none_or(|(length, _)| literal.value.len() > *length) {
            best = Some((literal.value.len(), edit));
        }
    }
    best.map(|(_, edit)| edit)
}

/// The edits of every other literal in `unit` that names a platform's folder or file whose place is known.
pub fn rewrite_platform_literals(unit: &Unit, files: &FileIndex) -> Vec<Edit> {
    let mut literals = Literals::default();
    for statement in unit.body() {
        literals.visit_stmt(statement);
    }
    let edits = literals.found.iter().filter_map(|literal| {
        let found = Some(&*literal.value)
            .filter(|value| is_platform_path(value))
            .and_then(|value| files.resolve(value))?;
        let slash = if literal.value.ends_with('/') && !found.ends_with('/') { "/" } else { "" };
        inside(unit, literal, &format!("{found}{slash}"))
    });
    edits.collect()
}

/// What a literal must become so that the path built from it changes from `missing` to `found`.
fn replacement(literal: &str, missing: &str, found: &str) -> Option<String> {
    if literal == missing {
        return Some(found.to_owned());
    }
    // A literal shorter than two characters (`/`, `.`) is not a folder of the notebook's own.
    let rest = missing.strip_prefix(literal).filter(|_| literal.len() >= 2)?;
    let boundary = literal.ends_with(['/', '\\']) || rest.starts_with(['/', '\\']);
    let head = found.strip_suffix(rest).or_else(|| {
        let rest = rest.trim_start_matches('/');
        // `base + 'x.csv'` where the base now is the notebook's own folder.
        (literal.ends_with('/') && found == rest).then_some("./")
    });
    boundary.then_some(head?).map(|head| if head.is_empty() { ".".to_owned() } else { head.to_owned() })
}

/// Replaces the text between a literal's quotes.
fn inside(unit: &Unit, literal: &StringLiteral, new: &str) -> Option<Edit> {
    let text = unit.source().get(literal.range().start().to_usize()..literal.range().end().to_usize())?;
    let open = text.find(['\'', '"'])?;
    let quote = if text[open..].starts_with("'''") || text[open..].starts_with("\"\"\"") { 3 } else { 1 };
    let mark = &text[open..open + 1];
    if new.contains(['\\', '\n']) || new.contains(mark) {
        return None;
    }
    let start = literal.range().start() + mlem_python::TextSize::try_from(open + quote).ok()?;
    let end = literal.range().end() - mlem_python::TextSize::try_from(quote).ok()?;
    Some(Edit { range: mlem_python::TextRange::new(start, end), text: new.to_owned() })
}

#[derive(Default)]
struct Literals {
    found: Vec<StringLiteral>,
}

impl<'a> Visitor<'a> for Literals {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::StringLiteral(literal) = expr {
            self.found.extend(literal.value.iter().cloned());
        }
        walk_expr(self, expr);
    }
}

/// How a notebook in `folder` should write `target`: relative when both lie in `tree`, else absolute.
pub fn written(folder: &Path, target: &Path, tree: &Path) -> String {
    if !(target.starts_with(tree) && folder.starts_with(tree)) {
        return target.to_string_lossy().into_owned();
    }
    let common = folder.components().zip(target.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(target.components().skip(common)).collect();
    if path.as_os_str().is_empty() { ".".to_owned() } else { path.to_string_lossy().replace('\\', "/") }
}

/// Every string literal of `units`.
pub fn literals<'a>(units: impl IntoIterator<Item = &'a Unit>) -> Vec<String> {
    let mut literals = Literals::default();
    for statement in units.into_iter().flat_map(Unit::body) {
        literals.visit_stmt(statement);
    }
    literals.found.into_iter().map(|literal| literal.value.into_string()).collect()
}

/// Every data set that platform paths in the literals of `units` name.
pub fn named_data_sets<'a>(units: impl IntoIterator<Item = &'a Unit>) -> BTreeSet<String> {
    literals(units).iter().filter_map(|literal| data_set(literal)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(files: &[&str]) -> (tempfile::TempDir, FileIndex) {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let index = FileIndex::of(&[Root { folder: folder.path().to_owned(), written: "data".into() }]);
        (folder, index)
    }

    #[test]
    fn the_longest_shared_tail_wins_and_ties_are_refused() {
        let (_keep, files) = index(&["a/train.csv", "b/train.csv", "titanic/Test.csv"]);
        assert_eq!(files.resolve("../input/a/train.csv"), Some("data/a/train.csv"));
        assert_eq!(files.resolve("../input/train.csv"), None);
        assert_eq!(files.resolve("/kaggle/input/test.csv"), Some("data/titanic/Test.csv"));
        assert_eq!(files.resolve("weights.h5"), None);
    }

    #[test]
    fn paths_are_read_from_messages_of_all_generations() {
        let path = |name: &str, message: &str| missing_path(name, message);
        assert_eq!(
            path("FileNotFoundError", "[Errno 2] No such file or directory: '../input/a.csv'"),
            Some("../input/a.csv".into())
        );
        assert_eq!(path("OSError", "../data/x.txt not found."), Some("../data/x.txt".into()));
        assert_eq!(path("FileNotFoundError", "File b'a.csv' does not exist: b'a.csv'"), Some("a.csv".into()));
        assert_eq!(path("KeyError", "'x'"), None);
        assert_eq!(path("OSError", "'seaborn-white' is not a valid package style, path of style file"), None);
    }

    #[test]
    fn the_literal_or_its_base_folder_is_rewritten() {
        let apply = |source: &str, missing: &str, found: &str| {
            let unit = Unit::cell(source);
            let edit = rewrite(&unit, missing, found)?;
            let mut text = source.to_owned();
            text.replace_range(edit.range.start().to_usize()..edit.range.end().to_usize(), &edit.text);
            Some(text)
        };
        assert_eq!(
            apply("a = pd.read_csv(r\"../input/train.csv\")", "../input/train.csv", "data/train.csv")
                .as_deref(),
            Some("a = pd.read_csv(r\"data/train.csv\")")
        );
        assert_eq!(
            apply("base = '../input/'\na = base + 'train.csv'", "../input/train.csv", "data/train.csv")
                .as_deref(),
            Some("base = 'data/'\na = base + 'train.csv'")
        );
        assert_eq!(
            apply("a = os.path.join('../input', f)", "../input/train.csv", "data/x/train.csv").as_deref(),
            Some("a = os.path.join('data/x', f)")
        );
        assert_eq!(apply("a = open(f)", "../input/train.csv", "data/train.csv"), None);
    }

    #[test]
    fn a_folder_left_over_from_a_walk_is_written_out() {
        let cell = "import os\nfor d, _, names in os.walk('../input'):\n    pass\na = open(d + '/train.csv')";
        let program = Program::new(vec![Unit::cell(cell)]);
        let edit = rewrite_walked_folder(&program, 0, "../input/x/train.csv", "data/y/train.csv").unwrap();
        assert_eq!(&cell[edit.range], "d");
        assert_eq!(edit.text, "'data/y'");
        assert!(rewrite_walked_folder(&program, 0, "other.csv", "data/other.csv").is_none());
        for (use_, fixed) in [
            ("open(f'{d}/train.csv')", "open(f'data/y/train.csv')"),
            ("open(Path(d) / 'train.csv')", "open(Path('data/y') / 'train.csv')"),
            ("open('{}/train.csv'.format(d))", "open('{}/train.csv'.format('data/y'))"),
        ] {
            let cell = format!("import os\nfor d, _, names in os.walk('../input'):\n    pass\n{use_}");
            let program = Program::new(vec![Unit::cell(&cell)]);
            let edit =
                rewrite_walked_folder(&program, 0, "../input/x/train.csv", "data/y/train.csv").unwrap();
            let mut text = cell.clone();
            text.replace_range(edit.range.start().to_usize()..edit.range.end().to_usize(), &edit.text);
            assert!(text.ends_with(fixed), "{text}");
        }
    }

    #[test]
    fn data_sets_and_relative_paths() {
        assert_eq!(data_set("../input/my-weights/model.h5").as_deref(), Some("my-weights"));
        assert_eq!(data_set("../input/train.csv"), None);
        assert!(is_platform_path("/kaggle/input/train.csv"));
        assert!(!is_platform_path("data/train.csv"));
        let tree = Path::new("/t");
        assert_eq!(written(Path::new("/t/nb"), Path::new("/t/data"), tree), "../data");
        assert_eq!(written(Path::new("/t"), Path::new("/t"), tree), ".");
        assert_eq!(written(Path::new("/t/nb"), Path::new("/other"), tree), "/other");
    }
}
