//! Applying fixes: as many as fit together, again until nothing changes.

use std::collections::BTreeMap;

use mlem_python::{Edit, EditSet, Program, TextRange, Unit};

use crate::catalogue::Catalogue;
use crate::finding::{Finding, Fix, Proof};
use crate::rule::Rule;
use crate::target::{LiveError, LiveTypes, Question, Target};
use crate::tokens::offset;

/// Rounds after which fixing stops, should rules undo each other.
const MAX_ROUNDS: usize = 12;

/// Fixes that fit together.
#[derive(Debug, Default, Clone)]
pub struct Plan {
    /// Edits by unit, sorted, none overlapping another.
    pub edits: BTreeMap<usize, Vec<Edit>>,
    /// Indices of the findings whose fixes are in it.
    pub applied: Vec<usize>,
}

/// Takes the fixes of the findings `filter` accepts, in order, and leaves out those that overlap
/// one already taken. A fix is taken whole or not at all.
///
/// [`Finding::is_applicable`] is the filter of `fix`. A filter that accepts unproven findings
/// (`--unsafe`) gets their tentative fixes.
pub fn plan(findings: &[Finding], filter: &dyn Fn(&Finding) -> bool) -> Plan {
    let mut plan = Plan::default();
    for (index, finding) in findings.iter().enumerate() {
        let Some(fix) = finding.any_fix() else {
            continue;
        };
        if filter(finding) && take(&mut plan.edits, fix) {
            plan.applied.push(index);
        }
    }
    for edits in plan.edits.values_mut() {
        *edits = merged(std::mem::take(edits));
    }
    plan
}

fn take(taken: &mut BTreeMap<usize, Vec<Edit>>, fix: &Fix) -> bool {
    let clashes = fix.edits.iter().any(|(unit, edit)| {
        taken.get(unit).is_some_and(|edits| edits.iter().any(|other| clash(other, edit)))
    });
    if clashes {
        return false;
    }
    for (unit, edit) in &fix.edits {
        let edits = taken.entry(*unit).or_default();
        if !(is_import(edit) && edits.contains(edit)) {
            edits.push(edit.clone());
        }
    }
    true
}

/// An inserted import line: the same from two fixes is one, two at one place follow each other.
fn is_import(edit: &Edit) -> bool {
    edit.range.is_empty() && {
        let text = edit.text.trim_start();
        text.starts_with("import ") || text.starts_with("from ")
    }
}

fn clash(a: &Edit, b: &Edit) -> bool {
    if is_import(a) && is_import(b) {
        return false;
    }
    let (x, y) = (a.range, b.range);
    if x.is_empty() && y.is_empty() {
        return x == y;
    }
    // Edits may touch: an insertion before a token and the replacement of that token compose.
    x.start() < y.end() && y.start() < x.end()
}

/// Sorts edits, and joins insertions at one place into one.
fn merged(mut edits: Vec<Edit>) -> Vec<Edit> {
    edits.sort_by_key(|edit| (edit.range.start(), edit.range.end()));
    let mut result: Vec<Edit> = Vec::with_capacity(edits.len());
    for edit in edits {
        match result.last_mut() {
            Some(last) if last.range.is_empty() && last.range == edit.range => {
                last.text.push_str(&edit.text);
            }
            _ => result.push(edit),
        }
    }
    result
}

/// One fix that was applied.
#[derive(Debug, Clone)]
pub struct Applied {
    /// The rule.
    pub rule: &'static Rule,
    /// The unit that changed; a fix that touches several units is listed once for each.
    pub unit: usize,
    /// First and last changed line (from 1) in the unit's source before this round of fixes.
    pub lines: (usize, usize),
    /// The changed lines before; `…` stands for unchanged lines between them.
    pub before: String,
    /// The same lines with this fix alone.
    pub after: String,
    /// The finding's message.
    pub message: String,
    /// How sure it was.
    pub proof: Proof,
}

/// What fixing led to.
#[derive(Debug, Clone)]
pub struct Fixed {
    /// The program with the fixes in it.
    pub program: Program,
    /// The units that differ from the input.
    pub changed: Vec<usize>,
    /// The fixes, in the order they were applied.
    pub applied: Vec<Applied>,
}

impl Fixed {
    /// The sources of all units.
    pub fn sources(&self) -> Vec<&str> {
        self.program.units().iter().map(Unit::source).collect()
    }
}

/// Checks and fixes until nothing changes any more (at most a fixed number of rounds). A fix after
/// which a unit no longer parses as well as before is left out.
///
/// The live error and types are looked at in the first round only, since they belong to the source
/// that ran.
pub fn fix_until_stable(
    catalogue: &'static Catalogue,
    program: &Program,
    target: &dyn Target,
    live: (Option<&LiveError>, Option<&dyn LiveTypes>),
    filter: &dyn Fn(&Finding) -> bool,
) -> Fixed {
    let mut current = program.clone();
    let mut applied = Vec::new();
    let mut seen: Vec<Vec<String>> = Vec::new();
    for round in 0..MAX_ROUNDS {
        let question = Question {
            program: &current,
            target,
            error: if round == 0 { live.0 } else { None },
            types: if round == 0 { live.1 } else { None },
        };
        let findings = catalogue.check(&question);
        let Some((units, mut done)) = apply_round(&current, &findings, filter) else {
            break;
        };
        let sources: Vec<String> = units.iter().map(|u| u.source().to_string()).collect();
        applied.append(&mut done);
        current = Program::new(units);
        // Rules that undo each other would go round for ever.
        if seen.contains(&sources) {
            break;
        }
        seen.push(sources);
    }
    let changed = current
        .units()
        .iter()
        .zip(program.units())
        .enumerate()
        .filter(|(_, (new, old))| new.source() != old.source())
        .map(|(index, _)| index)
        .collect();
    Fixed { program: current, changed, applied }
}

/// One round; nothing when no fix could be applied.
fn apply_round(
    program: &Program,
    findings: &[Finding],
    filter: &dyn Fn(&Finding) -> bool,
) -> Option<(Vec<Unit>, Vec<Applied>)> {
    let mut left_out: Vec<usize> = Vec::new();
    loop {
        let number = |finding: &Finding| findings.iter().position(|other| std::ptr::eq(other, finding));
        let mut planned = plan(findings, &|finding| {
            filter(finding) && number(finding).is_none_or(|at| !left_out.contains(&at))
        });
        import_once(program, &mut planned);
        if planned.applied.is_empty() {
            return None;
        }
        let mut units = program.units().to_vec();
        let mut broken = None;
        for (unit, edits) in &planned.edits {
            let mut set = EditSet::new();
            let result =
                set.add_all(edits.iter().cloned()).and_then(|()| set.apply_checked(&program.units()[*unit]));
            match result {
                Ok(edited) => units[*unit] = edited,
                Err(_) => {
                    broken = Some(*unit);
                    break;
                }
            }
        }
        let Some(broken) = broken else {
            let done = planned.applied.iter().flat_map(|at| describe(program, &findings[*at])).collect();
            return Some((units, done));
        };
        // Leave out the first fix that breaks the unit on its own, or else the last one there.
        let touches = |at: &usize| {
            findings[*at].any_fix().is_some_and(|fix| fix.edits.iter().any(|(unit, _)| *unit == broken))
        };
        let there: Vec<usize> = planned.applied.iter().copied().filter(|a| touches(a)).collect();
        let culprit = there.iter().find(|at| !parses(program, &findings[**at], broken)).or(there.last());
        match culprit {
            Some(at) => left_out.push(*at),
            None => return None,
        }
    }
}

/// An import added to one cell serves the cells after it.
fn import_once(program: &Program, plan: &mut Plan) {
    let mut present: Vec<String> = Vec::new();
    for (unit, edits) in &mut plan.edits {
        if !program.units()[*unit].is_cell() {
            continue;
        }
        for edit in edits.iter_mut().filter(|edit| is_import(edit) && edit.text.ends_with('\n')) {
            let mut text = String::new();
            for line in edit.text.lines().filter(|line| !present.iter().any(|known| known == line)) {
                text.push_str(line);
                text.push('\n');
            }
            present.extend(edit.text.lines().map(str::to_string));
            edit.text = text;
        }
        edits.retain(|edit| !(edit.range.is_empty() && edit.text.is_empty()));
    }
}

/// Whether a finding's fix alone leaves a unit as parseable as it was.
fn parses(program: &Program, finding: &Finding, unit: usize) -> bool {
    edited(program, finding, unit).is_some()
}

fn edited(program: &Program, finding: &Finding, unit: usize) -> Option<Unit> {
    let fix = finding.any_fix()?;
    let own = fix.edits.iter().filter(|(at, _)| *at == unit);
    let mut set = EditSet::new();
    set.add_all(merged(own.map(|(_, edit)| edit.clone()).collect())).ok()?;
    set.apply_checked(&program.units()[unit]).ok()
}

/// What one fix does to each unit it touches.
fn describe(program: &Program, finding: &Finding) -> Vec<Applied> {
    let Some(fix) = finding.any_fix() else {
        return Vec::new();
    };
    let mut touched: Vec<usize> = fix.edits.iter().map(|(unit, _)| *unit).collect();
    touched.sort_unstable();
    touched.dedup();
    let describe_unit = |unit: usize| {
        let own = fix.edits.iter().filter(|(at, _)| *at == unit);
        let edits = merged(own.map(|(_, edit)| edit.clone()).collect());
        let (lines, before, after) = hunks(&program.units()[unit], &edits)?;
        Some(Applied {
            rule: finding.rule,
            unit,
            lines,
            before,
            after,
            message: finding.message.clone(),
            proof: finding.proof.clone(),
        })
    };
    touched.into_iter().filter_map(describe_unit).collect()
}

/// First and last changed line, and the changed lines before and after.
fn hunks(unit: &Unit, edits: &[Edit]) -> Option<((usize, usize), String, String)> {
    let source = unit.source();
    let line_start = |at: usize| source[..at].rfind('\n').map_or(0, |found| found + 1);
    let line_end = |at: usize| source[at..].find('\n').map_or(source.len(), |found| at + found);
    let span = |edit: &Edit| {
        let (start, end) = (edit.range.start().to_usize(), edit.range.end().to_usize());
        (line_start(start), line_end(end))
    };
    let mut groups: Vec<((usize, usize), Vec<&Edit>)> = Vec::new();
    for edit in edits {
        let (start, end) = span(edit);
        match groups.last_mut() {
            // Neighbouring lines are one hunk.
            Some((range, group)) if start <= range.1 + 1 => {
                range.1 = range.1.max(end);
                group.push(edit);
            }
            _ => groups.push(((start, end), vec![edit])),
        }
    }
    let first = groups.first()?.0.0;
    let last = groups.last()?.0.1;
    let lines = unit.lines(TextRange::new(offset(first), offset(last)));
    let mut before = Vec::new();
    let mut after = Vec::new();
    for ((start, end), group) in groups {
        let mut text = String::new();
        let mut at = start;
        for edit in group {
            text.push_str(&source[at..edit.range.start().to_usize()]);
            text.push_str(&edit.text);
            at = edit.range.end().to_usize();
        }
        text.push_str(&source[at..end]);
        before.push(source[start..end].to_string());
        after.push(text);
    }
    // The line feed of the last line belongs to it, where it has one.
    let line_feed = if source[last..].starts_with('\n') { "\n" } else { "" };
    Some((lines, before.join("\n…\n") + line_feed, after.join("\n…\n") + line_feed))
}
