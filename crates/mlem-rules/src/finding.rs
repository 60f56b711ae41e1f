//! What checking finds.

use std::fmt;

use mlem_python::{Edit, TextRange};

use crate::rule::Rule;
use crate::schema::Safety;

/// One place where a rule applies.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The unit of the program.
    pub unit: usize,
    /// What was found, in bytes of the unit's source.
    pub range: TextRange,
    /// One line for a person.
    pub message: String,
    /// When the fix may be applied.
    pub safety: Safety,
    /// How sure it is that the rule applies.
    pub proof: Proof,
    /// The fix, where one is certain enough to be offered.
    pub fix: Option<Fix>,
    /// The fix there would be if what is not known ([`Proof::Unproven`]) turned out right.
    pub tentative: Option<Fix>,
}

impl Finding {
    /// The fix, or the tentative one.
    pub fn any_fix(&self) -> Option<&Fix> {
        self.fix.as_ref().or(self.tentative.as_ref())
    }

    /// Whether the fix may be applied without being asked: safe, or proven where the rule wants
    /// evidence.
    pub fn is_applicable(&self) -> bool {
        self.fix.is_some()
            && match self.safety {
                Safety::Safe | Safety::SafeWithEvidence => !matches!(self.proof, Proof::Unproven(_)),
                Safety::Unsafe => false,
            }
    }
}

/// How sure it is that a rule applies at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// From the source alone.
    Proven,
    /// The running kernel says so: its error, or the types of its values.
    Live,
    /// Not known, for this reason.
    Unproven(String),
}

impl fmt::Display for Proof {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Proof::Proven => formatter.write_str("proven"),
            Proof::Live => formatter.write_str("confirmed by the kernel"),
            Proof::Unproven(reason) => formatter.write_str(reason),
        }
    }
}

/// One finding a place where several rules wait for the type of the same value: what they say besides goes into its
/// message. `findings` are in the order of the source, as [`crate::Catalogue::check`] gives them.
pub fn one_a_place(findings: Vec<Finding>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::with_capacity(findings.len());
    for finding in findings {
        let is_alternative = |other: &Finding| {
            other.unit == finding.unit
                && other.range == finding.range
                && matches!(other.proof, Proof::Unproven(_))
                && other.proof == finding.proof
        };
        match kept.iter_mut().find(|other| is_alternative(other)) {
            Some(other) => {
                other.message.push_str(&format!("; or {}: {}", finding.rule.id, finding.message));
                // The fix that there is, whichever of them has one.
                if other.any_fix().is_none() {
                    other.tentative = finding.tentative;
                }
            }
            None => kept.push(finding),
        }
    }
    kept
}

/// Edits that belong together: all or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// Unit and replacement; several units where an import or a loop elsewhere changes along.
    pub edits: Vec<(usize, Edit)>,
}
