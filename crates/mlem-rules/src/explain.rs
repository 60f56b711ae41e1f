//! Rules explained from their own tables, to a person or a program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::Serialize;

use crate::catalogue::Catalogue;
use crate::checks::{CHECKS, Check};
use crate::lookup::Known;
use crate::rule::{Demonstration, Rule};

/// Everything a rule's table says that a reader wants, in the order in which it is told.
#[derive(Debug, Serialize)]
pub struct Explanation<'a> {
    /// The id.
    pub id: &'a str,
    /// The name.
    pub name: &'a str,
    /// What changed, in a line.
    pub summary: &'a str,
    /// What is reported, of a check that no rule file describes.
    pub details: Option<&'a str>,
    /// The distribution whose version decides.
    pub library: Option<&'a str>,
    /// First version in which the old form breaks or changes.
    pub since: Option<String>,
    /// First version in which it works again.
    pub until: Option<String>,
    /// What happened to it.
    pub kind: Option<&'a str>,
    /// When the fix may be applied.
    pub safety: Option<&'a str>,
    /// What the fix can do to numbers.
    pub score: Option<&'a str>,
    /// Whether there is a fix.
    pub fix: bool,
    /// Regular expression for `ExceptionName: message` of a live error.
    pub evidence: Option<&'a str>,
    /// Where the fact is from.
    pub source: Option<&'a str>,
    /// Code that both forms need.
    pub setup: Option<&'a str>,
    /// The old form.
    pub before: Option<&'a str>,
    /// The new form.
    pub after: Option<&'a str>,
    /// How it is shown on the real library: `fails`, `differs`, `warns` or `none`.
    pub proof: Option<&'a str>,
    /// The same in words.
    pub proven: Option<String>,
}

impl<'a> Explanation<'a> {
    /// Explains a rule.
    pub fn of_rule(rule: &'a Rule) -> Explanation<'a> {
        let setup = rule.setup.trim_matches('\n');
        let (proof, proven) = proven(rule);
        Explanation {
            id: &rule.id,
            name: &rule.name,
            summary: &rule.summary,
            details: None,
            library: Some(&rule.library),
            since: Some(rule.since.to_string()),
            until: rule.until.as_ref().map(ToString::to_string),
            kind: Some(rule.kind.as_str()),
            safety: Some(rule.safety.as_str()),
            score: Some(rule.score.as_str()),
            fix: rule.after.is_some(),
            evidence: rule.evidence.as_deref(),
            source: Some(&rule.source),
            setup: (!setup.is_empty()).then_some(setup),
            before: Some(rule.before.trim_matches('\n')),
            after: rule.after.as_deref().map(|after| after.trim_matches('\n')),
            proof: Some(proof),
            proven: Some(proven),
        }
    }

    /// Explains a check that no rule file describes.
    pub fn of_check(check: &'a Check) -> Explanation<'a> {
        Explanation {
            id: check.id,
            name: check.name,
            summary: check.summary,
            details: Some(check.details),
            library: None,
            since: None,
            until: None,
            kind: None,
            safety: None,
            score: None,
            fix: check == &crate::checks::PYTHON2,
            evidence: None,
            source: None,
            setup: None,
            before: None,
            after: None,
            proof: None,
            proven: None,
        }
    }

    /// Explains whatever an id stands for.
    pub fn of(known: Known<'a>) -> Explanation<'a> {
        match known {
            Known::Rule(rule) => Explanation::of_rule(rule),
            Known::Check(check) => Explanation::of_check(check),
        }
    }

    /// The explanation as Markdown that also reads well in a terminal.
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n\n`{}`: {}\n", self.id, self.name, sentence(self.summary));
        if let Some(details) = self.details {
            push(&mut text, &format!("\n{details}\n"));
        }
        if let (Some(before), true) = (self.before, self.fix) {
            let after = self.after.unwrap_or_default();
            push(&mut text, &format!("\n```diff\n{}{}```\n", marked("-", before), marked("+", after)));
        } else if let Some(before) = self.before {
            push(&mut text, &format!("\n```python\n{before}\n```\n"));
        }
        if let Some(setup) = self.setup {
            push(&mut text, &format!("\nwhere\n\n```python\n{setup}\n```\n"));
        }
        let mut facts = Vec::new();
        if let (Some(library), Some(since)) = (self.library, &self.since) {
            let until = self.until.as_ref().map_or(String::new(), |until| format!(" until {until}"));
            facts.push(format!("since: {library} {since}{until}"));
        }
        if let (Some(kind), Some(safety), Some(score)) = (self.kind, self.safety, self.score) {
            let fix = if self.fix { safety } else { "none" };
            facts.push(format!("kind: {kind}; fix: {fix}; score: {score}"));
        }
        facts.extend(self.evidence.map(|evidence| format!("live error: {}", code(evidence))));
        facts.extend(self.source.map(|source| format!("source: {source}")));
        facts.extend(self.proven.as_ref().map(|proven| format!("shown: {proven}")));
        if !facts.is_empty() {
            push(&mut text, &format!("\n- {}\n", facts.join("\n- ")));
        }
        text
    }
}

/// How a rule is shown to be true: the word of its table, and a sentence.
fn proven(rule: &Rule) -> (&'static str, String) {
    let has_fix = rule.after.is_some();
    let and = |new: &'static str| if has_fix { new } else { "" };
    match &rule.proof {
        Demonstration::Fails => {
            ("fails", format!("on the real library the old form fails{}", and(" and the new one runs")))
        }
        Demonstration::Differs => {
            ("differs", "on the real library both forms run and print different things".to_string())
        }
        Demonstration::Warns => {
            let and = and(" and the new one does not");
            ("warns", format!("on the real library the old form warns that it will go{and}"))
        }
        Demonstration::NotRun(reason) => ("none", format!("not on the real library: {reason}")),
    }
}

/// The reference of all rules (`docs/rules.md`): a table for each library.
pub fn reference(catalogue: &Catalogue) -> String {
    let mut libraries: BTreeMap<&str, Vec<&Rule>> = BTreeMap::new();
    for rule in catalogue.rules() {
        libraries.entry(&rule.library).or_default().push(rule);
    }
    let (rules, count) = (catalogue.rules().len(), libraries.len());
    let mut text = format!("{HEAD}\n{rules} rules of {count} libraries:");
    for (at, (library, rules)) in libraries.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        push(&mut text, &format!("{comma}\n[{library}](#{library}) ({})", rules.len()));
    }
    text.push_str(".\n");
    for (library, rules) in &mut libraries {
        rules.sort_by(|a, b| a.id.cmp(&b.id));
        let files: BTreeSet<&str> = rules.iter().map(|rule| rule.file.as_str()).collect();
        let files: Vec<String> =
            files.iter().map(|file| format!("[{file}](../crates/mlem-rules/{file})")).collect();
        push(&mut text, &format!("\n## {library}\n\nWritten in {}.\n\n{COLUMNS}", files.join(", ")));
        for rule in rules {
            push(&mut text, &row(&Explanation::of_rule(rule)));
        }
    }
    push(&mut text, "\n## Without a rule file\n\n| id | name | what is found |\n|---|---|---|\n");
    for check in CHECKS {
        push(&mut text, &format!("| {} | {} | {} |\n", check.id, check.name, cell(check.details)));
    }
    text
}

const HEAD: &str = "\
# Rules

<!-- Made from the rule files by `cargo run -p mlem -- rule --all --format markdown`; not to be edited by hand. -->

What `mlem` knows to have eroded. `mlem rule PD001` prints a rule in full, with its old form and its new one; both stand
in the rule files as well.

- *since*: the first version of the library in which the old form breaks or changes, and after a dash the first in which
  it works again. A rule applies only where the target's version lies between them.
- *fix*: `safe` fixes are made wherever the rule matches; `safe-with-evidence` where types are proven from the source,
  or a live error confirms the rule; `unsafe` only with `--unsafe`. A rule without a fix is a finding.
- *numbers*: whether the fix can change the notebook's numbers: nothing where it cannot, else `shifting` or `unknown`.
- *shown*: how its test shows on the real library that the rule is true: the old form `fails`, `differs` from the new
  one in what it prints, or `warns`; nothing where the library is too large for the tests.
";

const COLUMNS: &str = "\
| id | name | since | what changed | kind | fix | numbers | shown |
|---|---|---|---|---|---|---|---|
";

fn row(rule: &Explanation) -> String {
    let since = rule.since.as_deref().unwrap_or_default();
    let until = rule.until.as_ref().map_or(String::new(), |until| format!(" – {until}"));
    let cells = [
        rule.id,
        rule.name,
        &format!("{since}{until}"),
        rule.summary,
        rule.kind.unwrap_or_default(),
        rule.safety.filter(|_| rule.fix).unwrap_or_default(),
        rule.score.filter(|score| rule.fix && *score != "neutral").unwrap_or_default(),
        rule.proof.filter(|proof| *proof != "none").unwrap_or_default(),
    ];
    format!("| {} |\n", cells.map(cell).join(" | "))
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn push(text: &mut String, more: &str) {
    // Writing to a string cannot fail.
    let _ = text.write_str(more);
}

fn sentence(text: &str) -> String {
    if text.ends_with('.') { text.to_string() } else { format!("{text}.") }
}

/// Text between as many backticks as it needs.
fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

fn marked(mark: &str, code: &str) -> String {
    code.lines().map(|line| format!("{mark}{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_told_with_its_window_its_forms_and_its_proof() {
        let catalogue = Catalogue::parse(
            "x.toml",
            r#"
[[rule]]
id = "XX001"
name = "old-name"
summary = "old is new"
library = "numpy"
since = "1.20"
until = "2.0"
kind = "renamed"
safety = "safe-with-evidence"
score = "shifting"
evidence = "has no attribute `old`"
source = "release notes"
match = "numpy.old($x)"
replace = "numpy.new($x)"
needs = ["import numpy as np"]
setup = "import numpy as np"
before = "np.old(1)"
after = "np.new(1)"
proof = "fails"
"#,
        )
        .unwrap();
        assert_eq!(
            Explanation::of_rule(&catalogue.rules()[0]).markdown(),
            "# XX001\n\n`old-name`: old is new.\n\n```diff\n-np.old(1)\n+np.new(1)\n```\n\nwhere\n\n\
             ```python\nimport numpy as np\n```\n\n- since: numpy 1.20 until 2.0\n\
             - kind: renamed; fix: safe-with-evidence; score: shifting\n\
             - live error: `` has no attribute `old` ``\n- source: release notes\n\
             - shown: on the real library the old form fails and the new one runs\n"
        );
    }

    #[test]
    fn the_reference_holds_every_rule_and_check_once() {
        let text = reference(Catalogue::shipped());
        let ids = Catalogue::shipped().rules().iter().map(|rule| rule.id.as_str());
        for id in ids.chain(CHECKS.map(|check| check.id)) {
            assert_eq!(text.matches(&format!("\n| {id} | ")).count(), 1, "{id}");
        }
    }
}
