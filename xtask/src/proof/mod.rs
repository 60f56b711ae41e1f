//! Proof of the rules by running them: `before` on the libraries of its time, `after` on today's.

use mlem_rules::{Catalogue, Rule};
use thiserror::Error;

/// Which rules, and what to do with them.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only rules whose identifier begins so (PD, SK01).
    #[arg(long, value_name = "PREFIX")]
    rule: Option<String>,
    /// Only rules of this library.
    #[arg(long, value_name = "NAME")]
    library: Option<String>,
    /// List the rules and run nothing.
    #[arg(long)]
    list: bool,
}

impl Arguments {
    fn selects(&self, rule: &Rule) -> bool {
        self.rule.as_ref().is_none_or(|prefix| rule.id.starts_with(prefix.as_str()))
            && self.library.as_ref().is_none_or(|library| rule.library == *library)
    }
}

/// Why nothing could be proven.
#[derive(Debug, Error)]
pub(crate) enum ProofError {
    /// No rule is selected.
    #[error("no rule is selected; see --rule and --library")]
    NothingSelected,
    /// Something that is not there yet.
    #[error("only --list is there")]
    OnlyList,
}

/// Proves the selected rules.
pub(crate) fn run(arguments: &Arguments) -> Result<(), ProofError> {
    let rules: Vec<&Rule> =
        Catalogue::shipped().rules().iter().filter(|rule| arguments.selects(rule)).collect();
    if rules.is_empty() {
        return Err(ProofError::NothingSelected);
    }
    if !arguments.list {
        return Err(ProofError::OnlyList);
    }
    for rule in rules {
        println!("{:8} {:20} {:8} {}", rule.id, rule.library, rule.since, rule.name);
    }
    Ok(())
}
