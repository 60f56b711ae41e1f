//! How one difference is classed, and the words for it.

use std::collections::HashSet;

use mlem_python::tree::{Kind, Node};
use mlem_rules::Target;

use super::Class;
use super::canonical::is_constant;
use super::difference::{Difference, Frame, What};
use super::knowledge::{Topic, knowledge};
use super::names::{base_name, function, method};
use super::side::{Side, Stage, is_neutral};

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

/// Topics that matter even inside of what only shows something.
const TELLING: &[&str] = &[
    "exit",
    "submission",
    "synthetic",
    "weights",
    "training",
    "metric",
    "prediction",
    "seed",
    "split",
    "output",
];

/// Judges differences between these two programs.
pub(super) struct Judge<'a> {
    pub(super) old: &'a Side,
    pub(super) new: &'a Side,
    /// Names that the new program reads anywhere, for what is not used.
    pub(super) old_reads: HashSet<String>,
    pub(super) new_reads: HashSet<String>,
    /// Last parts of the full names that the old program uses.
    pub(super) old_references: HashSet<String>,
    /// What rules are asked about.
    pub(super) target: &'a dyn Target,
}

impl Judge<'_> {
    fn old_text(&self, node: &Node) -> String {
        Some(self.old.snippet(node.unit, node.range))
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| sketch(node))
    }

    fn new_text(&self, node: &Node) -> String {
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
        if by.iter().all(|node| is_view(node)) {
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

    /// Judges a statement that is gone.
    pub(super) fn removed(&self, statement: &Node, in_class: bool) -> Judgement {
        let text = self.old_text(statement);
        self.one_sided(statement, &text, false, in_class)
    }

    /// Judges a statement that is new.
    pub(super) fn added(&self, statement: &Node, in_class: bool) -> Judgement {
        let text = self.new_text(statement);
        self.one_sided(statement, &text, true, in_class)
    }

    fn one_sided(&self, statement: &Node, text: &str, is_new: bool, in_class: bool) -> Judgement {
        let verb = if is_new { "is new" } else { "is gone" };
        let say = |class, topic: &str, words: &str| {
            Judgement::new(class, topic, format!("{words}: `{text}` {verb}"))
        };
        let changed = |topic: &Topic| about(topic, format!("{} changed: `{text}` {verb}", topic.words));
        match statement.kind {
            Kind::Pass => return say(Class::Neutral, "layout", "`pass` does nothing"),
            Kind::Escape if knowledge().is_neutral_escape(&statement.text) => {
                return say(Class::Neutral, "environment", "the environment or display only");
            }
            Kind::Escape if statement.text.contains('\n') => {
                return Judgement::new(
                    Class::Drift,
                    "code",
                    format!("the cell is not run as Python of the notebook: `{text}` {verb}"),
                );
            }
            Kind::Escape => return say(Class::Unclear, "environment", "a command"),
            Kind::Broken => return say(Class::Unclear, "code", "source that does not parse"),
            Kind::Import => return say(Class::Unclear, "import-path", "an import"),
            Kind::Delete if statement.children.iter().all(|target| target.kind == Kind::Name) => {
                return say(Class::Neutral, "performance", "memory only");
            }
            Kind::Return => return say(Class::Drift, "exit", "where a function ends changed"),
            Kind::Break | Kind::Continue => return say(Class::Drift, "exit", "where a loop ends changed"),
            Kind::Raise if is_new => return say(Class::Drift, "exit", "the code ends early"),
            Kind::Function if in_class => {
                return match knowledge().method(&statement.text) {
                    Some(topic) => say(topic.class, &topic.name, "a method with a meaning of its own"),
                    None => say(Class::Unclear, "code", "a method"),
                };
            }
            Kind::Function | Kind::Class => return self.definition(statement, text, is_new),
            _ => {}
        }
        if let Some(judgement) = self.assigned(statement, text, is_new) {
            return judgement;
        }
        if is_new && statement.any(&mut |node| prints(node) && states_a_score(node)) && only_shows(statement)
        {
            return say(Class::Drift, "constant", "a score is written in and not computed");
        }
        if statement.kind == Kind::Try && swallows(statement) {
            let words = "errors are swallowed";
            return say(if is_new { Class::Drift } else { Class::Unclear }, "exception", words);
        }
        let telling = telling_topic(statement);
        if only_shows(statement) {
            return match telling {
                Some(topic) if !(is_new && matches!(topic.name.as_str(), "metric" | "prediction")) => {
                    changed(topic)
                }
                _ => say(Class::Neutral, "display", "display only"),
            };
        }
        let topics = topics_in(statement);
        let best = topics.iter().min_by_key(|topic| knowledge().rank(topic));
        match best {
            Some(topic)
                if topic.class == Class::Neutral
                    && topics.iter().all(|topic| topic.class == Class::Neutral) =>
            {
                if is_inert(statement) {
                    say(Class::Neutral, &topic.name, &format!("{} alone", topic.words))
                } else {
                    say(Class::Unclear, "code", "code")
                }
            }
            Some(topic) => changed(topic),
            None => say(Class::Unclear, "code", "code"),
        }
    }

    fn definition(&self, statement: &Node, text: &str, is_new: bool) -> Judgement {
        let name = &statement.text;
        let kind = if statement.kind == Kind::Class { "class" } else { "function" };
        let header = text.split(':').next().unwrap_or(text);
        let reads = if is_new { &self.new_reads } else { &self.old_reads };
        if is_new && self.old_references.contains(name) {
            return Judgement::new(
                Class::Drift,
                "shadowed",
                format!(
                    "a {kind} of the notebook's own takes the place of `{name}` from a library: `{header}`"
                ),
            );
        }
        if !reads.contains(name) && !statement.children.iter().any(|child| child.kind == Kind::Decorator) {
            return Judgement::new(
                Class::Neutral,
                "unused",
                format!("a {kind} that nothing uses: `{header}`"),
            );
        }
        let verb = if is_new { "is new" } else { "is gone" };
        let synthetic = is_new && topics_in(statement).iter().any(|topic| topic.name == "synthetic");
        if synthetic {
            return Judgement::new(
                Class::Drift,
                "synthetic",
                format!("made-up values in a new {kind}: `{header}`"),
            );
        }
        Judgement::new(Class::Unclear, "code", format!("a {kind} {verb}: `{header}`"))
    }

    /// Assignments, by what they assign to.
    fn assigned(&self, statement: &Node, text: &str, is_new: bool) -> Option<Judgement> {
        let verb = if is_new { "is new" } else { "is gone" };
        let say = |class, topic: &str, words: &str| {
            Some(Judgement::new(class, topic, format!("{words}: `{text}` {verb}")))
        };
        if is_new && statement.kind == Kind::Expression && function(&statement.children[0]) == Some("setattr")
        {
            return say(Class::Drift, "monkeypatch", "something that exists is replaced at run time");
        }
        if statement.kind != Kind::Assign {
            return None;
        }
        let (value, targets) = statement.children.split_last()?;
        let environment = |target: &Node| {
            let mut base = target;
            while matches!(base.kind, Kind::Subscript | Kind::Attribute) {
                base = &base.children[0];
            }
            base.kind == Kind::Reference
                && ["os.environ", "matplotlib", "pandas.options", "pylab", "plotly", "warnings", "IPython"]
                    .iter()
                    .any(|root| base.text == *root || base.text.starts_with(&format!("{root}.")))
        };
        if targets.iter().all(environment) {
            return say(Class::Neutral, "environment", "the environment or display only");
        }
        let patches = |target: &Node| {
            let is_library = |node: &Node| node.kind == Kind::Reference && node.text.contains('.');
            is_library(target) || target.kind == Kind::Attribute && is_library(&target.children[0])
        };
        if is_new
            && let [target] = targets
            && self.revives(target, value)
        {
            return say(
                Class::Neutral,
                "rule",
                "a name that the library dropped stands for what a rule puts in its place",
            );
        }
        if targets.iter().any(patches) {
            let class = if is_new { Class::Drift } else { Class::Unclear };
            return say(class, "monkeypatch", "something of a library is replaced at run time");
        }
        let reads = if is_new { &self.new_reads } else { &self.old_reads };
        let unused = targets.iter().all(|target| target.kind == Kind::Name && !reads.contains(&target.text));
        if unused && is_inert(value) {
            return say(Class::Neutral, "unused", "a value that nothing uses");
        }
        let is_shown = topic_named(
            function(value).and_then(|name| knowledge().function(name)),
            &["display", "performance", "environment"],
        ) || method(value).is_some_and(|(name, _)| knowledge().draws(name));
        if is_shown && targets.iter().all(|target| target.kind != Kind::Subscript) {
            return say(Class::Neutral, "display", "display or timing only");
        }
        let topics = topics_in(value);
        if let Some(topic) = topics
            .iter()
            .filter(|topic| topic.class == Class::Drift)
            .min_by_key(|topic| knowledge().rank(topic))
        {
            return say(topic.class, &topic.name, &format!("{} changed", topic.words));
        }
        for target in targets {
            match target.kind {
                Kind::Name => {
                    if let Some(topic) =
                        knowledge().argument(&target.text).filter(|topic| topic.class != Class::Neutral)
                    {
                        return say(topic.class, &topic.name, &format!("{} changed", topic.words));
                    }
                }
                Kind::Subscript if target.children[1].any(&mut |part| part.kind == Kind::Text) => {
                    return say(Class::Drift, "features", "a column");
                }
                Kind::Subscript => return say(Class::Drift, "features", "values inside of data"),
                Kind::Attribute => {
                    if let Some(topic) =
                        knowledge().argument(&target.text).filter(|topic| topic.class != Class::Neutral)
                    {
                        return say(topic.class, &topic.name, &format!("{} changed", topic.words));
                    }
                }
                _ => {}
            }
        }
        if is_constant(value) && !unused {
            return say(Class::Unclear, "constant", "a constant");
        }
        None
    }

    /// Whether a rule writes `value` wherever the full name `target` is used: `np.float = float`.
    fn revives(&self, target: &Node, value: &Node) -> bool {
        let Some((module, _)) = target.text.rsplit_once('.').filter(|_| target.kind == Kind::Reference)
        else {
            return false;
        };
        let source = format!("import {module}\nrevived = {}\n", target.text);
        let rewritten = Stage::of(&source).brought(self.target, &is_neutral);
        let (statements, _) = rewritten.statements();
        statements.last().and_then(|last| last.children.last()).is_some_and(|made| made == value)
    }

    /// Judges what was put around statements, or taken away from around them.
    pub(super) fn enclosed(&self, compound: &Node, is_new: bool) -> Judgement {
        let side = if is_new { self.new } else { self.old };
        let text = side.snippet(compound.unit, compound.range);
        let header = text.split(':').next().unwrap_or(&text).to_owned();
        let first = compound.block("body").and_then(<[Node]>::first);
        let inner = first.map_or_else(
            || "code".to_owned(),
            |first| format!("`{}`", side.snippet(first.unit, first.range)),
        );
        let body = compound.children.iter().filter(|child| child.kind == Kind::Block);
        let topics: Vec<&Topic> = body.flat_map(|block| topics_in(block)).collect();
        let matters = topics
            .iter()
            .filter(|topic| topic.class == Class::Drift)
            .min_by_key(|topic| knowledge().rank(topic));
        let shows = compound
            .block("body")
            .unwrap_or_default()
            .iter()
            .all(|inner| only_shows(inner) && telling_topic(inner).is_none());
        let class = if shows {
            Class::Neutral
        } else if matters.is_some() && is_new {
            Class::Drift
        } else {
            Class::Unclear
        };
        let say = |class, topic: &str, words: &str| {
            let verb = if is_new { "now stands under" } else { "no longer stands under" };
            Judgement::new(class, topic, format!("{words}: {inner} {verb} `{header}`"))
        };
        match compound.kind {
            Kind::Try if !swallows(compound) => {
                say(Class::Unclear, "exception", "errors are handled in another way")
            }
            Kind::Try if is_new && !shows => say(Class::Drift, "exception", "errors are swallowed"),
            Kind::Try => say(class.min(Class::Unclear), "exception", "errors are swallowed"),
            Kind::With => {
                let manager = |item: &Node| {
                    let inner = &item.children[0];
                    function(inner)
                        .map(str::to_owned)
                        .or_else(|| (inner.kind == Kind::Reference).then(|| inner.text.clone()))
                };
                let managers: Vec<Option<String>> = compound
                    .children
                    .iter()
                    .filter(|child| child.kind == Kind::WithItem)
                    .map(manager)
                    .collect();
                let all = |test: &dyn Fn(&str) -> bool| {
                    managers.iter().all(|name| name.as_deref().is_some_and(test))
                };
                if all(&|name| knowledge().is_neutral_context(name)) {
                    say(Class::Neutral, "environment", "a context that changes no result")
                } else if managers.iter().flatten().any(|name| name == "contextlib.suppress") {
                    say(
                        if is_new { Class::Drift } else { Class::Unclear },
                        "exception",
                        "errors are swallowed",
                    )
                } else {
                    say(Class::Unclear, "code", "another context")
                }
            }
            Kind::If => say(class, "condition", "code runs under another condition"),
            Kind::For | Kind::While => say(class, "loop", "code runs another number of times"),
            _ => say(Class::Unclear, "code", "code stands elsewhere"),
        }
    }

    /// Judges a statement that stands elsewhere now; `conflict` is what it shares with something
    /// it changed places with.
    pub(super) fn moved(&self, statement: &Node, conflict: Option<(&str, &Node)>) -> Judgement {
        let text = self.old_text(statement);
        let Some((shared, other)) = conflict else {
            return Judgement::new(
                Class::Neutral,
                "order",
                format!("it stands elsewhere, and nothing in between depends on it: `{text}`"),
            );
        };
        let other_text = self.old_text(other);
        let what = match shared {
            "<random>" => "the random numbers".to_owned(),
            "<files>" => "files".to_owned(),
            name => format!("`{name}`"),
        };
        let matters = topics_in(statement)
            .into_iter()
            .chain(topics_in(other))
            .filter(|topic| topic.class == Class::Drift)
            .min_by_key(|topic| knowledge().rank(topic));
        let reason = format!("the order changed: `{text}` and `{other_text}` both deal with {what}");
        match matters {
            Some(_) if shared == "<random>" => Judgement::new(Class::Drift, "seed", reason),
            Some(topic) => Judgement::new(Class::Drift, &topic.name, reason),
            None => Judgement::new(Class::Unclear, "order", reason),
        }
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

fn about(topic: &Topic, reason: String) -> Judgement {
    Judgement::new(topic.class, &topic.name, reason)
}

fn topic_named(topic: Option<&Topic>, names: &[&str]) -> bool {
    topic.is_some_and(|topic| names.contains(&topic.name.as_str()))
}

fn frame_topic(frame: &Frame) -> Option<&'static Topic> {
    match frame {
        Frame::Function(name) => knowledge().function(name),
        Frame::Method(name) => knowledge().method(name),
        _ => None,
    }
}

/// What a mention of a full name or of a method is about.
fn name_topic(node: &Node) -> Option<&'static Topic> {
    match node.kind {
        Kind::Reference => knowledge().function(&node.text),
        Kind::Attribute => knowledge().method(&node.text),
        _ => None,
    }
}

fn call_topic(node: &Node) -> Option<&'static Topic> {
    node.children.first().filter(|_| node.kind == Kind::Call).and_then(name_topic)
}

/// What the calls in a piece of code are about. A full name that is mentioned counts as called: it
/// may be passed on.
pub(super) fn topics_in(node: &Node) -> Vec<&'static Topic> {
    let mut found: Vec<&'static Topic> = Vec::new();
    node.walk(&mut |part| {
        let topic = match part.kind {
            Kind::Reference => knowledge().function(&part.text),
            _ => call_topic(part),
        };
        if let Some(topic) = topic
            && found.iter().all(|other| other.name != topic.name)
        {
            found.push(topic);
        }
    });
    found
}

fn telling_topic(node: &Node) -> Option<&'static Topic> {
    topics_in(node)
        .into_iter()
        .filter(|topic| TELLING.contains(&topic.name.as_str()))
        .min_by_key(|topic| knowledge().rank(topic))
}

/// Whether an expression has anything in it that is computed.
fn computes(node: &Node) -> bool {
    node.any(&mut |part| matches!(part.kind, Kind::Name | Kind::Call | Kind::Attribute | Kind::Subscript))
}

fn prints(node: &Node) -> bool {
    matches!(function(node), Some("print" | "display"))
        || function(node).is_some_and(|name| name.starts_with("IPython."))
}

/// Whether a text or call states a score in literal digits: `Accuracy: 0.97`.
fn states_a_score(node: &Node) -> bool {
    let mut words = String::new();
    let mut has_number = false;
    node.walk(&mut |part| match part.kind {
        Kind::Text => {
            let bytes = part.text.as_bytes();
            has_number |= bytes
                .windows(3)
                .any(|three| three[0].is_ascii_digit() && three[1] == b'.' && three[2].is_ascii_digit())
                && !part.text.contains('{');
            words.push_str(&part.text);
        }
        Kind::Number => has_number |= part.text.contains('.'),
        _ => {}
    });
    has_number && knowledge().names_a_score(&words) && !computes_a_value(node)
}

/// Whether anything but the printing itself is computed.
fn computes_a_value(node: &Node) -> bool {
    let inner = if prints(node) || node.kind == Kind::Expression {
        &node.children[..]
    } else {
        std::slice::from_ref(node)
    };
    inner.iter().any(|child| {
        if prints(child) {
            computes_a_value(child)
        } else {
            child.any(&mut |part| matches!(part.kind, Kind::Name | Kind::Attribute | Kind::Subscript))
        }
    })
}

/// Whether a statement only shows something: a value, a text, a picture.
pub(super) fn only_shows(statement: &Node) -> bool {
    match statement.kind {
        Kind::Expression => {
            let value = &statement.children[0];
            shows(value)
        }
        Kind::If | Kind::For | Kind::With | Kind::Try => {
            let quiet = |child: &Node| match child.kind {
                Kind::Block => child.children.iter().all(only_shows),
                Kind::Handler => child.block("body").unwrap_or_default().iter().all(only_shows),
                _ => is_inert(child),
            };
            statement.children.iter().all(quiet)
        }
        Kind::Pass => true,
        Kind::Assign => {
            let value = statement.children.last();
            value.is_some_and(|value| {
                let draws = function(value).is_some_and(|name| {
                    name.contains('.') && topic_named(knowledge().function(name), &["display"])
                }) || method(value).is_some_and(|(name, _)| knowledge().draws(name));
                draws && shows(value)
            }) && statement.children[..statement.children.len() - 1]
                .iter()
                .all(|target| matches!(target.kind, Kind::Name | Kind::Tuple))
        }
        _ => false,
    }
}

fn shows(value: &Node) -> bool {
    let root_shows = match value.kind {
        Kind::Call => match (function(value), method(value)) {
            (Some(name), _) => topic_named(knowledge().function(name), &["display", "metric", "inspection"]),
            (None, Some((name, _))) => {
                knowledge().only_shows(name)
                    || topic_named(knowledge().method(name), &["metric", "prediction", "rows"])
            }
            (None, None) => false,
        },
        Kind::Name
        | Kind::Reference
        | Kind::Attribute
        | Kind::Subscript
        | Kind::Tuple
        | Kind::List
        | Kind::Binary
        | Kind::Compare
        | Kind::Number
        | Kind::Text
        | Kind::Format => true,
        _ => false,
    };
    root_shows && is_inert(value)
}

/// Whether evaluating it changes nothing: no call of the program's own functions, of a method that
/// changes what it is called on, or with `inplace`.
fn is_inert(node: &Node) -> bool {
    !node.any(&mut |part| match part.kind {
        Kind::Call => {
            let own = matches!(part.children[0].kind, Kind::Name | Kind::Call | Kind::Subscript);
            let in_place = part.children[1..].iter().any(|argument| {
                argument.kind == Kind::Keyword
                    && argument.text == "inplace"
                    && argument.children[0].text != "False"
            });
            let changes = method(part).is_some_and(|(name, _)| {
                matches!(
                    name,
                    "append"
                        | "extend"
                        | "insert"
                        | "remove"
                        | "pop"
                        | "popitem"
                        | "update"
                        | "clear"
                        | "sort"
                        | "reverse"
                        | "setdefault"
                        | "add"
                        | "discard"
                        | "write"
                        | "writelines"
                        | "execute"
                        | "commit"
                ) || topic_named(
                    knowledge().method(name),
                    &["training", "weights", "output", "submission", "model"],
                )
            });
            let does = function(part).is_some_and(|name| {
                topic_named(
                    knowledge().function(name),
                    &["exit", "submission", "synthetic", "seed", "training", "output", "weights"],
                ) || matches!(name, "exec" | "eval" | "setattr" | "delattr" | "globals" | "next" | "input")
            });
            own || in_place || changes || does
        }
        Kind::Walrus | Kind::Yield | Kind::Await | Kind::Escape => true,
        _ => false,
    })
}

/// Whether a `try` goes on after an error without raising it again.
pub(super) fn swallows(statement: &Node) -> bool {
    statement
        .children
        .iter()
        .filter(|child| child.kind == Kind::Handler)
        .any(|handler| !handler.any(&mut |part| part.kind == Kind::Raise))
}

/// The last part of a literal path, where the node is one.
fn file_name(node: &Node) -> Option<String> {
    let text = match node.kind {
        Kind::Text => node.text.clone(),
        Kind::Call if function(node) == Some("pathlib.Path") => {
            node.children.get(1).filter(|only| only.kind == Kind::Text)?.text.clone()
        }
        // `FOLDER + 'train.csv'`, `f'{folder}/train.csv'`, `os.path.join(folder, 'train.csv')`,
        // `folder / 'train.csv'`: the end is certain.
        Kind::Binary if matches!(node.text.as_str(), "+" | "/") => {
            node.children.last().filter(|last| last.kind == Kind::Text)?.text.clone()
        }
        Kind::Format | Kind::Call if node.kind == Kind::Format || function(node) == Some("os.path.join") => {
            node.children.last().filter(|last| last.kind == Kind::Text)?.text.clone()
        }
        _ => return None,
    };
    let name = text.rsplit(['/', '\\']).next().unwrap_or(&text).to_owned();
    (!name.is_empty()).then_some(name)
}
