//! The submission's name: graders take `.csv` only, and an old notebook may have written its table without it.

use std::time::Instant;

use mlem_python::ast::visitor::{Visitor, walk_expr};
use mlem_python::ast::{Expr, StringLiteral};
use mlem_python::{Edit, Ranged, TextSize};

use crate::attempt::About;
use crate::live::Repair;
use crate::propose::Proposal;
use crate::report::EditSource;
use crate::session::{Session, SessionError};
use crate::sources::{LineChange, Sources};
use crate::tables::Table;

impl Repair<'_> {
    /// Adds `.csv` to the name of a submission that was written without a suffix, and runs what wrote and reads it
    /// again. Nothing else is written on the way.
    pub(crate) async fn name_submission(&mut self, session: &mut Session) -> Result<(), SessionError> {
        let tables = session.tables(true, &self.files.samples());
        let Some(proposal) = suffix(&tables, &self.sources) else { return Ok(()) };
        let started = Instant::now();
        let before = self.sources.clone();
        let mut changes: Vec<(usize, LineChange)> = Vec::new();
        for (piece, edits) in &proposal.edits {
            match self.sources.apply(*piece, edits) {
                Ok(change) => changes.push((*piece, change)),
                Err(_) => {
                    self.sources = before;
                    return Ok(());
                }
            }
        }
        let cells = self.sources.cells().len();
        let edited: Vec<usize> = changes.iter().map(|(piece, _)| *piece).collect();
        let in_cells = edited.iter().all(|piece| *piece < cells);
        let again =
            if in_cells { self.sources.program().dependents(&edited, cells) } else { (0..cells).collect() };
        let mut ran = Vec::new();
        let failure = self.rerun(session, &again, !in_cells, &mut ran).await?;
        let wanted = format!("{}.csv", tables[0].path);
        let is_there = || {
            let tables = session.tables(true, &self.files.samples());
            tables.iter().any(|table| table.path == wanted && table.submission.is_some())
        };
        let kept = failure.is_none() && is_there();
        let about = About {
            cell: edited.first().copied().unwrap_or_default().min(cells.saturating_sub(1)),
            error: format!("the submission `{}` has no suffix", tables[0].path),
        };
        if kept {
            self.conclude(&proposal, &about, &changes, "kept", &ran, started);
        } else {
            self.sources = before;
            self.conclude(&proposal, &about, &[], "rolled-back", &ran, started);
        }
        Ok(())
    }
}

/// The edits that give the chosen submission its suffix, if it has none.
fn suffix(tables: &[Table], sources: &Sources) -> Option<Proposal> {
    let table = tables.first().filter(|table| table.format == "text")?;
    let why = table.submission.as_ref()?;
    if table.path.rsplit('/').next()?.contains('.') {
        return None;
    }
    let mut edits = Vec::new();
    let mut is_written = false;
    for piece in 0..sources.pieces().len() {
        let (program, unit) = sources.program_of(piece);
        let unit = &program.units()[unit];
        let mut names = Names { path: &table.path, found: Vec::new() };
        for statement in unit.body() {
            names.visit_stmt(statement);
        }
        is_written |= names.found.iter().any(|(_, writes)| *writes);
        let here: Vec<Edit> =
            names.found.iter().filter_map(|(literal, _)| before_quote(unit.source(), literal)).collect();
        if !here.is_empty() {
            edits.push((piece, here));
        }
    }
    is_written.then(|| Proposal {
        edits,
        install: Vec::new(),
        aside: None,
        source: EditSource::Path,
        rule: None,
        evidence: format!("the run wrote `{}`, and it is the submission: {why}", table.path),
        safety: "safe-with-evidence",
        reason: "a submission is handed in as a `.csv` file".into(),
    })
}

/// Inserts `.csv` before the closing quote of a literal.
fn before_quote(source: &str, literal: &StringLiteral) -> Option<Edit> {
    let text = &source[literal.range()];
    let quotes = if text.ends_with("'''") || text.ends_with("\"\"\"") { 3 } else { 1 };
    let at = literal.end().checked_sub(TextSize::from(quotes))?;
    Some(Edit::insertion(at, ".csv"))
}

/// Literals that name the file in a call which writes (true) or reads it.
struct Names<'a> {
    path: &'a str,
    found: Vec<(StringLiteral, bool)>,
}

impl<'a> Visitor<'a> for Names<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            let name = match &*call.func {
                Expr::Attribute(attribute) => attribute.attr.as_str(),
                Expr::Name(name) => name.id.as_str(),
                _ => "",
            };
            let writes = matches!(name, "to_csv" | "savetxt");
            let reads = matches!(name, "read_csv" | "FileLink" | "loadtxt");
            let named = call.arguments.keywords.iter().find(|keyword| {
                keyword.arg.as_ref().is_some_and(|name| {
                    matches!(name.as_str(), "path_or_buf" | "fname" | "filepath_or_buffer")
                })
            });
            let file = call.arguments.args.first().or(named.map(|keyword| &keyword.value));
            if (writes || reads)
                && let Some(Expr::StringLiteral(literal)) = file
                && literal.value.to_str().trim_start_matches("./") == self.path
                && let [only] = literal.value.as_slice()
            {
                self.found.push((only.clone(), writes));
            }
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use mlem_notebook::Notebook;

    use super::*;

    fn table(path: &str, format: &'static str, submission: bool) -> Table {
        Table {
            path: path.into(),
            bytes: 1,
            format: format.into(),
            columns: None,
            partial: false,
            sha256: None,
            submission: submission.then(|| "its name says so".into()),
        }
    }

    fn suffixed(cell: &str, tables: &[Table]) -> Option<String> {
        let mut sources = Sources::new(&Notebook::from_script(cell, Path::new("a.py")));
        for (piece, edits) in suffix(tables, &sources)?.edits {
            sources.apply(piece, &edits).unwrap();
        }
        Some(sources.cells()[0].current.clone())
    }

    #[test]
    fn only_a_submission_without_a_suffix_gets_one() {
        let cell = "df.to_csv('submission', index=False)\npd.read_csv(\"./submission\")\nprint('submission')";
        assert_eq!(
            suffixed(cell, &[table("submission", "text", true)]).as_deref(),
            Some(
                "df.to_csv('submission.csv', index=False)\npd.read_csv(\"./submission.csv\")\nprint('submission')"
            )
        );
        assert_eq!(suffixed(cell, &[table("submission", "text", false)]), None);
        assert_eq!(suffixed("df.to_csv('sub.txt')", &[table("sub.txt", "text", true)]), None);
        assert_eq!(suffixed("df.to_csv(name)", &[table("submission", "text", true)]), None);
        let other = [table("a.csv", "csv", true), table("submission", "text", false)];
        assert_eq!(suffixed(cell, &other), None);
    }
}
