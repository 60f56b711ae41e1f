//! Archives whose members lie in other folders than the notebook thinks.

use mlem_python::ast::visitor::{Visitor, walk_expr};
use mlem_python::ast::{Expr, ExprCall, StringLiteral};
use mlem_python::{Edit, Program, Ranged, TextRange, TextSize, Unit};

/// A place that unpacks an archive: `zipfile.ZipFile('a.zip').extractall('to')`, `!unzip a.zip -d to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unpacking {
    /// The unit that it stands in.
    pub(crate) unit: usize,
    /// The archive, as the notebook writes it.
    pub(crate) archive: String,
    /// The folder that it is unpacked into; `.` where none is named.
    pub(crate) folder: String,
    /// Where the folder is written, or would be.
    at: TextRange,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The folder is the text between a literal's quotes.
    Literal,
    /// A call without an argument.
    Call,
    /// A shell line, with or without `-d`.
    Shell { named: bool },
}

impl Unpacking {
    /// The edit that unpacks into `folder` instead.
    pub(crate) fn unpacked_into(&self, folder: &str) -> Option<Edit> {
        if folder.contains(['\'', '"', '\\', ' ', '\n']) {
            return None;
        }
        let text = match self.form {
            Form::Literal | Form::Shell { named: true } => folder.to_owned(),
            Form::Call => format!("'{folder}'"),
            Form::Shell { named: false } => format!(" -d {folder}"),
        };
        Some(Edit::replacement(self.at, text))
    }

    /// The folder that has to be unpacked into so that `missing` is there, when the archive's `members` lie in no such
    /// folder themselves.
    pub(crate) fn wanted_folder(&self, missing: &str, members: &[String]) -> Option<String> {
        let missing = plain(missing);
        let inside = match plain(&self.folder) {
            "" => missing,
            folder => missing.strip_prefix(folder)?.strip_prefix('/')?,
        };
        let (first, rest) = inside.split_once('/').unwrap_or((inside, ""));
        let prefix = format!("{first}/");
        let is_there =
            |member: &String| rest.is_empty() || member == rest || member.starts_with(&format!("{rest}/"));
        if first.is_empty()
            || first.contains('.')
            || members.iter().any(|member| member.starts_with(&prefix))
            || !members.iter().any(is_there)
        {
            return None;
        }
        Some(match plain(&self.folder) {
            "" => first.to_owned(),
            folder => format!("{folder}/{first}"),
        })
    }
}

/// A relative path without `./` in front and `/` behind; the working folder is empty.
fn plain(path: &str) -> &str {
    let path = path.strip_prefix("./").unwrap_or(path).trim_end_matches('/');
    if path == "." { "" } else { path }
}

/// Every place of the program that unpacks an archive named by a literal.
pub(crate) fn unpackings(program: &Program) -> Vec<Unpacking> {
    let mut found = Vec::new();
    for (unit, parsed) in program.units().iter().enumerate() {
        let mut calls = Calls { program, unit, archives: Vec::new(), found: Vec::new() };
        for statement in parsed.body() {
            calls.visit_stmt(statement);
        }
        // `with ZipFile('a.zip') as z: z.extractall()`: the nearest archive named before the call is meant.
        found.extend(calls.found);
        found.extend(shell(parsed, unit));
    }
    found
}

struct Calls<'a> {
    program: &'a Program,
    unit: usize,
    archives: Vec<String>,
    found: Vec<Unpacking>,
}

impl<'a> Visitor<'a> for Calls<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        walk_expr(self, expr);
        let Expr::Call(call) = expr else { return };
        let is_archive = match &*call.func {
            Expr::Attribute(attribute) => attribute.attr.as_str() == "ZipFile",
            Expr::Name(name) => name.id.as_str() == "ZipFile",
            _ => false,
        };
        if is_archive && let Some(Expr::StringLiteral(name)) = call.arguments.args.first() {
            self.archives.push(name.value.to_str().to_owned());
        }
        if let Expr::Attribute(attribute) = &*call.func
            && attribute.attr.as_str() == "extractall"
            && let Some(archive) = self.archives.last().cloned()
        {
            self.found.extend(self.unpacking(call, archive));
        }
    }
}

impl Calls<'_> {
    fn unpacking(&self, call: &ExprCall, archive: String) -> Option<Unpacking> {
        let source = self.program.units()[self.unit].source();
        let path = call
            .arguments
            .keywords
            .iter()
            .find(|keyword| keyword.arg.as_ref().is_some_and(|name| name.as_str() == "path"));
        let folder = call.arguments.args.first().or(path.map(|keyword| &keyword.value));
        let (folder, at, form) = match folder {
            Some(Expr::StringLiteral(literal)) => {
                let [only] = literal.value.as_slice() else { return None };
                (only.value.to_string(), between_quotes(source, only)?, Form::Literal)
            }
            Some(_) => return None,
            None => {
                let end = call.range().end().checked_sub(TextSize::new(1))?;
                (".".to_owned(), TextRange::empty(end), Form::Call)
            }
        };
        Some(Unpacking { unit: self.unit, archive, folder, at, form })
    }
}

fn between_quotes(source: &str, literal: &StringLiteral) -> Option<TextRange> {
    let text = &source[literal.range()];
    let open = text.find(['\'', '"'])?;
    let quote = if text[open..].starts_with("'''") || text[open..].starts_with("\"\"\"") { 3 } else { 1 };
    let start = literal.range().start() + TextSize::try_from(open + quote).ok()?;
    Some(TextRange::new(start, literal.range().end() - TextSize::try_from(quote).ok()?))
}

/// `!unzip -q a.zip -d folder`.
fn shell(parsed: &Unit, unit: usize) -> Vec<Unpacking> {
    let source = parsed.source();
    let read = |magic: &mlem_python::Magic| {
        let text = &source[magic.range];
        let line = text.strip_prefix('!')?;
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() != Some(&"unzip") || line.contains(['{', '$', '|', ';', '&', '\n']) {
            return None;
        }
        let at = words.iter().position(|word| *word == "-d");
        let folder = at.and_then(|at| words.get(at + 1).copied());
        let archive = words[1..].iter().find(|word| !word.starts_with('-') && Some(**word) != folder)?;
        let offset = |word: &str| {
            // Words are slices of the line, so their addresses tell where they stand.
            TextSize::try_from(word.as_ptr() as usize - source.as_ptr() as usize).ok()
        };
        let (range, form) = match folder {
            Some(word) => {
                let start = offset(word)?;
                (TextRange::at(start, TextSize::try_from(word.len()).ok()?), Form::Shell { named: true })
            }
            None => (TextRange::empty(magic.range.end()), Form::Shell { named: false }),
        };
        let archive = archive.trim_matches(['\'', '"']).to_owned();
        Some(Unpacking { unit, archive, folder: folder.unwrap_or(".").to_owned(), at: range, form })
    };
    parsed.magics().iter().filter_map(read).collect()
}

/// The members of an archive that a message of pandas lists
/// (`Multiple files found in ZIP file. Only one file per ZIP: ['a.csv', 'b.csv']`).
pub(crate) fn listed_members(message: &str) -> Vec<String> {
    let list = message.split_once('[').map_or("", |(_, list)| list);
    let names = list.split(['\'', '"']).skip(1).step_by(2);
    // What macOS adds beside each file.
    names.filter(|name| !name.starts_with("__MACOSX/")).map(str::to_owned).collect()
}

/// The edits that read one member of an archive which holds several: the one called like the archive, or the only one
/// that is a table.
pub(crate) fn read_member(unit: &Unit, line: usize, members: &[String]) -> Option<(Vec<Edit>, String)> {
    let statement = unit.body().iter().find(|statement| {
        let (first, last) = unit.lines(statement.range());
        (first..=last).contains(&line)
    })?;
    let mut reads = Reads { found: Vec::new() };
    reads.visit_stmt(statement);
    let [literal] = reads.found.as_slice() else { return None };
    let archive = literal.value.to_string();
    let stem = archive.rsplit('/').next()?.strip_suffix(".zip")?.to_owned();
    let named = |member: &&String| {
        let name = member.rsplit('/').next().unwrap_or(member);
        name == stem || name == format!("{stem}.csv")
    };
    let tables: Vec<&String> = members.iter().filter(|member| member.ends_with(".csv")).collect();
    let member = match (members.iter().find(named), tables.as_slice()) {
        (Some(member), _) => member,
        (None, [only]) => only,
        _ => return None,
    };
    if member.contains(['\'', '\\']) {
        return None;
    }
    let source = unit.source();
    let text = &source[literal.range()];
    let start = source[..statement.start().to_usize()].rfind('\n').map_or(0, |at| at + 1);
    let edits = vec![
        Edit::insertion(TextSize::try_from(start).ok()?, "import zipfile\n"),
        Edit::replacement(literal.range(), format!("zipfile.ZipFile({text}).open('{member}')")),
    ];
    Some((edits, format!("`{archive}` holds several files; `{member}` is the one meant")))
}

struct Reads {
    found: Vec<StringLiteral>,
}

impl<'a> Visitor<'a> for Reads {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr
            && let Expr::Attribute(attribute) = &*call.func
            && matches!(attribute.attr.as_str(), "read_csv" | "read_table")
            && let Some(Expr::StringLiteral(literal)) = call.arguments.args.first()
            && let [only] = literal.value.as_slice()
            && only.value.ends_with(".zip")
        {
            self.found.push(only.clone());
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn into(cell: &str, missing: &str, members: &[&str]) -> Option<String> {
        let program = Program::new(vec![Unit::cell(cell)]);
        let members: Vec<String> = members.iter().map(|member| (*member).to_owned()).collect();
        let unpacking = unpackings(&program).into_iter().next()?;
        let edit = unpacking.unpacked_into(&unpacking.wanted_folder(missing, &members)?)?;
        let mut text = cell.to_owned();
        text.replace_range(edit.range.start().to_usize()..edit.range.end().to_usize(), &edit.text);
        Some(text)
    }

    #[test]
    fn an_archive_without_folders_is_unpacked_into_the_one_that_is_used() {
        let cell = "with zipfile.ZipFile('t.zip') as z:\n    z.extractall()";
        assert_eq!(
            into(cell, "train/1.jpg", &["1.jpg", "2.jpg"]).as_deref(),
            Some("with zipfile.ZipFile('t.zip') as z:\n    z.extractall('train')")
        );
        assert_eq!(
            into("ZipFile('t.zip').extractall('data/')", "data/train", &["1.jpg"]).as_deref(),
            Some("ZipFile('t.zip').extractall('data/train')")
        );
        assert_eq!(
            into("!unzip -q t.zip", "./train/", &["1.jpg"]).as_deref(),
            Some("!unzip -q t.zip -d train")
        );
        assert_eq!(
            into("!unzip -q t.zip -d x", "x/train", &["1.jpg"]).as_deref(),
            Some("!unzip -q t.zip -d x/train")
        );
        assert_eq!(into(cell, "train/1.jpg", &["train/1.jpg"]), None, "the folder is in the archive");
        assert_eq!(into(cell, "train/3.jpg", &["1.jpg"]), None, "another file is meant");
        assert_eq!(into(cell, "weights.h5", &["1.jpg"]), None);
    }

    #[test]
    fn the_member_called_like_the_archive_is_read() {
        let message =
            "Multiple files found in ZIP file. Only one file per ZIP: ['a.csv', 't.csv', '__MACOSX/._t.csv']";
        let members = listed_members(message);
        assert_eq!(members, ["a.csv", "t.csv"]);
        let cell = "%%time\ndf = pd.read_csv('in/t.csv.zip', sep=';')";
        let (edits, _) = read_member(&Unit::cell(cell), 2, &members).unwrap();
        let mut set = mlem_python::EditSet::new();
        set.add_all(edits).unwrap();
        assert_eq!(
            set.apply(cell).unwrap(),
            "%%time\nimport zipfile\ndf = pd.read_csv(zipfile.ZipFile('in/t.csv.zip').open('t.csv'), sep=';')"
        );
        assert!(read_member(&Unit::cell("pd.read_csv('x.zip')"), 1, &members).is_none());
    }
}
