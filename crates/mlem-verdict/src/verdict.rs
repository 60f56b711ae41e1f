//! The one set of verdicts of the whole system.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What became of a notebook. The kebab-case names are stable: reports and the ledger use them.
///
/// The order of the variants is the precedence where several hold ([`Verdict::combine`]): a
/// failure first, then `drifted`, `different`, `inconclusive`, `equivalent`, `runs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// mlem itself failed; nothing is said about the notebook.
    HarnessFailure,
    /// The notebook is in a language mlem does not run.
    Unsupported,
    /// No environment could be built or started.
    EnvironmentFailure,
    /// Data the notebook reads is not there.
    MissingInput,
    /// The memory limit, or the system's, ended the kernel.
    OutOfMemory,
    /// Over the time limit.
    Timeout,
    /// A budget of money, tokens or attempts was used up before the notebook ran.
    BudgetExhausted,
    /// A cell failed.
    Error,
    /// It ran, but what it was to produce is missing or malformed.
    InvalidOutput,
    /// It runs, but the notebook's logic was changed.
    Drifted,
    /// It runs and shows something else than before.
    Different,
    /// It runs, and the evidence does not decide.
    Inconclusive,
    /// It runs and shows what it showed before.
    Equivalent,
    /// It runs; there was nothing to compare with.
    Runs,
}

impl Verdict {
    /// All verdicts, in the order of precedence.
    pub const ALL: [Verdict; 14] = [
        Verdict::HarnessFailure,
        Verdict::Unsupported,
        Verdict::EnvironmentFailure,
        Verdict::MissingInput,
        Verdict::OutOfMemory,
        Verdict::Timeout,
        Verdict::BudgetExhausted,
        Verdict::Error,
        Verdict::InvalidOutput,
        Verdict::Drifted,
        Verdict::Different,
        Verdict::Inconclusive,
        Verdict::Equivalent,
        Verdict::Runs,
    ];

    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::HarnessFailure => "harness-failure",
            Verdict::Unsupported => "unsupported",
            Verdict::EnvironmentFailure => "environment-failure",
            Verdict::MissingInput => "missing-input",
            Verdict::OutOfMemory => "out-of-memory",
            Verdict::Timeout => "timeout",
            Verdict::BudgetExhausted => "budget-exhausted",
            Verdict::Error => "error",
            Verdict::InvalidOutput => "invalid-output",
            Verdict::Drifted => "drifted",
            Verdict::Different => "different",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Equivalent => "equivalent",
            Verdict::Runs => "runs",
        }
    }

    /// Whether the proof ran to its end.
    pub fn ran(self) -> bool {
        match self {
            Verdict::Drifted
            | Verdict::Different
            | Verdict::Inconclusive
            | Verdict::Equivalent
            | Verdict::Runs => true,
            Verdict::HarnessFailure
            | Verdict::Unsupported
            | Verdict::EnvironmentFailure
            | Verdict::MissingInput
            | Verdict::OutOfMemory
            | Verdict::Timeout
            | Verdict::BudgetExhausted
            | Verdict::Error
            | Verdict::InvalidOutput => false,
        }
    }

    /// Exit status of `modernize` for one notebook: 0 if the proof ran, 1 if not, 2 where the
    /// input or the environment was at fault. `strict` makes `drifted`, `different` and
    /// `inconclusive` 1.
    pub fn exit_code(self, strict: bool) -> u8 {
        match self {
            Verdict::Equivalent | Verdict::Runs => 0,
            Verdict::Drifted | Verdict::Different | Verdict::Inconclusive => u8::from(strict),
            Verdict::Unsupported | Verdict::EnvironmentFailure | Verdict::HarnessFailure => 2,
            Verdict::MissingInput
            | Verdict::OutOfMemory
            | Verdict::Timeout
            | Verdict::BudgetExhausted
            | Verdict::Error
            | Verdict::InvalidOutput => 1,
        }
    }

    /// The verdict where both hold.
    #[must_use]
    pub fn combine(self, other: Verdict) -> Verdict {
        self.min(other)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Verdict {
    type Err = String;

    fn from_str(text: &str) -> Result<Verdict, String> {
        Verdict::ALL
            .into_iter()
            .find(|verdict| verdict.as_str() == text)
            .ok_or_else(|| format!("no verdict is called `{text}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_with_serde_and_are_read_back() {
        for verdict in Verdict::ALL {
            let json = serde_json::to_string(&verdict).unwrap();
            assert_eq!(json, format!("\"{verdict}\""));
            assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);
            assert_eq!(verdict.as_str().parse(), Ok(verdict));
        }
        assert!("fine".parse::<Verdict>().is_err());
    }

    #[test]
    fn failures_come_first_then_drift() {
        use Verdict::*;
        assert_eq!(Runs.combine(Equivalent), Equivalent);
        assert_eq!(Equivalent.combine(Inconclusive), Inconclusive);
        assert_eq!(Inconclusive.combine(Different), Different);
        assert_eq!(Different.combine(Drifted), Drifted);
        for failure in Verdict::ALL.into_iter().filter(|v| !v.ran()) {
            assert_eq!(Drifted.combine(failure), failure);
        }
        assert!(Verdict::ALL.is_sorted());
    }

    #[test]
    fn exit_codes() {
        let codes = |strict| Verdict::ALL.map(|v| v.exit_code(strict));
        assert_eq!(codes(false), [2, 2, 2, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]);
        assert_eq!(codes(true), [2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
    }
}
