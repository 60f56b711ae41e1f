//! Goes through two programs side by side and judges what differs.

use std::collections::{HashMap, HashSet};

use mlem_python::TextRange;
use mlem_python::tree::{Kind, Node};

use super::align::{align, likeness};
use super::content::{only_shows, shown_values, swallows, topics_in};
use super::difference::{Frame, call_frame, expressions, with};
use super::effects::{Effects, function_names};
use super::judge::{Judge, Judgement};
use super::names::{function, method, targets};

/// How often statements are taken out of what encloses them.
const DEEPEST: usize = 20;
/// Likeness from which an enclosed statement is a version of one that stood alone.
const ENCLOSED_ALIKE: f64 = 0.75;

/// A judged difference with its places.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    pub(super) judgement: Judgement,
    pub(super) old: Option<(usize, TextRange)>,
    pub(super) new: Option<(usize, TextRange)>,
}

pub(super) struct Walk<'a> {
    judge: &'a Judge<'a>,
    old_functions: HashMap<String, HashSet<String>>,
    new_functions: HashMap<String, HashSet<String>>,
    pub(super) found: Vec<Judged>,
}

fn place(node: &Node) -> (usize, TextRange) {
    (node.unit, node.range)
}

impl<'a> Walk<'a> {
    pub(super) fn new(judge: &'a Judge<'a>, old: &[Node], new: &[Node]) -> Walk<'a> {
        Walk {
            judge,
            old_functions: function_names(old),
            new_functions: function_names(new),
            found: Vec::new(),
        }
    }

    fn report(&mut self, judgement: Judgement, old: Option<&Node>, new: Option<&Node>) {
        self.found.push(Judged { judgement, old: old.map(place), new: new.map(place) });
    }

    /// Two lists of statements; `around` is what both stand in.
    pub(super) fn statements(&mut self, old: Vec<&Node>, new: Vec<&Node>, around: &[Frame], in_class: bool) {
        let (mut old, mut new) = (old, new);
        let mut alignment = align(&old, &new);
        for _ in 0..DEEPEST {
            let Some((is_new, at)) = self.enclosing(&old, &new, &alignment.removed, &alignment.added) else {
                break;
            };
            let side = if is_new { &mut new } else { &mut old };
            let compound = side[at];
            let inner: Vec<&Node> = compound
                .children
                .iter()
                .filter(|child| {
                    child.kind == Kind::Block && (child.text != "else" || compound.kind == Kind::Try)
                })
                .flat_map(|block| &block.children)
                .filter(|inner| inner.kind != Kind::Pass)
                .collect();
            side.splice(at..=at, inner);
            let judgement = self.judge.enclosed(compound, is_new);
            if is_new {
                self.report(judgement, None, Some(compound));
            } else {
                self.report(judgement, Some(compound), None);
            }
            alignment = align(&old, &new);
        }
        let pairs: Vec<(usize, usize)> =
            alignment.same.iter().chain(&alignment.moved).chain(&alignment.changed).copied().collect();
        for &(i, j) in &alignment.moved {
            self.moved(&old, &new, (i, j), &pairs);
        }
        for &(i, j) in &alignment.changed {
            self.statement(old[i], new[j], around, in_class);
            self.crossed(&old, &new, (i, j), &pairs);
        }
        for at in alignment.removed {
            let judgement = self.judge.removed(old[at], in_class);
            self.report(judgement, Some(old[at]), None);
        }
        for at in alignment.added {
            let judgement = self.judge.added(new[at], in_class);
            self.report(judgement, None, Some(new[at]));
        }
    }

    /// A left-over compound statement that has left-over statements of the other side in it.
    fn enclosing(
        &self,
        old: &[&Node],
        new: &[&Node],
        removed: &[usize],
        added: &[usize],
    ) -> Option<(bool, usize)> {
        let encloses = |compound: &Node, others: &[&Node]| {
            matches!(compound.kind, Kind::If | Kind::Try | Kind::With | Kind::For | Kind::While)
                && compound
                    .children
                    .iter()
                    .filter(|child| child.kind == Kind::Block)
                    .flat_map(|block| &block.children)
                    .any(|inner| {
                        inner.kind != Kind::Pass
                            && others
                                .iter()
                                .any(|other| **other == *inner || likeness(other, inner) >= ENCLOSED_ALIKE)
                    })
        };
        let pick = |side: &[&'_ Node], places: &[usize], others: &[&Node]| {
            places.iter().copied().find(|at| encloses(side[*at], others))
        };
        let left: Vec<&Node> = removed.iter().map(|at| old[*at]).collect();
        let right: Vec<&Node> = added.iter().map(|at| new[*at]).collect();
        pick(new, added, &left)
            .map(|at| (true, at))
            .or_else(|| pick(old, removed, &right).map(|at| (false, at)))
    }

    fn moved(&mut self, old: &[&Node], new: &[&Node], pair: (usize, usize), pairs: &[(usize, usize)]) {
        let conflict = self.conflict(old, new, pair, pairs);
        let conflict = conflict.as_ref().map(|(shared, other)| (shared.as_str(), *other));
        let judgement = self.judge.moved(old[pair.0], conflict);
        self.report(judgement, Some(old[pair.0]), Some(new[pair.1]));
    }

    /// A changed statement that also stands elsewhere.
    fn crossed(&mut self, old: &[&Node], new: &[&Node], pair: (usize, usize), pairs: &[(usize, usize)]) {
        if let Some((shared, other)) = self.conflict(old, new, pair, pairs) {
            let judgement = self.judge.moved(old[pair.0], Some((&shared, other)));
            self.report(judgement, Some(old[pair.0]), Some(new[pair.1]));
        }
    }

    /// What a statement shares with one that it changed places with.
    fn conflict<'n>(
        &self,
        old: &[&'n Node],
        new: &[&Node],
        (i, j): (usize, usize),
        pairs: &[(usize, usize)],
    ) -> Option<(String, &'n Node)> {
        // A definition does nothing where it stands, as long as it stands before its use.
        let own = Effects::of(old[i], &self.old_functions);
        let own_new = Effects::of(new[j], &self.new_functions);
        let crossing = pairs.iter().filter(|(a, b)| (*a < i) != (*b < j) && *a != i);
        for &(a, b) in crossing {
            let other = Effects::of(old[a], &self.old_functions);
            let other_new = Effects::of(new[b], &self.new_functions);
            if let Some(shared) = own.conflict(&other).or_else(|| own_new.conflict(&other_new)) {
                if only_shows(old[i]) && only_shows(old[a]) {
                    continue;
                }
                return Some((shared.to_owned(), old[a]));
            }
        }
        None
    }

    /// Two versions of one statement.
    fn statement(&mut self, old: &Node, new: &Node, around: &[Frame], in_class: bool) {
        match (old.kind, new.kind) {
            (Kind::Function, Kind::Function) | (Kind::Class, Kind::Class) => {
                self.definition(old, new, around, in_class)
            }
            (Kind::For, Kind::For) => {
                let trains = old.any(&mut trains) || new.any(&mut trains);
                let variable = targets(old).first().map(|target| target.text.clone()).unwrap_or_default();
                let frame = Frame::Iterable { trains, variable };
                self.expression(&old.children[0], &new.children[0], around, (old, new));
                self.expression(&old.children[1], &new.children[1], &with(around, frame), (old, new));
                self.blocks(old, new, around, in_class);
            }
            (Kind::If, Kind::If) | (Kind::While, Kind::While) => {
                let trains = old.any(&mut trains) || new.any(&mut trains);
                let frame = if old.kind == Kind::While {
                    Frame::Iterable { trains, variable: String::new() }
                } else {
                    Frame::Condition
                };
                self.expression(&old.children[0], &new.children[0], &with(around, frame), (old, new));
                self.blocks(old, new, around, in_class);
            }
            (Kind::With, Kind::With) => {
                let items = |node: &Node| -> Vec<Node> {
                    node.children.iter().filter(|child| child.kind == Kind::WithItem).cloned().collect()
                };
                let (before, after) = (items(old), items(new));
                if before.len() == after.len() {
                    for (before, after) in before.iter().zip(&after) {
                        self.expression(before, after, around, (old, new));
                    }
                } else {
                    let judgement = self.judge.enclosed(new, true);
                    self.report(judgement, Some(old), Some(new));
                }
                self.blocks(old, new, around, in_class);
            }
            (Kind::Try, Kind::Try) => {
                self.blocks(old, new, around, in_class);
                self.handlers(old, new, around, in_class);
            }
            (Kind::Assign, Kind::Assign) => self.assignment(old, new, around),
            (Kind::Expression, Kind::Expression) if prints_the_same(old, new) => {
                let words = "the same values, printed in another form";
                self.report(Judgement::new(super::Class::Neutral, "display", words), Some(old), Some(new));
            }
            _ => {
                let value = |node: &Node| match node.kind {
                    Kind::Assign | Kind::Expression | Kind::Return | Kind::AugmentedAssign => {
                        node.children.last().cloned()
                    }
                    _ => None,
                };
                match (value(old), value(new)) {
                    (Some(before), Some(after)) if old.kind != new.kind => {
                        self.other_form(old, new, (&before, &after), around)
                    }
                    _ if old.kind == new.kind
                        && old.children.len() == new.children.len()
                        && old.text == new.text =>
                    {
                        let around = if old.kind == Kind::Expression && only_shows(old) && only_shows(new) {
                            with(around, Frame::Display)
                        } else {
                            around.to_vec()
                        };
                        for (before, after) in old.children.iter().zip(&new.children) {
                            self.expression(before, after, &around, (old, new));
                        }
                    }
                    _ => {
                        let gone = self.judge.removed(old, in_class);
                        self.report(gone, Some(old), Some(new));
                        let fresh = self.judge.added(new, in_class);
                        self.report(fresh, Some(old), Some(new));
                    }
                }
            }
        }
    }

    /// `f(x)` that became `y = f(x)`, and the like.
    fn other_form(&mut self, old: &Node, new: &Node, (before, after): (&Node, &Node), around: &[Frame]) {
        let found = self.found.len();
        self.expression(before, after, around, (old, new));
        let binds = |node: &Node| targets(node).iter().any(|target| target.kind != Kind::Name);
        let is_plain = |node: &Node| matches!(node.kind, Kind::Expression | Kind::Assign) && !binds(node);
        // A name that the other side never binds cannot be read there; where it is read here, the
        // reading statement differs and is judged.
        let unread = |node: &Node, reads: &HashSet<String>| {
            targets(node).iter().all(|target| !reads.contains(&target.text))
        };
        let harmless = is_plain(old)
            && is_plain(new)
            && (unread(new, &self.judge.old_reads) && unread(old, &self.judge.new_reads));
        if harmless {
            if self.found.len() == found {
                self.report(
                    Judgement::new(
                        super::Class::Neutral,
                        "unused",
                        "a result is given a name, or has none any more",
                    ),
                    Some(old),
                    Some(new),
                );
            }
        } else {
            let text = self.judge.new.snippet(new.unit, new.range);
            self.report(
                Judgement::new(
                    super::Class::Unclear,
                    "code",
                    format!("what is done with a result changed: `{text}`"),
                ),
                Some(old),
                Some(new),
            );
        }
    }

    fn assignment(&mut self, old: &Node, new: &Node, around: &[Frame]) {
        let (Some((before, old_targets)), Some((after, new_targets))) =
            (old.children.split_last(), new.children.split_last())
        else {
            return;
        };
        let frame = match old_targets.first() {
            Some(target) if target.kind == Kind::Name => Some(Frame::Target(target.text.clone())),
            Some(target) if target.kind == Kind::Attribute => Some(Frame::Target(target.text.clone())),
            Some(target) if target.kind == Kind::Subscript => {
                let mut key = None;
                target.children[1].walk(&mut |part| {
                    if part.kind == Kind::Text {
                        key.get_or_insert_with(|| part.text.clone());
                    }
                });
                key.map(Frame::Item)
            }
            _ => None,
        };
        if old_targets != new_targets {
            if old_targets.len() == new_targets.len() {
                for (one, other) in old_targets.iter().zip(new_targets) {
                    let inside =
                        match topics_in(before).iter().any(|topic| topic.class == super::Class::Drift) {
                            true => with(around, Frame::Result(before.clone())),
                            false => around.to_vec(),
                        };
                    self.expression(one, other, &inside, (old, new));
                }
            } else {
                let text = self.judge.new.snippet(new.unit, new.range);
                self.report(
                    Judgement::new(
                        super::Class::Unclear,
                        "code",
                        format!("a result gets other names: `{text}`"),
                    ),
                    Some(old),
                    Some(new),
                );
            }
        }
        let mut inside = around.to_vec();
        inside.extend(frame);
        self.expression(before, after, &inside, (old, new));
    }

    fn definition(&mut self, old: &Node, new: &Node, around: &[Frame], in_class: bool) {
        if old.text != new.text {
            let judgement = Judgement::new(
                super::Class::Unclear,
                "code",
                format!("another name: `{}` → `{}`", old.text, new.text),
            );
            self.report(judgement, Some(old), Some(new));
        }
        let parts = |node: &Node, kind: Kind| -> Vec<Node> {
            node.children.iter().filter(|child| child.kind == kind).cloned().collect()
        };
        let (before, after) = (parts(old, Kind::Parameter), parts(new, Kind::Parameter));
        for parameter in &before {
            match after.iter().find(|other| other.text == parameter.text) {
                Some(other) => {
                    let inside = with(around, Frame::Parameter(parameter.text.clone()));
                    match (parameter.children.first(), other.children.first()) {
                        (Some(one), Some(other)) => {
                            self.expression(one, other, &inside, (parameter, parameter))
                        }
                        (None, None) => {}
                        _ => {
                            let judgement = Judgement::new(
                                super::Class::Unclear,
                                "code",
                                format!("the default of `{}` changed", parameter.text),
                            );
                            self.report(judgement, Some(parameter), Some(other));
                        }
                    }
                }
                None => {
                    let judgement = Judgement::new(
                        super::Class::Unclear,
                        "code",
                        format!("the parameter `{}` is gone", parameter.text),
                    );
                    self.report(judgement, Some(parameter), Some(new));
                }
            }
        }
        for parameter in after.iter().filter(|own| before.iter().all(|other| other.text != own.text)) {
            let judgement = Judgement::new(
                super::Class::Unclear,
                "code",
                format!("the parameter `{}` is new", parameter.text),
            );
            self.report(judgement, Some(old), Some(parameter));
        }
        let rest = |node: &Node| -> Vec<Node> {
            node.children
                .iter()
                .filter(|child| !matches!(child.kind, Kind::Parameter | Kind::Block))
                .cloned()
                .collect()
        };
        let (before, after) = (rest(old), rest(new));
        if before.len() == after.len() {
            for (before, after) in before.iter().zip(&after) {
                self.expression(before, after, around, (old, new));
            }
        } else {
            // A decorator such as `torch.no_grad` decides what the body does.
            let differing = before.iter().filter(|part| !after.contains(part));
            let differing = differing.chain(after.iter().filter(|part| !before.contains(part)));
            let matters = differing.flat_map(topics_in).find(|topic| topic.class == super::Class::Drift);
            let reason = format!("decorators or bases of `{}` changed", old.text);
            let judgement = match matters {
                Some(topic) => Judgement::new(topic.class, &topic.name, reason),
                None => Judgement::new(super::Class::Unclear, "code", reason),
            };
            self.report(judgement, Some(old), Some(new));
        }
        self.blocks(old, new, around, in_class || old.kind == Kind::Class);
    }

    fn blocks(&mut self, old: &Node, new: &Node, around: &[Frame], in_class: bool) {
        for name in ["body", "else", "finally"] {
            let statements = |node: &'_ Node| -> Vec<Node> { node.block(name).unwrap_or_default().to_vec() };
            let (before, after) = (statements(old), statements(new));
            if before != after {
                let in_class = in_class && matches!(old.kind, Kind::Class);
                self.statements(before.iter().collect(), after.iter().collect(), around, in_class);
            }
        }
    }

    fn handlers(&mut self, old: &Node, new: &Node, around: &[Frame], in_class: bool) {
        let handlers = |node: &Node| -> Vec<Node> {
            node.children.iter().filter(|child| child.kind == Kind::Handler).cloned().collect()
        };
        let (before, after) = (handlers(old), handlers(new));
        if before == after {
            return;
        }
        if swallows(new) && !swallows(old) {
            let text = self.judge.new.snippet(new.unit, new.range);
            let header = text.split(':').next().unwrap_or(&text).to_owned();
            let judgement = Judgement::new(
                super::Class::Drift,
                "exception",
                format!("errors are swallowed that were raised: `{header}`"),
            );
            return self.report(judgement, Some(old), Some(new));
        }
        let inside = with(around, Frame::Handler);
        if before.len() == after.len() {
            for (before, after) in before.iter().zip(&after) {
                let bodies = |node: &Node| -> Vec<Node> { node.block("body").unwrap_or_default().to_vec() };
                let (one, other) = (bodies(before), bodies(after));
                self.statements(one.iter().collect(), other.iter().collect(), &inside, in_class);
                if before.children.len() == after.children.len() && before.children.len() > 1 {
                    self.expression(&before.children[0], &after.children[0], &inside, (old, new));
                }
            }
        } else {
            let judgement = Judgement::new(super::Class::Unclear, "exception", "other errors are handled");
            self.report(judgement, Some(old), Some(new));
        }
    }

    /// Two expressions of a pair of statements; a difference without a place of its own is said of
    /// the statements.
    fn expression(&mut self, old: &Node, new: &Node, around: &[Frame], statements: (&Node, &Node)) {
        let mut differences = Vec::new();
        expressions(old, new, around, &mut differences);
        for difference in differences {
            let judgement = self.judge.difference(&difference);
            let old = difference.old.as_ref().map_or(place(statements.0), place);
            let new = difference.new.as_ref().map_or(place(statements.1), place);
            self.found.push(Judged { judgement, old: Some(old), new: Some(new) });
        }
    }
}

/// Whether two calls of `print` show the same values.
fn prints_the_same(old: &Node, new: &Node) -> bool {
    let values = |statement: &Node| -> Option<Vec<Node>> {
        shown_values(&statement.children[0]).map(|values| values.into_iter().cloned().collect())
    };
    values(old).is_some_and(|before| !before.is_empty() && values(new) == Some(before))
}

/// Whether this is a call that trains.
fn trains(node: &Node) -> bool {
    (function(node).is_some() || method(node).is_some())
        && matches!(call_frame(node), Frame::Function(_) | Frame::Method(_))
        && topics_in(node).iter().any(|topic| topic.name == "training")
}
