//! Proposals for one failure, cheapest and surest first: rules that the live error confirms, the new home of
//! a vanished name, an import nobody uses, a data path, a missing distribution.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::LazyLock;

use mlem_environment::{Confidence, Distribution, Environment, Knowledge as Names, Probe};
use mlem_python::ast::{ExceptHandler, Stmt};
use mlem_python::{Edit, Program, Ranged, Unit};
use mlem_rules::{Finding, LiveError, LiveTypes, Pins, Proof, Question};
use regex::Regex;

use crate::diagnose::Exception;
use crate::imports::{SetAside, prune_unused, set_aside};
use crate::paths::{self, FileIndex};
use crate::report::EditSource;
use crate::session::{Cause, Failure, Session};
use crate::sources::Sources;
use crate::wanted::Wanted;
use crate::{archives, listings, repeated, sizes, stand_ins, tpu};

/// One thing to try.
#[derive(Debug, Clone)]
pub(crate) struct Proposal {
    /// Edits by piece.
    pub edits: Vec<(usize, Vec<Edit>)>,
    /// A failing import that the edits only put behind what does not need it.
    pub aside: Option<SetAside>,
    /// Distributions to install first; the kernel is started anew after that.
    pub install: Vec<Distribution>,
    /// What proposes it.
    pub source: EditSource,
    /// The rule's id.
    pub rule: Option<String>,
    /// Why we believe it.
    pub evidence: String,
    /// `safe`, `safe-with-evidence` or `unsafe`.
    pub safety: &'static str,
    /// What it is for, in a sentence.
    pub reason: String,
}

impl Proposal {
    /// Edits that the error and what was found confirm.
    fn edits(
        edits: Vec<(usize, Vec<Edit>)>,
        source: EditSource,
        exception: &Exception,
        reason: String,
    ) -> Proposal {
        Proposal {
            edits,
            aside: None,
            install: Vec::new(),
            source,
            rule: None,
            evidence: exception.signature(),
            safety: "safe-with-evidence",
            reason,
        }
    }
}

/// What proposals are drawn from.
pub(crate) struct Knowledge<'a> {
    /// The rules.
    pub wanted: &'a Wanted,
    /// Versions of the target.
    pub pins: &'a Pins,
    /// The environment that the kernel runs in.
    pub environment: &'a Environment,
    /// Asks the interpreter what it has.
    pub probe: Option<&'a mut Probe>,
    /// The notebook's data.
    pub files: &'a FileIndex,
    /// Imports of the failing cell that were moved below the rest of it.
    pub aside: &'a [&'a str],
}

/// Live types asked in rounds: the matcher asks synchronously, the kernel answers between two rounds.
#[derive(Debug, Default)]
struct Answers {
    known: HashMap<String, Option<Vec<String>>>,
    asked: RefCell<Vec<String>>,
}

impl LiveTypes for Answers {
    fn type_of(&self, expression: &str) -> Option<Vec<String>> {
        match self.known.get(expression) {
            Some(answer) => answer.clone(),
            None => {
                self.asked.borrow_mut().push(expression.to_owned());
                None
            }
        }
    }
}

/// Rounds of questions to the kernel: a rule may need the type of a part once it knows that of the whole.
const ROUNDS: usize = 3;

/// Everything worth trying for `failure`, in order.
pub(crate) async fn proposals(
    knowledge: &mut Knowledge<'_>,
    sources: &Sources,
    session: &mut Session,
    failure: &Failure,
) -> Vec<Proposal> {
    let Cause::Exception { exception, user_lines } = &failure.cause else { return Vec::new() };
    let mut found = Vec::new();
    // The raising line first, then the lines that called it, then the failing cell without a line.
    let mut places: Vec<(usize, Option<usize>)> =
        user_lines.iter().map(|(piece, line)| (*piece, Some(*line))).collect();
    if !places.iter().any(|(piece, _)| *piece == failure.cell) {
        places.push((failure.cell, None));
    }
    for (piece, line) in &places {
        let (program, unit) = sources.program_of(*piece);
        let lines = line.map(|line| statement_lines(&program, unit, line));
        let error =
            LiveError { ename: exception.ename.clone(), evalue: exception.evalue.clone(), unit, lines };
        let in_cells = *piece < sources.cells().len();
        let findings = ask_rules(knowledge, &program, &error, (&mut *session, *line)).await;
        let base = if in_cells { 0 } else { *piece };
        found.extend(together(&findings, &program, &error, base, &exception.signature()));
        found.extend(
            findings.into_iter().filter_map(|finding| from_finding(finding, base, &exception.signature())),
        );
    }
    found.extend(platform(knowledge, sources, &places, exception));
    // A distribution that can be had is better than an import taken out.
    found.extend(missing_distribution(knowledge.environment, exception));
    for (piece, line) in &places {
        let Some(line) = line else { continue };
        let (program, unit) = sources.program_of(*piece);
        let lines = statement_lines(&program, unit, *line);
        if let Some((edits, reason)) = sizes::reshape(&program.units()[unit], lines, &exception.evalue) {
            found.push(Proposal::edits(vec![(*piece, edits)], EditSource::Environment, exception, reason));
        }
        if exception.evalue.starts_with("keyword argument repeated")
            && let Some(repeated) = repeated::keep_last(&program.units()[unit], *line)
        {
            found.push(last_argument(*piece, repeated, exception));
        }
        if let Some(probe) = knowledge.probe.as_deref_mut() {
            found.extend(where_now(probe, &program, unit, *piece, exception));
        }
        // Names of a module are there for others to import, so only a cell's imports can be known to be unused.
        if *piece < sources.cells().len()
            && let Some((edit, reason)) = prune_unused(&program, unit, *line, &exception.evalue)
        {
            found.push(Proposal::edits(
                vec![(*piece, vec![edit])],
                EditSource::Environment,
                exception,
                reason,
            ));
        }
    }
    found.extend(stand_in(knowledge.environment, sources, exception));
    let data = data_path(knowledge.files, sources, &places, exception).or_else(|| {
        // What the notebook itself unpacked lies in its working folder, in other folders than it thinks.
        let root = paths::Root { folder: session.scratch().folder(), written: ".".into() };
        data_path(&FileIndex::of(&[root]), sources, &places, exception)
    });
    let is_found = data.is_some();
    found.extend(data);
    if !is_found {
        found.extend(unpack_elsewhere(sources, session, failure.cell, exception).await);
    }
    found.extend(narrowed_lists(sources, session, &places, exception).await);
    found.extend(elsewhere(knowledge, sources, failure.cell, exception));
    for (piece, line) in places {
        if let Some(line) = line.filter(|_| piece == failure.cell) {
            found.extend(put_behind(&sources.program(), piece, line, exception, knowledge.aside));
        }
    }
    found.retain(|proposal| {
        let rule = proposal.rule.as_deref();
        let place = |piece: usize| &sources.pieces()[piece].place;
        rule.is_none_or(|rule| {
            proposal.edits.iter().all(|(piece, _)| knowledge.wanted.has(place(*piece), rule))
        })
    });
    found
}

/// Of an argument that is given twice the last stays.
fn last_argument(piece: usize, repeated: repeated::Repeated, exception: &Exception) -> Proposal {
    let names = repeated.names.join("`, `");
    let reason = if repeated.is_same {
        format!("`{names}` is given twice with the same value")
    } else {
        format!("`{names}` is given twice; no Python runs that, and the last value is taken")
    };
    let edits = vec![(piece, repeated.edits)];
    let proposal = Proposal::edits(edits, EditSource::Environment, exception, reason);
    if repeated.is_same { proposal } else { Proposal { safety: "unsafe", ..proposal } }
}

/// The last thing to try on a failing import: the rest of its cell goes first.
fn put_behind(
    program: &Program,
    cell: usize,
    line: usize,
    exception: &Exception,
    aside: &[&str],
) -> Option<Proposal> {
    let moved = set_aside(program, cell, line, &exception.evalue, aside)?;
    let reason = format!(
        "nothing helps `{}`; it is moved behind what does not need it, so that the rest of its cell runs",
        moved.statement.lines().next().unwrap_or_default()
    );
    let edits = vec![(cell, moved.edits.clone())];
    let proposal = Proposal::edits(edits, EditSource::Environment, exception, reason);
    Some(Proposal { aside: Some(moved), ..proposal })
}

/// What only Kaggle has: its buckets, and a TPU.
fn platform(
    knowledge: &Knowledge<'_>,
    sources: &Sources,
    places: &[(usize, Option<usize>)],
    exception: &Exception,
) -> Option<Proposal> {
    let program = sources.program();
    if exception.evalue.starts_with("No module named 'kaggle_datasets'") {
        let folder = |name: Option<&str>| {
            let written = match name {
                Some(name) => format!("../input/{name}"),
                None => "../input".to_owned(),
            };
            let found = match name {
                Some(_) => knowledge.files.resolve(&written),
                None => knowledge.files.data(),
            };
            found.map_or(written.clone(), str::to_owned)
        };
        let edits = tpu::without_buckets(&program, &folder);
        let reason = "what Kaggle keeps in a bucket lies in the data folder";
        return (!edits.is_empty())
            .then(|| Proposal::edits(edits, EditSource::Environment, exception, reason.into()));
    }
    let (cell, line) = places.iter().find(|(piece, _)| *piece < sources.cells().len())?;
    let edits = tpu::without_tpu(&program, *cell, (*line)?);
    let reason = "there is no TPU; the default strategy runs the same code";
    (!edits.is_empty()).then(|| Proposal::edits(edits, EditSource::Environment, exception, reason.into()))
}

/// Rules that the error confirms at places other than the failing line: what a line stumbles over may have been
/// made further up (`for name in os.listdir(folder)`), in the failing cell first, then in the cells before it.
fn elsewhere(
    knowledge: &Knowledge<'_>,
    sources: &Sources,
    failing: usize,
    exception: &Exception,
) -> Vec<Proposal> {
    let program = sources.program();
    let mut found = Vec::new();
    for unit in (0..=failing).rev() {
        let error =
            LiveError { ename: exception.ename.clone(), evalue: exception.evalue.clone(), unit, lines: None };
        let question =
            Question { program: &program, target: knowledge.pins, error: Some(&error), types: None };
        let findings = knowledge.wanted.catalogue().check(&question);
        let confirmed =
            findings.into_iter().filter(|finding| finding.unit == unit && finding.proof == Proof::Live);
        found.extend(confirmed.filter_map(|finding| from_finding(finding, 0, &exception.signature())));
    }
    found
}

/// The lines of the innermost statement around `line`, so that a rule's match anywhere in it counts.
fn statement_lines(program: &Program, unit: usize, line: usize) -> (usize, usize) {
    let unit = &program.units()[unit];
    innermost(unit.body(), unit, line).unwrap_or((line, line))
}

/// Blocks do not count as statements of their own: only the line of theirs that holds the failing one.
fn innermost(body: &[Stmt], unit: &Unit, line: usize) -> Option<(usize, usize)> {
    let statement = body.iter().find(|statement| {
        let (first, last) = unit.lines(statement.range());
        (first..=last).contains(&line)
    })?;
    let blocks: Vec<&[Stmt]> = match statement {
        Stmt::FunctionDef(block) => vec![&block.body],
        Stmt::ClassDef(block) => vec![&block.body],
        Stmt::For(block) => vec![&block.body, &block.orelse],
        Stmt::While(block) => vec![&block.body, &block.orelse],
        Stmt::With(block) => vec![&block.body],
        Stmt::If(block) => {
            let clauses = block.elif_else_clauses.iter().map(|clause| clause.body.as_slice());
            std::iter::once(block.body.as_slice()).chain(clauses).collect()
        }
        Stmt::Try(block) => {
            let handlers = block.handlers.iter().map(|handler| {
                let ExceptHandler::ExceptHandler(handler) = handler;
                handler.body.as_slice()
            });
            [block.body.as_slice(), &block.orelse, &block.finalbody].into_iter().chain(handlers).collect()
        }
        _ => return Some(unit.lines(statement.range())),
    };
    blocks.into_iter().find_map(|body| innermost(body, unit, line)).or(Some((line, line)))
}

async fn ask_rules(
    knowledge: &Knowledge<'_>,
    program: &Program,
    error: &LiveError,
    (session, line): (&mut Session, Option<usize>),
) -> Vec<Finding> {
    rank(ask(knowledge, program, error, (session, line)).await, program, error)
}

/// What the rules say about `cell`, which has just run, with the types that the kernel holds now.
pub(crate) async fn confirmed_types(
    knowledge: &Knowledge<'_>,
    program: &Program,
    session: &mut Session,
    cell: usize,
) -> Vec<Finding> {
    // An error without a name confirms no rule; it only says whose state the kernel holds.
    let nameless = LiveError { ename: String::new(), evalue: String::new(), unit: cell, lines: None };
    ask(knowledge, program, &nameless, (session, None)).await
}

async fn ask(
    knowledge: &Knowledge<'_>,
    program: &Program,
    error: &LiveError,
    (session, line): (&mut Session, Option<usize>),
) -> Vec<Finding> {
    let mut answers = Answers::default();
    for _ in 0..ROUNDS {
        let question =
            Question { program, target: knowledge.pins, error: Some(error), types: Some(&answers) };
        let findings = knowledge.wanted.catalogue().check(&question);
        let asked = answers.asked.take();
        if asked.is_empty() {
            return findings;
        }
        for expression in asked {
            if let Entry::Vacant(unknown) = answers.known.entry(expression) {
                let answer = session.types_of(unknown.key(), line).await;
                unknown.insert(answer);
            }
        }
    }
    let question = Question { program, target: knowledge.pins, error: Some(error), types: Some(&answers) };
    knowledge.wanted.catalogue().check(&question)
}

/// Confirmed by the error first, then those on the failing lines, then the failing unit's proven ones.
fn rank(findings: Vec<Finding>, program: &Program, error: &LiveError) -> Vec<Finding> {
    let key = |finding: &Finding| {
        let (first, last) = program.units()[finding.unit].lines(finding.range);
        let here =
            finding.unit == error.unit && error.lines.is_none_or(|(from, to)| first <= to && last >= from);
        (finding.proof != Proof::Live, !here, finding.unit != error.unit)
    };
    let mut findings: Vec<Finding> = findings
        .into_iter()
        .filter(|finding| finding.fix.is_some() && finding.proof == Proof::Live)
        .collect();
    findings.sort_by_key(key);
    findings
}

/// One proposal for all places of one rule on the failing lines: after one of them alone the same error would come
/// again from the same line, which looks like no progress.
fn together(
    findings: &[Finding],
    program: &Program,
    error: &LiveError,
    base: usize,
    signature: &str,
) -> Option<Proposal> {
    let here = |finding: &&Finding| {
        let (first, last) = program.units()[finding.unit].lines(finding.range);
        finding.unit == error.unit && error.lines.is_some_and(|(from, to)| first <= to && last >= from)
    };
    let first = findings.iter().find(here)?;
    let same: Vec<Finding> =
        findings.iter().filter(here).filter(|each| each.rule.id == first.rule.id).cloned().collect();
    if same.len() < 2 {
        return None;
    }
    let planned = mlem_rules::plan(&same, &|finding| finding.fix.is_some());
    let mut proposal = from_finding(first.clone(), base, signature)?;
    proposal.edits = planned.edits.into_iter().map(|(unit, edits)| (base + unit, edits)).collect();
    Some(proposal)
}

fn from_finding(finding: Finding, base: usize, error: &str) -> Option<Proposal> {
    let fix = finding.fix?;
    let mut edits: Vec<(usize, Vec<Edit>)> = Vec::new();
    for (unit, edit) in fix.edits {
        match edits.iter_mut().find(|(piece, _)| *piece == base + unit) {
            Some((_, list)) => list.push(edit),
            None => edits.push((base + unit, vec![edit])),
        }
    }
    Some(Proposal {
        edits,
        install: Vec::new(),
        aside: None,
        source: EditSource::Rule,
        rule: Some(finding.rule.id.clone()),
        evidence: error.to_owned(),
        safety: finding.safety.as_str(),
        reason: finding.message,
    })
}

static NO_MODULE: LazyLock<Regex> = LazyLock::new(|| regex(r"^No module named '?([\w.]+)'?"));
static NO_NAME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^cannot import name '?(\w+)'?(?: from '([\w.]+)')?"));
static NO_ATTRIBUTE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^module '([\w.]+)' has no attribute '(\w+)'"));

fn regex(pattern: &str) -> Regex {
    // Every pattern here is a constant of this file and compiled by its tests.
    #[expect(clippy::unwrap_used)]
    Regex::new(pattern).unwrap()
}

/// A vanished name whose new home the installed packages' sources tell.
fn where_now(
    probe: &mut Probe,
    program: &Program,
    unit: usize,
    piece: usize,
    exception: &Exception,
) -> Vec<Proposal> {
    let evalue = exception.evalue.as_str();
    let mut moves: Vec<(String, String)> = Vec::new();
    if let Some(found) = NO_MODULE.captures(evalue) {
        // Each name that this unit takes from the vanished module may have a home of its own.
        let module = &found[1];
        for import in program.imports().iter().filter(|import| import.unit == unit && import.is_from) {
            if import.module == *module || import.module.starts_with(&format!("{module}.")) {
                moves.push((import.qualified.clone(), last(&import.qualified).to_owned()));
            }
        }
    } else if let Some(found) = NO_NAME.captures(evalue) {
        let name = &found[1];
        let old = program
            .imports()
            .iter()
            .find(|import| import.unit == unit && import.is_from && last(&import.qualified) == name)
            .map(|import| import.qualified.clone());
        if let Some(old) = old {
            moves.push((old, name.to_owned()));
        }
    } else if let Some(found) = NO_ATTRIBUTE.captures(evalue) {
        moves.push((format!("{}.{}", &found[1], &found[2]), found[2].to_owned()));
    }
    let mut edits: Vec<Edit> = Vec::new();
    let mut homes = Vec::new();
    for (old, name) in moves {
        let near = old.split('.').next();
        // Exactly one sensible place is a fix; the best of several is a guess.
        let homes_found = probe.where_now(&name, near);
        let Some(home) = homes_found.first() else { continue };
        if home.confidence != Confidence::Only || home.qualified == old {
            continue;
        }
        let fixes = mlem_rules::relocate(program, &old, &home.qualified);
        edits.extend(fixes.into_iter().filter(|(at, _)| *at == unit).map(|(_, edit)| edit));
        homes.push(format!("`{old}` is now `{}` ({})", home.qualified, home.distribution));
    }
    if edits.is_empty() {
        return Vec::new();
    }
    let reason = homes.join("; ");
    vec![Proposal::edits(vec![(piece, edits)], EditSource::WhereNow, exception, reason)]
}

fn last(qualified: &str) -> &str {
    qualified.rsplit('.').next().unwrap_or(qualified)
}

/// The literal that names a file which lies elsewhere today.
fn data_path(
    files: &FileIndex,
    sources: &Sources,
    places: &[(usize, Option<usize>)],
    exception: &Exception,
) -> Option<Proposal> {
    if exception.evalue.starts_with("Multiple files found in ZIP file") {
        let (piece, line) = places.first()?;
        let (program, unit) = sources.program_of(*piece);
        let parsed = &program.units()[unit];
        let members = archives::listed_members(&exception.evalue);
        let (edits, reason) = match paths::rewrite_archive(parsed, files) {
            Some((edit, reason)) => (vec![edit], reason),
            None => archives::read_member(parsed, (*line)?, &members)?,
        };
        return Some(path_proposal(vec![(*piece, edits)], exception, reason));
    }
    let missing = paths::missing_path(&exception.ename, &exception.evalue)?;
    let found = files.resolve(&missing)?;
    if found == missing {
        return None;
    }
    // The raising piece first; a base folder is usually bound in an earlier cell.
    let order = places.iter().map(|(piece, _)| *piece).chain((0..sources.pieces().len()).rev());
    for piece in order {
        let (program, unit) = sources.program_of(piece);
        if let Some(edit) = paths::rewrite(&program.units()[unit], &missing, found) {
            let mut edits = vec![(piece, vec![edit])];
            if paths::is_platform_path(&missing) {
                add_platform_literals(&mut edits, files, sources);
            }
            return Some(path_proposal(edits, exception, format!("`{missing}` lies at `{found}`")));
        }
    }
    for (piece, _) in places {
        let (program, unit) = sources.program_of(*piece);
        if let Some(edit) = paths::rewrite_walked_folder(&program, unit, &missing, found) {
            let reason = format!("`{missing}` lies at `{found}`; the folder was left over from a walk");
            return Some(path_proposal(vec![(*piece, vec![edit])], exception, reason));
        }
    }
    None
}

/// An archive that holds no folders, unpacked into the one that the notebook reads from.
async fn unpack_elsewhere(
    sources: &Sources,
    session: &mut Session,
    failing: usize,
    exception: &Exception,
) -> Option<Proposal> {
    let missing = paths::missing_path(&exception.ename, &exception.evalue)?;
    let program = sources.program();
    let before = archives::unpackings(&program).into_iter().filter(|each| each.unit <= failing);
    for unpacking in before.collect::<Vec<_>>().into_iter().rev() {
        let members = session.members(&unpacking.archive).await;
        let Some(folder) = unpacking.wanted_folder(&missing, &members) else { continue };
        let Some(edit) = unpacking.unpacked_into(&folder) else { continue };
        let reason = format!(
            "the members of `{}` lie in no folder `{folder}`; it is unpacked there",
            unpacking.archive
        );
        return Some(path_proposal(vec![(unpacking.unit, vec![edit])], exception, reason));
    }
    None
}

/// Lists of a folder's names without what the failing line cannot read.
async fn narrowed_lists(
    sources: &Sources,
    session: &mut Session,
    places: &[(usize, Option<usize>)],
    exception: &Exception,
) -> Vec<Proposal> {
    let Some(to) = listings::narrow(&exception.ename, &exception.evalue) else { return Vec::new() };
    let Some((cell, _)) = places.iter().find(|(piece, _)| *piece < sources.cells().len()) else {
        return Vec::new();
    };
    // `[Errno 21] Is a directory: 'train/sub'`
    let directory = exception.evalue.split('\'').nth(1).filter(|_| to == listings::Narrow::Files);
    let mut found = Vec::new();
    for listing in listings::listings(&sources.program(), *cell) {
        if let Some(directory) = directory {
            let folder = session.text_of(&listing.folder).await.unwrap_or_default();
            let parent = directory.trim_end_matches('/').rsplit_once('/').map_or(".", |(parent, _)| parent);
            if folder.trim_end_matches('/') != parent && !(folder == "." && parent == ".") {
                continue;
            }
        }
        let Some(edit) = listing.narrowed(to) else { continue };
        let reason = format!("`{}` holds more than the files that are read", listing.folder);
        let edits = vec![(listing.unit, vec![edit])];
        found.push(Proposal::edits(edits, EditSource::Path, exception, reason));
    }
    found
}

fn path_proposal(edits: Vec<(usize, Vec<Edit>)>, exception: &Exception, reason: String) -> Proposal {
    Proposal::edits(edits, EditSource::Path, exception, reason)
}

/// A notebook that was written for a platform names its folders in many places: all that resolve change together.
fn add_platform_literals(edits: &mut Vec<(usize, Vec<Edit>)>, files: &FileIndex, sources: &Sources) {
    let done = edits.clone();
    for piece in 0..sources.cells().len() {
        let (program, unit) = sources.program_of(piece);
        let known = done.iter().filter(|(at, _)| *at == piece).flat_map(|(_, edits)| edits);
        let known: Vec<_> = known.map(|edit| edit.range).collect();
        let others: Vec<Edit> = paths::rewrite_platform_literals(&program.units()[unit], files)
            .into_iter()
            .filter(|edit| !known.contains(&edit.range))
            .collect();
        match edits.iter_mut().find(|(at, _)| *at == piece) {
            Some((_, list)) => list.extend(others),
            None if !others.is_empty() => edits.push((piece, others)),
            None => {}
        }
    }
}

/// The distribution of a module that is not there, if we know it by name.
fn missing_distribution(environment: &Environment, exception: &Exception) -> Option<Proposal> {
    let module = &NO_MODULE.captures(&exception.evalue)?[1];
    let import = module.split('.').next().unwrap_or(module);
    let distribution = Names::shipped().offer(import)?.distribution?;
    if !environment.is_ours() || environment.version_of(distribution.as_str()).is_some() {
        return None;
    }
    Some(Proposal {
        edits: Vec::new(),
        reason: format!("`{import}` comes with the distribution `{}`", distribution.as_str()),
        install: vec![distribution],
        aside: None,
        source: EditSource::Environment,
        rule: None,
        evidence: exception.signature(),
        safety: "safe-with-evidence",
    })
}

/// What stands in for a module that is not there.
fn stand_in(environment: &Environment, sources: &Sources, exception: &Exception) -> Option<Proposal> {
    let module = &NO_MODULE.captures(&exception.evalue)?[1];
    let row = stand_ins::of(module.split('.').next().unwrap_or(module))?;
    let install = row.installs(environment)?;
    let edits = row.edits(&sources.program());
    if edits.is_empty() {
        return None;
    }
    let proposal = Proposal::edits(edits, EditSource::Environment, exception, row.reason());
    Some(Proposal { install, evidence: format!("{}; {}", exception.signature(), row.source), ..proposal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_vanished_names_are_read() {
        assert_eq!(
            &NO_MODULE.captures("No module named 'sklearn.cross_validation'").unwrap()[1],
            "sklearn.cross_validation"
        );
        assert_eq!(&NO_MODULE.captures("No module named cross_validation").unwrap()[1], "cross_validation");
        let found =
            NO_NAME.captures("cannot import name 'interp' from 'scipy' (/x/scipy/__init__.py)").unwrap();
        assert_eq!((&found[1], &found[2]), ("interp", "scipy"));
        let found = NO_ATTRIBUTE.captures("module 'numpy' has no attribute 'float'.\nuse float").unwrap();
        assert_eq!((&found[1], &found[2]), ("numpy", "float"));
    }
}
