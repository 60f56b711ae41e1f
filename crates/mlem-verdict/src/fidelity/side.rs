//! One of two programs, in the stages in which it is compared.

use std::collections::{BTreeMap, HashMap, HashSet};

use mlem_python::tree::{Kind, Node};
use mlem_python::{Edit, EditSet, Program, Syntax, TextRange, TextSize, Unit, is_python2, lift_program};
use mlem_rules::{
    Catalogue, Finding, Kind as RuleKind, Past, Question, Rule, ScoreEffect, Target, Version, plan,
};

use super::knowledge::knowledge;
use super::names::stores;
use super::{Form, Location, Source};

/// Rounds of fixes after which it is enough.
const MAX_ROUNDS: usize = 8;

/// A rule that was applied to bring a program to today's form.
#[derive(Debug, Clone)]
pub(super) struct AppliedRule {
    pub(super) rule: &'static Rule,
    pub(super) unit: usize,
    pub(super) range: TextRange,
}

/// The edits of one round, by unit.
type Round = BTreeMap<usize, Vec<Edit>>;

/// A program brought to some form by rules; its trees' places are those of the original text.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub(super) program: Program,
    rounds: Vec<Round>,
    pub(super) applied: Vec<AppliedRule>,
}

/// One program.
#[derive(Debug)]
pub(super) struct Side {
    originals: Vec<Unit>,
    cells: Vec<Option<usize>>,
    /// Only brought to Python 3.
    pub(super) raw: Stage,
    /// And to today's form by rules that are neutral and proven.
    pub(super) normal: Stage,
}

impl Side {
    pub(super) fn new(sources: &[Source<'_>], target: &dyn Target) -> Side {
        let originals: Vec<Unit> = sources
            .iter()
            .map(|source| match source.form {
                Form::Cell => Unit::cell(source.text),
                Form::Module => Unit::module(source.text),
            })
            .collect();
        let mut lifted = Round::new();
        let mut units = originals.clone();
        let python2 = is_python2(&originals);
        for (at, lift) in lift_program(&originals).into_iter().enumerate() {
            let own = matches!(originals[at].syntax(), Syntax::Python2 { .. });
            if let Ok(edits) = lift
                && (own || python2)
                && !edits.is_empty()
                && let Some(unit) = edited(&originals[at], &edits)
            {
                units[at] = unit;
                lifted.insert(at, edits);
            }
        }
        let raw = Stage { program: Program::new(units), rounds: vec![lifted], applied: Vec::new() };
        let normal = raw.brought(target, &is_neutral);
        Side { originals, cells: sources.iter().map(|source| source.cell).collect(), raw, normal }
    }

    /// Where a node stands, for a person.
    pub(super) fn location(&self, unit: usize, range: TextRange) -> Location {
        let lines = self.originals.get(unit).map_or((1, 1), |unit| unit.lines(range));
        Location { cell: self.cells.get(unit).copied().flatten(), lines }
    }

    /// The text of a range, on one line and not too long.
    pub(super) fn snippet(&self, unit: usize, range: TextRange) -> String {
        const LONGEST: usize = 70;
        let source = self.originals.get(unit).map_or("", Unit::source);
        let text = source.get(range.start().to_usize()..range.end().to_usize()).unwrap_or_default();
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(LONGEST) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line,
        }
    }

    /// The whole lines of a range.
    pub(super) fn lines(&self, unit: usize, range: TextRange) -> String {
        let Some(original) = self.originals.get(unit) else { return String::new() };
        let (first, last) = original.lines(range);
        let lines: Vec<&str> = original.source().lines().skip(first - 1).take(last + 1 - first).collect();
        lines.join("\n")
    }

    /// The text of a unit.
    pub(super) fn text(&self, unit: usize) -> &str {
        self.originals[unit].source()
    }

    /// How many units there are.
    pub(super) fn len(&self) -> usize {
        self.originals.len()
    }

    /// The cell of a unit among all cells.
    pub(super) fn cell(&self, unit: usize) -> Option<usize> {
        self.cells.get(unit).copied().flatten()
    }

    /// Names that imports bind.
    pub(super) fn imported(&self) -> HashSet<String> {
        self.raw.program.imports().iter().map(|import| import.bound.clone()).collect()
    }
}

/// A past in which every old version may have been used.
struct AnyTime;

impl Past for AnyTime {
    fn proves(&self, _: &str, _: Option<&Version>, _: &Version) -> Option<String> {
        Some("not known".to_owned())
    }
}

/// Rules that change nothing and are proven to apply; a pinned default counts for the old side only.
pub(super) fn is_neutral(finding: &Finding) -> bool {
    finding.is_applicable()
        && finding.rule.score == ScoreEffect::Neutral
        && finding.rule.kind != RuleKind::Default
}

/// And those that write out what used to be the default.
pub(super) fn pins_defaults(finding: &Finding) -> bool {
    finding.is_applicable()
        && finding.rule.kind == RuleKind::Default
        && finding.rule.score == ScoreEffect::Neutral
}

/// Every fix that a rule would make if what it does not know turned out right.
pub(super) fn may_apply(finding: &Finding) -> bool {
    finding.any_fix().is_some()
}

fn edited(unit: &Unit, edits: &[Edit]) -> Option<Unit> {
    let mut set = EditSet::new();
    set.add_all(edits.iter().cloned()).ok()?;
    set.apply_checked(unit).ok()
}

impl Stage {
    /// A piece of source by itself.
    pub(super) fn of(source: &str) -> Stage {
        Stage { program: Program::new(vec![Unit::cell(source)]), rounds: Vec::new(), applied: Vec::new() }
    }

    /// The program after rules that `accept` lets through.
    pub(super) fn brought(&self, target: &dyn Target, accept: &dyn Fn(&Finding) -> bool) -> Stage {
        let mut program = self.program.clone();
        let mut rounds = self.rounds.clone();
        let mut applied = self.applied.clone();
        for _ in 0..MAX_ROUNDS {
            let findings = Catalogue::shipped().check(&Question::without_kernel(&program, target));
            let planned = plan(&findings, accept);
            let mut units = program.units().to_vec();
            let mut round = Round::new();
            for (at, edits) in planned.edits {
                if let Some(unit) = edited(&units[at], &edits) {
                    units[at] = unit;
                    round.insert(at, edits);
                }
            }
            if round.is_empty() {
                break;
            }
            for finding in planned.applied.iter().map(|at| &findings[*at]) {
                let range = original_range(&rounds, finding.unit, finding.range);
                applied.push(AppliedRule { rule: finding.rule, unit: finding.unit, range });
            }
            rounds.push(round);
            program = Program::new(units);
        }
        Stage { program, rounds, applied }
    }

    /// The program with every default written out that was another once. Whether the program
    /// relied on the old one depends on when it was written, which nobody says here.
    pub(super) fn with_old_defaults(&self, target: &dyn Target) -> Stage {
        let pins = Catalogue::shipped().default_pins(&self.program, target, &AnyTime);
        let findings: Vec<Finding> = pins.into_iter().map(|pin| pin.finding).collect();
        let planned = plan(&findings, &may_apply);
        let mut stage = self.clone();
        let (mut units, mut round) = (self.program.units().to_vec(), Round::new());
        for (at, edits) in planned.edits {
            if let Some(unit) = edited(&units[at], &edits) {
                units[at] = unit;
                round.insert(at, edits);
            }
        }
        for finding in planned.applied.iter().map(|at| &findings[*at]) {
            let range = original_range(&self.rounds, finding.unit, finding.range);
            stage.applied.push(AppliedRule { rule: finding.rule, unit: finding.unit, range });
        }
        stage.rounds.push(round);
        stage.program = Program::new(units);
        stage
    }

    /// All statements in the order of the units, imports apart. Places are those of the original.
    pub(super) fn statements(&self) -> (Vec<Node>, Vec<Node>) {
        let mut all = Vec::new();
        for unit in 0..self.program.units().len() {
            all.extend(self.program.tree(unit));
        }
        let bound = self.import_names(&all);
        for node in &mut all {
            self.place(node);
            resolve(node, &bound);
        }
        all.into_iter().partition(|node| !is_import(node))
    }

    /// What names mean that only imports bind, where all of them bind the same thing: in an import
    /// with a fallback, or as the target of an assignment, the analysis leaves them open.
    fn import_names(&self, statements: &[Node]) -> HashMap<String, String> {
        let mut stored = HashSet::new();
        for statement in statements {
            stores(statement, &mut |name| {
                stored.insert(name.to_owned());
            });
        }
        let mut names: HashMap<String, Option<String>> = HashMap::new();
        for import in self.program.imports() {
            let whole = import.is_from
                || !import.qualified.contains('.')
                || import.bound != import.qualified.split('.').next().unwrap_or_default();
            let meaning = if whole { import.qualified.clone() } else { import.bound.clone() };
            if import.is_star || stored.contains(&import.bound) {
                continue;
            }
            let entry = names.entry(import.bound.clone()).or_insert_with(|| Some(meaning.clone()));
            if entry.as_ref().is_some_and(|other| !knowledge().are_one(other, &meaning)) {
                *entry = None;
            }
        }
        names.into_iter().filter_map(|(name, meaning)| Some((name, meaning?))).collect()
    }

    fn place(&self, node: &mut Node) {
        node.range = original_range(&self.rounds, node.unit, node.range);
        for child in &mut node.children {
            self.place(child);
        }
    }
}

/// Makes references of names that are known by their imports.
fn resolve(node: &mut Node, bound: &HashMap<String, String>) {
    for child in &mut node.children {
        resolve(child, bound);
    }
    match node.kind {
        Kind::Name => {
            if let Some(meaning) = bound.get(&node.text) {
                node.kind = Kind::Reference;
                node.text.clone_from(meaning);
            }
        }
        Kind::Attribute if node.children[0].kind == Kind::Reference => {
            node.text = format!("{}.{}", node.children[0].text, node.text);
            node.kind = Kind::Reference;
            node.children.clear();
        }
        _ => {}
    }
}

/// An import, or a choice between imports.
fn is_import(node: &Node) -> bool {
    let only_imports = |block: &Node| {
        block.children.iter().all(|inner| matches!(inner.kind, Kind::Import | Kind::Pass))
            && block.children.iter().any(|inner| inner.kind == Kind::Import)
    };
    match node.kind {
        Kind::Import => true,
        Kind::Try => node.children.iter().all(|part| match part.kind {
            Kind::Block => only_imports(part),
            Kind::Handler => part.children.last().is_some_and(only_imports),
            _ => false,
        }),
        _ => false,
    }
}

fn original_range(rounds: &[Round], unit: usize, range: TextRange) -> TextRange {
    let (mut start, mut end) = (range.start().to_u32(), range.end().to_u32());
    for round in rounds.iter().rev() {
        if let Some(edits) = round.get(&unit) {
            start = original(edits, start, false);
            end = original(edits, end, true).max(start);
        }
    }
    TextRange::new(TextSize::from(start), TextSize::from(end))
}

/// The place before `edits` of what stands at `at` after them; inside of new text, the start or
/// the end of what it replaced.
fn original(edits: &[Edit], at: u32, is_end: bool) -> u32 {
    let mut shift: i64 = 0;
    let at = i64::from(at);
    for edit in edits {
        let (start, end) = (i64::from(edit.range.start().to_u32()), i64::from(edit.range.end().to_u32()));
        let length = edit.text.len() as i64;
        let new_start = start + shift;
        if at < new_start || (is_end && at == new_start) {
            break;
        }
        if at < new_start + length || (is_end && at == new_start + length) {
            return if is_end { end as u32 } else { start as u32 };
        }
        shift += length - (end - start);
    }
    // Both lie inside texts that are smaller than 4 GiB.
    (at - shift).max(0) as u32
}
