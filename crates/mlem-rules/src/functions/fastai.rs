//! What fastai 1 offered in `fastai.vision`, `fastai.text` and `fastai.tabular` is in their module
//! `all` since fastai 2, and the packages themselves hold nothing but modules (fastai 2 source,
//! `vision/__init__.py`, `vision/all.py`). A table of moves would take `fastai.vision.all`, too,
//! for something below `fastai.vision`.

use mlem_python::ast::{Stmt, StmtImportFrom};
use mlem_python::{Edit, Ranged, TextRange};

use super::Context;
use super::walk::each_stmt;
use crate::finding::{Finding, Fix};
use crate::judge::finding;

pub(crate) const TRIGGERS: &[&str] = &["fastai"];

const PACKAGES: &[&str] = &["fastai.vision", "fastai.text", "fastai.tabular"];

/// The modules of these packages in fastai 2.
const MODULES: &[&str] =
    &["all", "augment", "core", "data", "gan", "learner", "models", "utils", "widgets", "model"];

pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let mut findings = Vec::new();
    each_stmt(context.question.program, |unit, statement| {
        if let Stmt::ImportFrom(from) = statement
            && let Some(at) = end_of_package(from)
        {
            let edit = Edit { range: TextRange::empty(at.end()), text: ".all".to_string() };
            let fix = Ok(Some(Fix { edits: vec![(unit, edit)] }));
            findings.extend(finding(context.question, context.rule, unit, from.range, None, false, fix));
        }
    });
    findings
}

/// Where the package's name stands in `from fastai.vision import …` of something that is no module.
fn end_of_package(from: &StmtImportFrom) -> Option<TextRange> {
    let module = from.module.as_ref().filter(|_| from.level == 0)?;
    let is_old = PACKAGES.contains(&module.as_str())
        && !from.names.iter().any(|alias| MODULES.contains(&alias.name.as_str()));
    is_old.then(|| module.range())
}
