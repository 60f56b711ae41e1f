//! How one difference is classed, and the words for it.

use std::collections::HashSet;

use mlem_python::tree::{Kind, Node};
use mlem_rules::Target;

use super::Class;
use super::canonical::is_constant;
use super::content::{
    TELLING, call_topic, computes, file_name, frame_topic, name_topic, prints, states_a_score, telling_topic,
    topic_named, topics_in,
};
use super::difference::{Difference, Frame, What};
use super::knowledge::{Topic, knowledge};
use super::names::{base_name, function, method};
use super::side::Side;

/// A class with its topic and reason.
#[derive(Debug, Clone)]
pub(super) struct Judgement {
    pub(super) class: Class,
    pub(super) topic: String,
    pub(super) reason: String,
}

impl Judgement {
    pub(super) fn new(class: Class, topic: &str, reason: impl Into<String>) -> Judgement {
        Judgement { class, topic: topic.to_owned(), reason: reason.into() }
    }
}

/// Methods that only give the same values in another container or copy; a change of them alone
/// is not judged by what they are called on.
const VIEWS: &[&str] = &["copy", "values", "to_numpy", "tolist", "items", "keys", "toarray", "numpy", "item"];

/// Judges differences between these two programs.
pub(super) struct Judge<'a> {
    pub(super) old: &'a Side,
    pub(super) new: &'a Side,
    /// Names that each program reads anywhere, for what is not used.
    pub(super) old_reads: HashSet<String>,
    pub(super) new_reads: HashSet<String>,
    /// Last parts of the full names that the old program uses.
    pub(super) old_references: HashSet<String>,
    /// What rules are asked about.
    pub(super) target: &'a dyn Target,
}

impl Judge<'_> {
    pub(super) fn old_text(&self, node: &Node) -> String {
        Some(self.old.snippet(node.unit, node.range))
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| sketch(node))
    }

    pub(super) fn new_text(&self, node: &Node) -> String {
        Some(self.new.snippet(node.unit, node.range))
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| sketch(node))
    }

    /// Judges a difference inside of a statement that both programs have.
    pub(super) fn difference(&self, difference: &Difference) -> Judgement {
        let around = &difference.around;
        let old = difference.old.as_ref();
        let new = difference.new.as_ref();
        if let (Some(old), Some(new)) = (old, new)
            && let Some(judgement) = self.same_thing(old, new)
        {
            return judgement;
        }
        let named = around.iter().rev().find_map(|frame| match frame {
            Frame::Argument(name) | Frame::Key(name) | Frame::Parameter(name) => Some(name.as_str()),
            _ => None,
        });
        let named_topic = named.and_then(|name| knowledge().argument(name).map(|topic| (name, topic)));
        if let Some((name, topic)) = named_topic
            && topic.class == Class::Neutral
        {
            return Judgement::new(
                Class::Neutral,
                &topic.name,
                format!("`{name}` is about {} alone: {}", topic.words, self.change(difference)),
            );
        }
        if let Some(judgement) = self.shown(difference) {
            return judgement;
        }
        if let Some(judgement) = self.path(difference) {
            return judgement;
        }
        if let Some(judgement) = self.by_content(difference) {
            return judgement;
        }
        if around.contains(&Frame::Handler) {
            return Judgement::new(
                Class::Unclear,
                "exception",
                format!("what happens on an error changed: {}", self.change(difference)),
            );
        }
        if let Some((name, topic)) = named_topic {
            return about(topic, format!("{} changed: {name} {}", topic.words, self.change(difference)));
        }
        if let Some(judgement) = self.by_place(difference) {
            return judgement;
        }
        if let (Some(old), Some(new)) = (old, new)
            && is_constant(new)
            && !is_constant(old)
            && matches!(new.kind, Kind::Number | Kind::Text | Kind::List | Kind::Tuple)
        {
            return Judgement::new(
                Class::Drift,
                "constant",
                format!("a computed value became a constant: {}", self.change(difference)),
            );
        }
        Judgement::new(Class::Unclear, "code", format!("the code changed: {}", self.change(difference)))
    }

    /// `0.2 → 0.3`.
    fn change(&self, difference: &Difference) -> String {
        let old = difference.old.as_ref().map(|node| self.old_text(node));
        let new = difference.new.as_ref().map(|node| self.new_text(node));
        match (old, new) {
            (Some(old), Some(new)) => format!("`{old}` → `{new}`"),
            (Some(old), None) => format!("`{old}` is gone"),
            (None, Some(new)) => format!("`{new}` is new"),
            (None, None) => String::new(),
        }
    }

    /// Names, methods and numbers that are the same thing.
    fn same_thing(&self, old: &Node, new: &Node) -> Option<Judgement> {
        let is_one = match (old.kind, new.kind) {
            (Kind::Reference, Kind::Reference) => knowledge().are_one(&old.text, &new.text),
            (Kind::Number, Kind::Number) => {
                let value = |node: &Node| node.text.parse::<f64>().ok();
                value(old).is_some() && value(old) == value(new)
            }
            _ => false,
        };
        is_one.then(|| {
            let (topic, words) = match old.kind {
                Kind::Number => ("number", "the same number"),
                _ => ("import-path", "the same thing by another import path"),
            };
            Judgement::new(Class::Neutral, topic, format!("{words}: `{}` → `{}`", old.text, new.text))
        })
    }

    /// Inside of what only shows something.
    fn shown(&self, difference: &Difference) -> Option<Judgement> {
        let at = difference.around.iter().rposition(|frame| {
            matches!(frame, Frame::Display)
                || matches!(frame, Frame::Function(name) if topic_named(knowledge().function(name), &["display", "performance", "environment"]))
        })?;
        let inner = &difference.around[at + 1..];
        let telling = inner
            .iter()
            .any(|frame| frame_topic(frame).is_some_and(|topic| TELLING.contains(&topic.name.as_str())));
        if telling {
            return None;
        }
        let (old, new) = (difference.old.as_ref(), difference.new.as_ref());
        let prints = difference.around.iter().any(
            |frame| matches!(frame, Frame::Function(name) if name == "print" || name.ends_with("display")),
        );
        if let (Some(old), Some(new)) = (old, new)
            && computes(old)
            && (is_constant(new) || new.kind == Kind::Format && !computes(new))
        {
            return Some(Judgement::new(
                Class::Drift,
                "constant",
                format!("what is shown is written in and no longer computed: {}", self.change(difference)),
            ));
        }
        if let Some(new) = new
            && old.is_none_or(|old| !states_a_score(old) || old != new)
            && states_a_score(new)
            && !old.is_some_and(states_a_score)
        {
            return Some(Judgement::new(
                Class::Drift,
                "constant",
                format!("a score is written in and not computed: `{}`", self.new_text(new)),
            ));
        }
        let topic_of = |node: Option<&Node>| node.and_then(telling_topic);
        if let Some(topic) = topic_of(old).or(topic_of(new)) {
            let only_added = old.is_none() && matches!(topic.name.as_str(), "metric" | "prediction");
            if !only_added {
                return Some(about(topic, format!("{} changed: {}", topic.words, self.change(difference))));
            }
        }
        if prints
            && let (Some(old), Some(new)) = (old, new)
            && !is_constant(old)
            && base_name(old).is_some()
            && base_name(new).is_some()
            && base_name(old) != base_name(new)
        {
            return Some(Judgement::new(
                Class::Unclear,
                "display",
                format!("another value is shown: {}", self.change(difference)),
            ));
        }
        Some(Judgement::new(Class::Neutral, "display", format!("display only: {}", self.change(difference))))
    }

    /// A path that names the same file elsewhere.
    fn path(&self, difference: &Difference) -> Option<Judgement> {
        let call = difference.around.iter().rev().find_map(frame_topic)?;
        if !matches!(call.name.as_str(), "data" | "weights" | "submission" | "output") {
            return None;
        }
        let first = difference.around.iter().rev().any(|frame| match frame {
            Frame::Position(0) => true,
            Frame::Argument(name) => {
                matches!(
                    name.as_str(),
                    "filepath_or_buffer"
                        | "path"
                        | "filepath"
                        | "io"
                        | "fname"
                        | "file"
                        | "filename"
                        | "f"
                        | "path_or_buf"
                        | "directory"
                        | "root"
                )
            }
            _ => false,
        });
        let (old, new) = (difference.old.as_ref()?, difference.new.as_ref()?);
        let (before, after) = (file_name(old), file_name(new));
        if !first || (before.is_none() && after.is_none()) {
            return None;
        }
        if before.is_some() && before == after {
            return Some(Judgement::new(
                Class::Neutral,
                "data-path",
                format!("the same file at another path: {}", self.change(difference)),
            ));
        }
        // A folder may be called anything.
        let is_file = |name: &Option<String>| name.as_ref().is_some_and(|name| name.contains('.'));
        if !is_file(&before) && !is_file(&after) {
            return Some(Judgement::new(
                Class::Unclear,
                "data-path",
                format!("another folder, or the same at another path: {}", self.change(difference)),
            ));
        }
        match call.name.as_str() {
            "data" if before.is_some() && after.is_some() => Some(Judgement::new(
                Class::Drift,
                "data",
                format!("another file is read: {}", self.change(difference)),
            )),
            "weights" if before.is_some() && after.is_some() => Some(Judgement::new(
                Class::Drift,
                "weights",
                format!("other weights are loaded: {}", self.change(difference)),
            )),
            _ => Some(Judgement::new(
                Class::Unclear,
                &call.name,
                format!("the path changed: {}", self.change(difference)),
            )),
        }
    }

    /// What the two sides themselves call.
    fn by_content(&self, difference: &Difference) -> Option<Judgement> {
        let (old, new) = (difference.old.as_ref(), difference.new.as_ref());
        let change = || self.change(difference);
        let wrapped = match &difference.what {
            What::Wrapped(by) => Some((by, true)),
            What::Unwrapped(by) => Some((by, false)),
            _ => None,
        };
        if let Some((by, is_new)) = wrapped {
            return Some(self.wrapped(by, is_new, difference));
        }
        let topics = |node: Option<&Node>| node.map(topics_in).unwrap_or_default();
        let (before, after) = (topics(old), topics(new));
        let has = |list: &[&'static Topic], name: &str| list.iter().any(|topic| topic.name == name);
        if has(&before, "data") && !has(&after, "data") && new.is_some() {
            return Some(Judgement::new(
                Class::Drift,
                "synthetic",
                format!("the data is no longer read: {}", change()),
            ));
        }
        if has(&before, "weights") && !has(&after, "weights") {
            return Some(Judgement::new(
                Class::Drift,
                "weights",
                format!("trained weights are no longer loaded: {}", change()),
            ));
        }
        if has(&after, "synthetic") && !has(&before, "synthetic") {
            return Some(Judgement::new(
                Class::Drift,
                "synthetic",
                format!("made-up values are used: {}", change()),
            ));
        }
        let callee = |node: Option<&Node>| {
            node.filter(|node| matches!(node.kind, Kind::Reference | Kind::Attribute)).and_then(name_topic)
        };
        let best = before
            .iter()
            .chain(&after)
            .copied()
            .chain(callee(old))
            .chain(callee(new))
            .filter(|topic| topic.class != Class::Neutral)
            .min_by_key(|topic| knowledge().rank(topic));
        best.map(|topic| about(topic, format!("{} changed: {}", topic.words, change())))
    }

    fn wrapped(&self, by: &[Node], is_new: bool, difference: &Difference) -> Judgement {
        let change = self.change(difference);
        let is_view = |node: &Node| match node.kind {
            Kind::Attribute => VIEWS.contains(&node.text.as_str()),
            Kind::Call => method(node).is_some_and(|(name, _)| VIEWS.contains(&name)),
            _ => false,
        };
        // `list(map(…))`, `list(d.keys())`: Python 3 gives views and iterators (PEP 3106 and the
        // "Views and iterators instead of lists" section of What's new in Python 3.0).
        let lists_an_iterator = |node: &Node| {
            function(node) == Some("list")
                && node.children.get(1).is_some_and(|inner| {
                    matches!(function(inner), Some("map" | "zip" | "filter" | "range"))
                        || method(inner).is_some_and(|(name, _)| matches!(name, "keys" | "values" | "items"))
                })
        };
        if by.iter().all(lists_an_iterator) {
            return Judgement::new(
                Class::Neutral,
                "container",
                format!("the same values as a list: {change}"),
            );
        }
        if by.iter().all(|node| method(node).is_some_and(|(name, _)| name == "copy")) {
            return Judgement::new(Class::Neutral, "container", format!("the same values, copied: {change}"));
        }
        let sliced = by.iter().any(|node| {
            node.kind == Kind::Subscript && node.children[1].any(&mut |part| part.kind == Kind::Slice)
        });
        if sliced {
            let words = if is_new { "only a part is used" } else { "no longer only a part is used" };
            return Judgement::new(Class::Drift, "rows", format!("{words}: {change}"));
        }
        let topic = by
            .iter()
            .filter_map(call_topic)
            .filter(|topic| topic.class != Class::Neutral)
            .min_by_key(|topic| knowledge().rank(topic));
        if let Some(topic) = topic {
            return about(topic, format!("{} changed: {change}", topic.words));
        }
        let selects = by.iter().any(|node| node.kind == Kind::Subscript);
        if selects {
            return Judgement::new(Class::Drift, "rows", format!("a selection changed: {change}"));
        }
        if by.iter().all(is_view) {
            return Judgement::new(
                Class::Unclear,
                "container",
                format!("another kind of container: {change}"),
            );
        }
        if by.iter().all(|node| topic_named(call_topic(node), &["progress"])) {
            return Judgement::new(
                Class::Neutral,
                "progress",
                format!("the same values behind a progress bar: {change}"),
            );
        }
        if by.iter().all(prints) {
            return Judgement::new(Class::Neutral, "display", format!("display only: {change}"));
        }
        self.by_place(difference)
            .unwrap_or_else(|| Judgement::new(Class::Unclear, "code", format!("the code changed: {change}")))
    }

    /// What stands around it.
    fn by_place(&self, difference: &Difference) -> Option<Judgement> {
        let change = || self.change(difference);
        let names_another = || {
            let (old, new) = (difference.old.as_ref()?, difference.new.as_ref()?);
            let (before, after) = (base_name(old)?, base_name(new)?);
            (before != after).then_some(())
        };
        for frame in difference.around.iter().rev() {
            match frame {
                Frame::Function(_) | Frame::Method(_) => {
                    let Some(topic) = frame_topic(frame) else { continue };
                    if topic.class == Class::Neutral {
                        continue;
                    }
                    let name = match frame {
                        Frame::Function(name) => name.rsplit('.').next().unwrap_or(name),
                        Frame::Method(name) => name,
                        _ => continue,
                    };
                    let words = if names_another().is_some() {
                        format!("`{name}` works on other data: {}", change())
                    } else {
                        format!("{} changed: an argument of `{name}`: {}", topic.words, change())
                    };
                    return Some(about(topic, words));
                }
                Frame::Index => {
                    let compares = |node: &Option<Node>| {
                        node.as_ref().is_some_and(|node| {
                            node.any(&mut |part| {
                                matches!(part.kind, Kind::Compare | Kind::Slice | Kind::Number)
                            })
                        })
                    };
                    let names_columns = |node: &Option<Node>| {
                        node.as_ref().is_some_and(|node| node.any(&mut |part| part.kind == Kind::Text))
                    };
                    if names_columns(&difference.old) || names_columns(&difference.new) {
                        return Some(Judgement::new(
                            Class::Drift,
                            "features",
                            format!("the columns changed: {}", change()),
                        ));
                    }
                    if compares(&difference.old) || compares(&difference.new) {
                        return Some(Judgement::new(
                            Class::Drift,
                            "rows",
                            format!("which rows are used changed: {}", change()),
                        ));
                    }
                }
                Frame::Iterable { trains: true, .. } => {
                    return Some(Judgement::new(
                        Class::Drift,
                        "epochs",
                        format!("how often the training loop runs changed: {}", change()),
                    ));
                }
                Frame::Iterable { variable, .. } | Frame::Target(variable) => {
                    if let Some(topic) = knowledge().argument(variable) {
                        return Some(about(
                            topic,
                            format!("{} changed: {variable} {}", topic.words, change()),
                        ));
                    }
                }
                Frame::Result(value) => {
                    let topic = topics_in(value)
                        .into_iter()
                        .filter(|topic| topic.class == Class::Drift)
                        .min_by_key(|topic| knowledge().rank(topic))?;
                    let text = self.old_text(value);
                    return Some(about(
                        topic,
                        format!("what `{text}` gives goes to other names: {}", change()),
                    ));
                }
                Frame::Item(key) => {
                    return Some(Judgement::new(
                        Class::Drift,
                        "features",
                        format!("the values of `{key}` changed: {}", change()),
                    ));
                }
                _ => {}
            }
        }
        None
    }
}

/// A node that a rule made, and that stands nowhere in the source, in few words.
fn sketch(node: &Node) -> String {
    match node.kind {
        Kind::Text => format!("'{}'", node.text),
        _ if !node.text.is_empty() => node.text.clone(),
        _ => node.children.first().map_or_else(|| "…".to_owned(), sketch),
    }
}

pub(super) fn about(topic: &Topic, reason: String) -> Judgement {
    Judgement::new(topic.class, &topic.name, reason)
}
