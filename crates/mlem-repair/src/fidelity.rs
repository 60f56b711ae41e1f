//! Whether the modernized notebook is still the same notebook: the whole text before against the
//! whole text after, and what the record of the edits explains of the difference.

use std::collections::HashSet;
use std::ops::Range;

use mlem_rules::{Catalogue, Pins, ScoreEffect};
use mlem_verdict::{Change, Class, Form, Location, Source, compare_code};
use serde::{Deserialize, Serialize};
use similar::{DiffTag, TextDiff};

use crate::report::{EditRecord, EditSource};
use crate::sources::{Piece, Place, Sources};
use crate::statics::record_place;

/// What became of the notebook's logic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fidelity {
    /// The worst class of all changes and edits.
    pub class: Class,
    /// The class of each edit of the report, in their order.
    pub edits: Vec<Class>,
    /// Every change between the text before and the text after, drift first.
    pub changes: Vec<PlacedChange>,
}

/// A change with the file it is in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedChange {
    /// The notebook or the module, relative to the tree's root.
    pub path: String,
    /// The change.
    #[serde(flatten)]
    pub change: Change,
}

impl Fidelity {
    /// The changes of this class.
    pub fn of(&self, class: Class) -> impl Iterator<Item = &PlacedChange> {
        self.changes.iter().filter(move |placed| placed.change.class == class)
    }
}

impl PlacedChange {
    /// The cell, or the file, for a person.
    pub fn place(&self) -> String {
        match self.change.old.or(self.change.new) {
            Some(Location { cell: Some(cell), lines }) => format!("cell {cell}, line {}", lines.0),
            Some(Location { cell: None, lines }) => format!("{}, line {}", self.path, lines.0),
            None => self.path.clone(),
        }
    }
}

/// Compares what `sources` were with what they are, and judges the edits that led there;
/// `notebook` names the cells' file in the records.
pub fn judge(sources: &Sources, edits: &[EditRecord], target: &Pins, notebook: &str) -> Fidelity {
    let cells: Vec<usize> = (0..sources.cells().len()).collect();
    let mut changes = compared(sources, &cells, edits, target, notebook);
    for module in sources.cells().len()..sources.pieces().len() {
        changes.extend(compared(sources, &[module], edits, target, notebook));
    }
    changes.sort_by_key(|placed| std::cmp::Reverse(placed.change.class));
    let edits: Vec<Class> = edits.iter().map(|edit| class_of(edit, &changes)).collect();
    let all = edits.iter().copied().chain(changes.iter().map(|placed| placed.change.class));
    Fidelity { class: all.max().unwrap_or(Class::Neutral), edits, changes }
}

/// The changes of one program: the cells, or a module.
fn compared(
    sources: &Sources,
    pieces: &[usize],
    edits: &[EditRecord],
    target: &Pins,
    notebook: &str,
) -> Vec<PlacedChange> {
    let all = sources.pieces();
    let source = |at: usize, text: fn(&Piece) -> &str| {
        let piece = &all[at];
        let (cell, form) = match piece.place {
            Place::Cell(cell) => (Some(cell.0), Form::Cell),
            Place::Module(_) => (None, Form::Module),
        };
        (cell, form, text(piece).to_owned())
    };
    let side = |text: fn(&Piece) -> &str| -> Vec<(Option<usize>, Form, String)> {
        pieces.iter().map(|at| source(*at, text)).collect()
    };
    fn as_sources(all: &[(Option<usize>, Form, String)]) -> Vec<Source<'_>> {
        all.iter().map(|(cell, form, text)| Source { cell: *cell, text, form: *form }).collect()
    }
    let (before, after) = (side(|piece| &piece.original), side(|piece| &piece.current));
    let changes = compare_code(&as_sources(&before), &as_sources(&after), target).changes;
    let path = pieces.first().map(|at| record_place(sources, *at, notebook).0).unwrap_or_default();
    changes
        .into_iter()
        .map(|mut change| {
            let cell = change.old.or(change.new).and_then(|place| place.cell);
            let piece = pieces.iter().map(|at| &all[*at]).find(|piece| match piece.place {
                Place::Cell(index) => Some(index.0) == cell,
                Place::Module(_) => cell.is_none(),
            });
            let own: Vec<&EditRecord> =
                edits.iter().filter(|edit| edit.path == path && edit.cell == cell).collect();
            if let Some(piece) = piece
                && change.class != Class::Neutral
            {
                explain(&mut change, piece, &own);
            }
            PlacedChange { path: path.clone(), change }
        })
        .collect()
}

/// What a rule says of its own edits; `None` for an edit of something else.
fn rule_class(edit: &EditRecord) -> Option<Class> {
    let id = edit.rule.as_deref().filter(|_| edit.source == EditSource::Rule)?;
    if id == "PY2" {
        return Some(Class::Neutral);
    }
    Catalogue::shipped().rule(id).map(|rule| match rule.score {
        ScoreEffect::Neutral => Class::Neutral,
        ScoreEffect::Shifting | ScoreEffect::Unknown => Class::Unclear,
    })
}

/// Takes the rules' word for a change whose differing lines are all of their making. What the
/// environment asked for is taken at its word too, unless it is known to be drift.
fn explain(change: &mut Change, piece: &Piece, edits: &[&EditRecord]) {
    let (gone, fresh) = differing_lines(piece, change);
    let lines = |text: &str| -> Vec<String> { text.lines().map(str::trim).map(str::to_owned).collect() };
    let covers = |edits: &[&EditRecord]| {
        let before: HashSet<String> = edits.iter().flat_map(|edit| lines(&edit.before)).collect();
        let after: HashSet<String> = edits.iter().flat_map(|edit| lines(&edit.after)).collect();
        !(gone.is_empty() && fresh.is_empty())
            && gone.iter().all(|line| before.contains(line))
            && fresh.iter().all(|line| after.contains(line))
    };
    let touches = |edit: &&&EditRecord| {
        lines(&edit.before).iter().any(|line| gone.contains(line))
            || lines(&edit.after).iter().any(|line| fresh.contains(line))
    };
    let ruled: Vec<&EditRecord> = edits.iter().copied().filter(|edit| rule_class(edit).is_some()).collect();
    let known: Vec<&EditRecord> = edits
        .iter()
        .copied()
        .filter(|edit| rule_class(edit).is_some() || edit.source == EditSource::Environment)
        .collect();
    let explained = covers(&ruled) || change.class == Class::Unclear && covers(&known);
    if !explained {
        return;
    }
    let makers: Vec<&&EditRecord> = known.iter().filter(touches).collect();
    let worst = makers.iter().max_by_key(|edit| rule_class(edit).unwrap_or(Class::Neutral));
    if let Some(worst) = worst {
        change.class = rule_class(worst).unwrap_or(Class::Neutral);
        change.reason.clone_from(&worst.reason);
        change.rule.clone_from(&worst.rule);
        change.topic = if worst.rule.is_some() { "rule" } else { "environment" }.to_owned();
    }
}

/// The lines that differ within a change, before and after, without their indentation.
fn differing_lines(piece: &Piece, change: &Change) -> (HashSet<String>, HashSet<String>) {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (piece.original.lines().collect(), piece.current.lines().collect());
    let diff = TextDiff::from_slices(&before, &after);
    let (mut gone, mut fresh) = (HashSet::new(), HashSet::new());
    for op in diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal) {
        let (old, new) = (op.old_range(), op.new_range());
        // Lines that were rewritten one by one belong together one by one.
        let one_by_one = old.len() == new.len();
        let counterpart = |lines: (usize, usize), from: &Range<usize>, to: &Range<usize>| -> Range<usize> {
            let (first, last) = (lines.0 - 1, lines.1);
            if from.is_empty() || first >= from.end || last <= from.start {
                return 0..0;
            }
            if !one_by_one {
                return to.clone();
            }
            let (start, end) = (first.max(from.start) - from.start, last.min(from.end) - from.start);
            to.start + start..to.start + end
        };
        let (old_lines, new_lines) = match (change.old, change.new) {
            (Some(place), None) => {
                (counterpart(place.lines, &old, &old), counterpart(place.lines, &old, &new))
            }
            (None, Some(place)) => {
                (counterpart(place.lines, &new, &old), counterpart(place.lines, &new, &new))
            }
            (Some(one), Some(other)) => (
                union(counterpart(one.lines, &old, &old), counterpart(other.lines, &new, &old)),
                union(counterpart(other.lines, &new, &new), counterpart(one.lines, &old, &new)),
            ),
            (None, None) => (old, new),
        };
        gone.extend(before[old_lines].iter().map(|line| line.trim().to_owned()));
        fresh.extend(after[new_lines].iter().map(|line| line.trim().to_owned()));
    }
    (gone, fresh)
}

/// The smallest range with both in it; an empty one has nothing in it.
fn union(one: Range<usize>, other: Range<usize>) -> Range<usize> {
    match (one.is_empty(), other.is_empty()) {
        (true, _) => other,
        (_, true) => one,
        _ => one.start.min(other.start)..one.end.max(other.end),
    }
}

/// The class of an edit: what its rule says, or the worst change in the lines it made.
fn class_of(edit: &EditRecord, changes: &[PlacedChange]) -> Class {
    if let Some(class) = rule_class(edit) {
        return class;
    }
    let made: HashSet<&str> = edit.before.lines().chain(edit.after.lines()).map(str::trim).collect();
    let is_about = |placed: &&PlacedChange| {
        let place = placed.change.old.or(placed.change.new);
        placed.path == edit.path
            && place.and_then(|place| place.cell) == edit.cell
            && placed
                .change
                .before
                .lines()
                .chain(placed.change.after.lines())
                .any(|line| made.contains(line.trim()))
    };
    let classes = changes.iter().filter(is_about).map(|placed| placed.change.class);
    classes.max().unwrap_or(Class::Neutral)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlem_notebook::Notebook;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn edited(old: &str, new: &str, edits: &[(EditSource, Option<&str>, &str, &str)]) -> Fidelity {
        let notebook = Notebook::from_script(old, Path::new("a.py"));
        let mut sources = Sources::new(&notebook);
        sources.set(0, new.to_owned());
        let records: Vec<EditRecord> = edits
            .iter()
            .map(|(source, rule, before, after)| EditRecord {
                path: "a.py".into(),
                cell: Some(0),
                lines: (1, 1),
                source: *source,
                rule: rule.map(str::to_owned),
                before: (*before).to_owned(),
                after: (*after).to_owned(),
                evidence: String::new(),
                safety: "safe".into(),
                reason: "why".into(),
            })
            .collect();
        let target = Pins { python: (3, 13), packages: BTreeMap::new() };
        judge(&sources, &records, &target, "a.py")
    }

    #[test]
    fn a_rule_vouches_for_its_own_lines_only() {
        let old = "y = df.as_matrix()\nmodel.fit(X, epochs=10)";
        // With no pandas in the target the comparison does not know the rule; the record does.
        let new = "y = df.special()\nmodel.fit(X, epochs=10)";
        let rule = (EditSource::Rule, Some("PD002"), "y = df.as_matrix()", "y = df.special()");
        assert_eq!(edited(old, new, &[rule]).class, Class::Neutral);
        assert_eq!(edited(old, new, &[]).class, Class::Unclear, "nobody vouches");
        let more = new.replace("10", "1");
        let found = edited(old, &more, &[rule]);
        assert_eq!((found.class, found.edits.as_slice()), (Class::Drift, &[Class::Neutral][..]));
        assert_eq!(found.changes[0].change.topic, "epochs", "drift comes first");
    }

    #[test]
    fn a_model_vouches_for_nothing() {
        let (old, new) = ("model.fit(X, epochs=10)", "model.fit(X, epochs=1)");
        let found = edited(old, new, &[(EditSource::Model, None, old, new)]);
        assert_eq!((found.class, found.edits.as_slice()), (Class::Drift, &[Class::Drift][..]));
    }

    #[test]
    fn a_rule_that_can_move_numbers_says_so() {
        let id = Catalogue::shipped()
            .rules()
            .iter()
            .find(|rule| rule.score == ScoreEffect::Shifting)
            .map(|rule| rule.id.clone())
            .unwrap();
        let (old, new) = ("x = old_name(1)", "x = new_name(1)");
        let found = edited(old, new, &[(EditSource::Rule, Some(&id), old, new)]);
        assert_eq!((found.class, found.edits.as_slice()), (Class::Unclear, &[Class::Unclear][..]));
    }
}
