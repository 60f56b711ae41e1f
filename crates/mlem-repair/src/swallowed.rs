//! Errors that a notebook's own `except` swallows: the cell runs, but not what it meant to do. Rules whose types the
//! kernel confirms are applied there without an error.

use std::time::Instant;

use mlem_python::ast::visitor::{Visitor, walk_stmt};
use mlem_python::ast::{ExceptHandler, Expr, Stmt, StmtRaise, StmtTry};
use mlem_python::{Program, Ranged, TextRange, Unit};
use mlem_rules::Proof;

use crate::attempt::About;
use crate::live::Repair;
use crate::propose::{Knowledge, Proposal, confirmed_types};
use crate::report::EditSource;
use crate::session::{Session, SessionError};
use crate::sources::LineChange;

impl Repair<'_> {
    /// Applies, in a cell that has just run, the rules which the live types confirm inside of a `try` whose handlers
    /// swallow what is raised. An edit that makes the cell fail is rolled back.
    pub(crate) async fn unswallow(&mut self, session: &mut Session, cell: usize) -> Result<(), SessionError> {
        if self.sources.cells()[cell].may_fail {
            return Ok(());
        }
        let tries = swallowing(&Unit::cell(&self.sources.cells()[cell].current));
        if tries.is_empty() {
            return Ok(());
        }
        let program = self.sources.program();
        let knowledge = Knowledge {
            wanted: &self.wanted,
            pins: &self.pins,
            environment: &self.environment,
            probe: None,
            files: &self.files,
            aside: &[],
        };
        let findings = confirmed_types(&knowledge, &program, session, cell).await;
        let inside = |range: TextRange| tries.iter().any(|body| body.contains_range(range));
        let proposals: Vec<Proposal> = findings
            .into_iter()
            .filter(|finding| finding.unit == cell && inside(finding.range) && finding.proof == Proof::Live)
            .filter(|finding| self.wanted.has(&self.sources.cells()[cell].place, &finding.rule.id))
            .filter_map(|finding| {
                let fix = finding.fix?;
                // An import goes to the top of the cell; an edit elsewhere would be a change without its reason.
                fix.edits.iter().all(|(unit, _)| *unit == cell).then(|| Proposal {
                    edits: vec![(cell, fix.edits.into_iter().map(|(_, edit)| edit).collect())],
                    install: Vec::new(),
                    aside: None,
                    source: EditSource::Rule,
                    rule: Some(finding.rule.id.clone()),
                    evidence: "the running kernel knows the types; an `except` around it swallows the error"
                        .into(),
                    safety: finding.safety.as_str(),
                    reason: finding.message,
                })
            })
            .collect();
        // One at a time, the last first, so that the ranges of the others stay true.
        for proposal in proposals.into_iter().rev() {
            self.try_unswallowed(session, cell, &program, proposal).await?;
        }
        Ok(())
    }

    async fn try_unswallowed(
        &mut self,
        session: &mut Session,
        cell: usize,
        program: &Program,
        proposal: Proposal,
    ) -> Result<(), SessionError> {
        let started = Instant::now();
        let before = self.sources.clone();
        let mut changes: Vec<(usize, LineChange)> = Vec::new();
        for (piece, edits) in &proposal.edits {
            match self.sources.apply(*piece, edits) {
                Ok(change) => changes.push((*piece, change)),
                Err(_) => return Ok(()),
            }
        }
        let about = About { cell, error: "an error is swallowed".into() };
        // What the cell changed itself has to be as it was when it first ran.
        let again = program.dependents(&[cell], cell + 1);
        let mut ran = Vec::new();
        if self.rerun(session, &again, false, &mut ran).await?.is_none() {
            self.conclude(&proposal, &about, &changes, "kept", &ran, started);
        } else {
            self.sources = before;
            self.rerun(session, &again, false, &mut ran).await?;
            self.conclude(&proposal, &about, &[], "rolled-back", &ran, started);
        }
        Ok(())
    }
}

/// The bodies of every `try` with a handler that takes any error and raises none.
fn swallowing(unit: &Unit) -> Vec<TextRange> {
    let mut finder = Tries { found: Vec::new() };
    for statement in unit.body() {
        finder.visit_stmt(statement);
    }
    finder.found
}

struct Tries {
    found: Vec<TextRange>,
}

impl<'a> Visitor<'a> for Tries {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Try(block) = statement
            && block.handlers.iter().any(swallows)
            && let Some(body) = body_range(block)
        {
            self.found.push(body);
        }
        walk_stmt(self, statement);
    }
}

fn body_range(block: &StmtTry) -> Option<TextRange> {
    Some(TextRange::new(block.body.first()?.start(), block.body.last()?.end()))
}

/// A bare `except`, or one of a class that also stands for errors of vanished names and arguments, without a `raise`.
fn swallows(handler: &ExceptHandler) -> bool {
    let ExceptHandler::ExceptHandler(handler) = handler;
    let is_wide = |class: &Expr| {
        matches!(class, Expr::Name(name)
            if matches!(name.id.as_str(), "Exception" | "BaseException" | "AttributeError" | "TypeError"))
    };
    let wide = match handler.type_.as_deref() {
        None => true,
        Some(Expr::Tuple(classes)) => classes.elts.iter().any(is_wide),
        Some(class) => is_wide(class),
    };
    let mut raises = Raises { found: false };
    for statement in &handler.body {
        raises.visit_stmt(statement);
    }
    wide && !raises.found
}

struct Raises {
    found: bool,
}

impl<'a> Visitor<'a> for Raises {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.found |= matches!(statement, Stmt::Raise(StmtRaise { .. }));
        walk_stmt(self, statement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(source: &str) -> Vec<String> {
        let unit = Unit::cell(source);
        swallowing(&unit).into_iter().map(|range| source[range].to_owned()).collect()
    }

    #[test]
    fn only_handlers_that_swallow_count() {
        assert_eq!(bodies("try:\n    a()\nexcept:\n    pass"), ["a()"]);
        assert_eq!(bodies("try:\n    a()\nexcept (KeyError, Exception) as e:\n    print(e)"), ["a()"]);
        assert!(bodies("try:\n    a()\nexcept Exception:\n    raise").is_empty());
        assert!(bodies("try:\n    import a\nexcept ImportError:\n    a = None").is_empty());
        assert!(bodies("a()").is_empty());
    }
}
