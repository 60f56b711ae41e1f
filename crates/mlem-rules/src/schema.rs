//! The rule file as it is written, field by field; unknown fields are refused.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One value or a list of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub(crate) fn into_vec(self) -> Vec<String> {
        match self {
            OneOrMany::One(value) => vec![value],
            OneOrMany::Many(values) => values,
        }
    }
}

/// One `[[rule]]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawRule {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) summary: String,
    pub(crate) library: String,
    pub(crate) since: String,
    pub(crate) until: Option<String>,
    pub(crate) kind: Kind,
    pub(crate) safety: Safety,
    #[serde(default)]
    pub(crate) score: ScoreEffect,
    pub(crate) evidence: Option<String>,
    pub(crate) source: String,
    #[serde(default)]
    pub(crate) unknown: UnknownType,
    pub(crate) error: Option<String>,
    #[serde(default)]
    pub(crate) known: Vec<String>,

    pub(crate) moved: Option<BTreeMap<String, String>>,
    #[serde(rename = "match")]
    pub(crate) pattern: Option<OneOrMany>,
    pub(crate) replace: Option<OneOrMany>,
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    #[serde(rename = "where", default)]
    pub(crate) conditions: BTreeMap<String, OneOrMany>,
    pub(crate) call: Option<OneOrMany>,
    pub(crate) arguments: Option<RawArguments>,
    pub(crate) function: Option<String>,

    #[serde(default)]
    pub(crate) setup: String,
    pub(crate) before: String,
    pub(crate) after: Option<String>,
    pub(crate) proof: String,
}

/// The `[rule.arguments]` table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawArguments {
    pub(crate) callee: Option<String>,
    #[serde(default)]
    pub(crate) rename: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) drop: Vec<String>,
    #[serde(default)]
    pub(crate) positional: Vec<String>,
    #[serde(default)]
    pub(crate) keep: usize,
    pub(crate) within: Option<String>,
    #[serde(default)]
    pub(crate) values: BTreeMap<String, BTreeMap<String, String>>,
    #[serde(default)]
    pub(crate) add: BTreeMap<String, String>,
}

/// What happened to the thing a rule finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It lives elsewhere now.
    Moved,
    /// It has another name now.
    Renamed,
    /// Its arguments changed.
    Argument,
    /// It has to be said differently.
    Rewrite,
    /// A default value changed.
    Default,
    /// It is gone, and nothing takes its place by rule.
    Error,
    /// The environment has to change, not the code.
    Environment,
}

impl Kind {
    /// The word that rule files use.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Moved => "moved",
            Kind::Renamed => "renamed",
            Kind::Argument => "argument",
            Kind::Rewrite => "rewrite",
            Kind::Default => "default",
            Kind::Error => "error",
            Kind::Environment => "environment",
        }
    }
}

/// When a fix may be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Safety {
    /// Whenever it matches.
    Safe,
    /// When types are proven, or a live error confirms it.
    SafeWithEvidence,
    /// Only on request.
    Unsafe,
}

impl Safety {
    /// The word that rule files and reports use.
    pub fn as_str(self) -> &'static str {
        match self {
            Safety::Safe => "safe",
            Safety::SafeWithEvidence => "safe-with-evidence",
            Safety::Unsafe => "unsafe",
        }
    }
}

/// What a fix can do to the notebook's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoreEffect {
    /// The numbers stay.
    #[default]
    Neutral,
    /// The numbers can move.
    Shifting,
    /// Not known.
    Unknown,
}

impl ScoreEffect {
    /// The word that rule files use.
    pub fn as_str(self) -> &'static str {
        match self {
            ScoreEffect::Neutral => "neutral",
            ScoreEffect::Shifting => "shifting",
            ScoreEffect::Unknown => "unknown",
        }
    }
}

/// What to do where a type condition cannot be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum UnknownType {
    /// A finding without a fix.
    #[default]
    Report,
    /// No finding, unless a live error confirms it: for names that are common elsewhere (`append`).
    Silent,
    /// No finding at all without a live error that confirms it, whatever is known of the types.
    Error,
}
