//! Statements that only one of two programs has, that stand elsewhere, or under something else.

use mlem_python::tree::{Kind, Node};

use super::Class;
use super::canonical::is_constant;
use super::content::{
    is_inert, only_shows, prints, states_a_score, swallows, telling_topic, topic_named, topics_in,
};
use super::judge::{Judge, Judgement, about};
use super::knowledge::{Topic, knowledge};
use super::names::{base_name, function, method, target_names, targets};
use super::side::{Stage, is_neutral};

impl Judge<'_> {
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
        if statement.kind == Kind::Try && swallows(statement) && !only_shows(statement) {
            let words = "errors are swallowed";
            return say(if is_new { Class::Drift } else { Class::Unclear }, "exception", words);
        }
        if matches!(statement.kind, Kind::If | Kind::For | Kind::While | Kind::With | Kind::Try) {
            return self.compound(statement, text, is_new, in_class);
        }
        if only_shows(statement) {
            return match telling_topic(statement) {
                Some(topic) if !(is_new && matches!(topic.name.as_str(), "metric" | "prediction")) => {
                    changed(topic)
                }
                _ => say(Class::Neutral, "display", "display only"),
            };
        }
        let topics = topics_in(statement);
        let best = topics.iter().min_by_key(|topic| knowledge().rank(topic));
        match best {
            Some(topic) if topic.class == Class::Neutral => {
                if statement.kind == Kind::Expression && is_inert(statement) {
                    say(Class::Neutral, &topic.name, &format!("{} alone", topic.words))
                } else {
                    say(Class::Unclear, "code", "code")
                }
            }
            Some(topic) => changed(topic),
            None if statement.kind == Kind::Expression && is_inert(statement) => {
                say(Class::Neutral, "display", "a value that is only shown")
            }
            None => say(Class::Unclear, "code", "code"),
        }
    }

    /// A compound statement is what is in it; its worst part speaks for it.
    fn compound(&self, statement: &Node, text: &str, is_new: bool, in_class: bool) -> Judgement {
        let verb = if is_new { "is new" } else { "is gone" };
        let mut worst = Judgement::new(Class::Neutral, "display", format!("display only: `{text}` {verb}"));
        let mut take = |judgement: Judgement| {
            if judgement.class > worst.class {
                worst = judgement;
            }
        };
        let blocks = statement.children.iter().flat_map(|child| match child.kind {
            Kind::Block => child.children.as_slice(),
            Kind::Handler => child.block("body").unwrap_or_default(),
            _ => &[],
        });
        for inner in blocks {
            take(if is_new { self.added(inner, in_class) } else { self.removed(inner, in_class) });
        }
        let headers =
            statement.children.iter().filter(|child| !matches!(child.kind, Kind::Block | Kind::Handler));
        for header in headers {
            let telling = topics_in(header).into_iter().filter(|topic| topic.class == Class::Drift);
            if let Some(topic) =
                telling.min_by_key(|topic| knowledge().rank(topic)).filter(|_| !is_inert(header))
            {
                take(about(topic, format!("{} changed: `{text}` {verb}", topic.words)));
            } else if !is_inert(header) {
                take(Judgement::new(Class::Unclear, "code", format!("code: `{text}` {verb}")));
            }
        }
        if self.binds_a_name_in_use(statement, is_new) {
            take(Judgement::new(Class::Unclear, "code", format!("a name in use is bound: `{text}` {verb}")));
        }
        worst
    }

    /// Whether a statement of one side binds a name that the other side reads.
    fn binds_a_name_in_use(&self, statement: &Node, is_new: bool) -> bool {
        let reads = if is_new { &self.old_reads } else { &self.new_reads };
        let mut found = false;
        for target in targets(statement).iter().chain(statement.children.iter().flat_map(targets)) {
            target_names(target, &mut |name| found |= reads.contains(name));
        }
        found
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
        if is_shown
            && targets.iter().all(|target| target.kind != Kind::Subscript)
            && !self.binds_a_name_in_use(statement, is_new)
        {
            return say(Class::Neutral, "display", "display or timing only");
        }
        let takes_a_part = value.kind == Kind::Subscript
            && base_name(value).is_some_and(|base| {
                targets.iter().any(|target| target.kind == Kind::Name && target.text == base)
            });
        if takes_a_part {
            return say(Class::Drift, "rows", "which part of the data is used changed");
        }
        let only_names = |node: &Node| {
            node.kind == Kind::Name
                || node.kind == Kind::Tuple && node.children.iter().all(|child| child.kind == Kind::Name)
        };
        if is_new
            && only_names(value)
            && targets.iter().all(only_names)
            && self.binds_a_name_in_use(statement, true)
        {
            return say(Class::Drift, "data", "a name in use gets another value");
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
        let topics: Vec<&Topic> = body.flat_map(topics_in).collect();
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
