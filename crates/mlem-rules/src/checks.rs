//! What is found without a rule file: checks that are code elsewhere, with an id like any rule's.

/// A kind of finding that no rule file describes.
#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    /// Capital letters and digits, never the id of a rule: `PY2`.
    pub id: &'static str,
    /// What is found, in kebab case.
    pub name: &'static str,
    /// One line for a person.
    pub summary: &'static str,
    /// What is reported and what is done about it, in a few sentences.
    pub details: &'static str,
}

/// Syntax of Python 2.
pub const PYTHON2: Check = Check {
    id: "PY2",
    name: "python-2-syntax",
    summary: "Python 2 syntax",
    details: "Tokens that only Python 2 allows, such as a `print` statement. They are written in Python 3's syntax \
              before any rule looks at the cell; where that is not possible the cell is reported and left alone.",
};

/// Source that no parser reads.
pub const SYNTAX: Check = Check {
    id: "SYNTAX",
    name: "invalid-syntax",
    summary: "Source that does not parse",
    details: "A cell or file that is neither Python 3 nor Python 2. It is left alone; the other cells are not.",
};

/// Names and arguments that an interpreter does not have.
pub const VANISHED: Check = Check {
    id: "VANISHED",
    name: "vanished-name",
    summary: "A name or argument that the interpreter does not have",
    details: "Only with `--python`: every dotted name and keyword argument of an installed library is looked up in \
              that interpreter, rule or no rule. Where the name lives elsewhere now, the message says so.",
};

/// `# mlem: ignore` comments that silence nothing.
pub const UNUSED: Check = Check {
    id: "UNUSED",
    name: "unused-ignore",
    summary: "A comment that silences nothing",
    details: "Only with `--report-unused-ignores`: a `# mlem: ignore` comment, or a rule that it names, that silences \
              nothing on the target.",
};

/// Every check, by id.
pub const CHECKS: [&Check; 4] = [&PYTHON2, &SYNTAX, &UNUSED, &VANISHED];
