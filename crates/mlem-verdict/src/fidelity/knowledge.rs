//! The reviewed table of what names mean for a notebook's result (`knowledge.toml`).

use std::sync::LazyLock;

use serde::Deserialize;

use super::Class;

const TABLE: &str = include_str!("knowledge.toml");

/// What a change is about, with how such a change is classed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Topic {
    pub(super) name: String,
    pub(super) class: Class,
    pub(super) words: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the source is for the reader of the table")]
struct Callable {
    topic: String,
    #[serde(default)]
    functions: Vec<String>,
    #[serde(default)]
    methods: Vec<String>,
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the source is for the reader of the table")]
struct Argument {
    topic: String,
    names: Vec<String>,
    source: String,
}

/// A list of names of one kind; which field is filled depends on the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the source is for the reader of the table")]
struct Names {
    #[serde(default, alias = "functions", alias = "starts", alias = "words", alias = "methods")]
    roots: Vec<String>,
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    topic: Vec<Topic>,
    callable: Vec<Callable>,
    argument: Vec<Argument>,
    family: Vec<Names>,
    synonym: Vec<Names>,
    context: Vec<Names>,
    escape: Vec<Names>,
    import: Vec<Names>,
    score: Vec<Names>,
}

/// The table, as it is asked.
pub(super) struct Knowledge {
    file: File,
}

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| {
    // The table is compiled in and read by the tests below: a fault in it cannot reach a user.
    #[allow(clippy::unwrap_used)]
    let file: File = toml::from_str(TABLE).unwrap();
    Knowledge { file }
});

/// The shipped table.
pub(super) fn knowledge() -> &'static Knowledge {
    &KNOWLEDGE
}

/// Whether a name fits a pattern in which `*` stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|name| {
            rest.is_empty()
                || (0..=name.len()).filter(|at| name.is_char_boundary(*at)).any(|at| fits(rest, &name[at..]))
        }),
    }
}

fn any_fits(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, name))
}

/// Length of the longest pattern that fits, the asterisks not counted.
fn longest_fit(patterns: &[String], name: &str) -> Option<usize> {
    let fitting = patterns.iter().filter(|pattern| fits(pattern, name));
    fitting.map(|pattern| pattern.chars().filter(|c| *c != '*').count()).max()
}

/// The entry with the longest fitting pattern, of several the first.
fn closest<'a, T>(entries: impl Iterator<Item = &'a T>, fit: impl Fn(&T) -> Option<usize>) -> Option<&'a T> {
    let fitting = entries.filter_map(|entry| Some((fit(entry)?, entry)));
    let best = fitting.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map(|(_, entry)| entry)
}

/// What remains of a dotted name below a root, without the dot.
fn below<'n>(name: &'n str, root: &str) -> Option<&'n str> {
    let rest = name.strip_prefix(root)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
}

impl Knowledge {
    fn topic(&self, name: &str) -> Option<&Topic> {
        self.file.topic.iter().find(|topic| topic.name == name)
    }

    /// How telling a topic is: the smaller, the more.
    pub(super) fn rank(&self, topic: &Topic) -> usize {
        self.file.topic.iter().position(|other| other.name == topic.name).unwrap_or(usize::MAX)
    }

    /// What calling a function of this full name is about.
    pub(super) fn function(&self, qualified: &str) -> Option<&Topic> {
        let entry = closest(self.file.callable.iter(), |entry| longest_fit(&entry.functions, qualified))?;
        self.topic(&entry.topic)
    }

    /// What calling a method of this name is about; one that only gives a value to look at is about
    /// nothing.
    pub(super) fn method(&self, name: &str) -> Option<&Topic> {
        let entries =
            self.file.callable.iter().filter(|entry| entry.topic != "inspection" && entry.topic != "display");
        let entry = closest(entries, |entry| longest_fit(&entry.methods, name))?;
        self.topic(&entry.topic)
    }

    /// Whether a method draws or prints.
    pub(super) fn draws(&self, method: &str) -> bool {
        self.file.callable.iter().any(|entry| entry.topic == "display" && any_fits(&entry.methods, method))
    }

    /// Whether a statement that only calls this method shows something and does nothing else.
    pub(super) fn only_shows(&self, method: &str) -> bool {
        let shows = |topic: &str| topic == "display" || topic == "inspection";
        self.file.callable.iter().any(|entry| shows(&entry.topic) && any_fits(&entry.methods, method))
    }

    /// What an argument, variable, dict key or parameter of this name is about.
    pub(super) fn argument(&self, name: &str) -> Option<&Topic> {
        let lower = name.trim_start_matches('*').to_lowercase();
        let fit = |entry: &Argument| longest_fit(&entry.names, name).max(longest_fit(&entry.names, &lower));
        let entry = closest(self.file.argument.iter(), fit)?;
        self.topic(&entry.topic)
    }

    /// Whether two full names are the same thing under two roots of the same library, or one of
    /// them is the other's home within its package (`sklearn.ensemble.forest.X`).
    pub(super) fn are_one(&self, one: &str, other: &str) -> bool {
        let same_family = self.file.family.iter().any(|family| {
            let under = |name| family.roots.iter().filter_map(move |root| below(name, root));
            under(one).any(|rest| under(other).any(|other| rest == other && !rest.is_empty()))
                || family.roots.iter().any(|root| root == one)
                    && family.roots.iter().any(|root| root == other)
        });
        let reexported = || {
            let (shorter, longer) = if one.len() < other.len() { (one, other) } else { (other, one) };
            let (Some((home, name)), Some((module, last))) =
                (shorter.rsplit_once('.'), longer.rsplit_once('.'))
            else {
                return false;
            };
            name == last && below(module, home).is_some()
        };
        one == other || same_family || reexported()
    }

    /// The attribute that gives the same as this method without arguments.
    pub(super) fn attribute_of(&self, method: &str) -> Option<&str> {
        let names =
            self.file.synonym.iter().find(|names| names.roots.iter().skip(1).any(|own| own == method))?;
        names.roots.first().map(String::as_str)
    }

    /// Whether a `with` statement over this changes nothing of what its body computes.
    pub(super) fn is_neutral_context(&self, qualified: &str) -> bool {
        self.file.context.iter().any(|names| any_fits(&names.roots, qualified))
    }

    /// Whether an IPython escape changes nothing of a result.
    pub(super) fn is_neutral_escape(&self, text: &str) -> bool {
        let text = text.trim_start();
        let starts = |start: &String| {
            text.strip_prefix(start.as_str())
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
        };
        // `!head a > b` writes, and what follows `;` or `|` may be anything.
        let quiet = text.replace("2>&1", "").replace("&> /dev/null", "").replace("> /dev/null", "");
        let is_shell = text.starts_with('!') || text.starts_with("pip") || text.starts_with("conda");
        let does_more = is_shell && quiet.contains(['>', ';', '|', '&', '`']);
        let is_requirement = quiet.contains("install") && !quiet.contains(['|', ';', '`', '&']);
        (!does_more || is_requirement) && self.file.escape.iter().any(|names| names.roots.iter().any(starts))
    }

    /// Whether importing this does nothing but bind names.
    pub(super) fn is_harmless_import(&self, qualified: &str) -> bool {
        let root = qualified.split('.').next().unwrap_or_default();
        self.file.import.iter().any(|names| names.roots.iter().any(|own| own == root))
    }

    /// Whether a text speaks of a score.
    pub(super) fn names_a_score(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        self.file.score.iter().any(|names| names.roots.iter().any(|word| lower.contains(word.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_names_a_topic_and_a_source() {
        let file: File = toml::from_str(TABLE).unwrap();
        let known = |name: &str| file.topic.iter().any(|topic| topic.name == name);
        for entry in &file.callable {
            assert!(known(&entry.topic) && !entry.source.is_empty(), "{entry:?}");
        }
        for entry in &file.argument {
            assert!(known(&entry.topic) && !entry.source.is_empty(), "{entry:?}");
        }
        for names in [&file.family, &file.synonym, &file.context, &file.escape, &file.import, &file.score] {
            assert!(names.iter().all(|entry| !entry.source.is_empty() && !entry.roots.is_empty()));
        }
    }

    #[test]
    fn patterns_fit_names() {
        assert!(fits("sklearn.datasets.make_*", "sklearn.datasets.make_blobs"));
        assert!(fits("*epoch*", "num_epochs") && fits("torch.nn.*Loss", "torch.nn.BCELoss"));
        assert!(!fits("torch.nn.*Loss", "torch.nn.Linear") && !fits("C", "c"));
    }

    #[test]
    fn names_are_looked_up() {
        let table = knowledge();
        assert_eq!(table.argument("EPOCHS").unwrap().name, "epochs");
        assert_eq!(table.argument("C").unwrap().name, "model");
        assert_eq!(table.function("keras.layers.Dense").unwrap().name, "layers");
        assert_eq!(table.function("torch.nn.CrossEntropyLoss").unwrap().name, "loss");
        assert!(table.are_one("keras.layers.Dense", "tensorflow.keras.layers.Dense"));
        assert!(table.are_one("sklearn.ensemble.forest.X", "sklearn.ensemble.X"));
        assert!(!table.are_one("scipy.stats.norm", "scipy.linalg.norm"));
        assert!(!table.are_one("sklearn.svm.SVC", "cuml.svm.SVC"));
        assert!(table.is_neutral_escape("!pip install x") && !table.is_neutral_escape("%run train.py"));
        assert!(
            table.is_neutral_escape("!pip install x>=1 > /dev/null")
                && table.is_neutral_escape("!head a.csv")
        );
        assert!(
            !table.is_neutral_escape("!head a.csv > b.csv")
                && !table.is_neutral_escape("!pip install x && mv a b")
        );
    }
}
