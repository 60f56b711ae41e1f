//! Is it still the same program? Every difference between two versions of a notebook's code, with
//! a class and the reason in words.
//!
//! Both programs are brought to one form: Python 3, names by what they were imported from, what
//! the catalogue's neutral rules rewrite, constants where they are used. What is equal then is
//! neutral. Of the rest a difference is neutral only where it is proven to be of a neutral kind;
//! a reviewed table (`knowledge.toml`) says which names are about the split, the layers, display
//! and so on; what nobody knows is `unclear`, which never counts as neutral.

mod align;
mod canonical;
mod compare;
mod content;
mod difference;
mod effects;
mod inline;
mod judge;
mod knowledge;
mod names;
mod side;
mod statements;
mod walk;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use compare::compare_code;

/// How a change is classed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The notebook's logic is the same.
    Neutral,
    /// It cannot be told from the source; never counted as neutral.
    Unclear,
    /// The notebook's logic changed.
    Drift,
}

impl Class {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Neutral => "neutral",
            Class::Unclear => "unclear",
            Class::Drift => "drift",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A piece of a program: a code cell, or a module.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its index among all cells of its notebook; `None` for a module.
    pub cell: Option<usize>,
    /// Its text.
    pub text: &'a str,
    /// How it is read.
    pub form: Form,
}

/// How a source is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// With IPython's magics.
    Cell,
    /// As a `.py` file.
    Module,
}

/// A place in one of the two versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Location {
    /// Index among all cells from 0; `None` in a module.
    pub cell: Option<usize>,
    /// First and last line from 1.
    pub lines: (usize, usize),
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// How it is classed.
    pub class: Class,
    /// What it is about: `split`, `epochs`, `import-path`, `display` …
    pub topic: String,
    /// Why, in words.
    pub reason: String,
    /// Where in the old version, where there is something.
    pub old: Option<Location>,
    /// Where in the new version, where there is something.
    pub new: Option<Location>,
    /// The lines there before.
    pub before: String,
    /// The lines there after.
    pub after: String,
    /// The rule of the catalogue that says so.
    pub rule: Option<String>,
}

/// All changes of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// In the order of the old version, additions where they stand in the new one.
    pub changes: Vec<Change>,
}

impl Changes {
    /// The worst class of all changes; neutral where there is none.
    pub fn class(&self) -> Class {
        self.changes.iter().map(|change| change.class).max().unwrap_or(Class::Neutral)
    }
}
