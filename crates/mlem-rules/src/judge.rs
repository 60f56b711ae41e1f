//! What is known about a match: types, the live error, and what follows for its fix.

use mlem_python::TextRange;

use crate::condition::Verdict;
use crate::finding::{Finding, Fix, Proof};
use crate::rule::Rule;
use crate::schema::UnknownType;
use crate::target::Question;

/// What the conditions of a match came to.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) unknown: Option<String>,
    pub(crate) is_live: bool,
    /// A condition of the rule's `known` that is not decided: not even the error stands for it.
    pub(crate) undecided: Option<String>,
}

impl Judgement {
    /// Takes a verdict in; false when it refutes the match.
    pub(crate) fn take(&mut self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Proven => {}
            Verdict::Live => self.is_live = true,
            Verdict::Unknown(reason) => {
                self.unknown.get_or_insert(reason);
            }
            Verdict::Refuted => return false,
        }
        true
    }
}

/// A finding whose error is confirmed, but not the type that decides what the fix has to be.
pub(crate) fn undecided(finding: &mut Finding, reason: String) {
    finding.tentative = finding.fix.take();
    finding.proof = Proof::Unproven(reason);
}

/// A rule that waits for its error has nothing to say without it.
pub(crate) fn may_be_meant(question: &Question, rule: &Rule) -> bool {
    rule.unknown != UnknownType::Error
        || question.error.is_some_and(|error| rule.is_evidence(&error.ename, &error.evalue))
}

/// Whether a live error is what this rule is about, and lies at this place.
pub(crate) fn is_confirmed(question: &Question, rule: &Rule, unit: usize, range: TextRange) -> bool {
    let Some(error) = question.error else {
        return false;
    };
    if error.unit != unit || !rule.is_evidence(&error.ename, &error.evalue) {
        return false;
    }
    let Some((first, last)) = error.lines else {
        return true;
    };
    let (start, end) = question.program.units()[unit].lines(range);
    start <= last && end >= first
}

/// Whether a fix would edit a source with a syntax error. What the parser recovered of one may begin
/// and end elsewhere than its author meant.
fn touches_broken(question: &Question, fix: &Fix) -> bool {
    fix.edits.iter().any(|(unit, _)| question.program.units()[*unit].error_count() > 0)
}

/// Builds a finding from what is known about it.
pub(crate) fn finding(
    question: &Question,
    rule: &'static Rule,
    unit: usize,
    range: TextRange,
    unknown: Option<String>,
    is_live: bool,
    fix: Result<Option<Fix>, String>,
) -> Option<Finding> {
    let proof = if is_confirmed(question, rule, unit, range) {
        Proof::Live
    } else if rule.unknown == UnknownType::Error {
        return None;
    } else if let Some(reason) = unknown {
        if rule.unknown == UnknownType::Silent {
            return None;
        }
        Proof::Unproven(reason)
    } else if is_live {
        Proof::Live
    } else {
        Proof::Proven
    };
    let (fix, blocked) = match fix {
        Ok(Some(fix)) if touches_broken(question, &fix) => {
            (None, Some("the code has a syntax error".to_string()))
        }
        Ok(fix) => (fix, None),
        Err(reason) => (None, Some(reason)),
    };
    let (fix, tentative) = match proof {
        Proof::Unproven(_) => (None, fix),
        Proof::Proven | Proof::Live => (fix, None),
    };
    let message = match blocked {
        Some(reason) => format!("{} (no fix: {reason})", rule.summary),
        None => rule.summary.clone(),
    };
    Some(Finding { rule, unit, range, message, safety: rule.safety, proof, fix, tentative })
}
