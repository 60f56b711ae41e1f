//! Rules that a table cannot say: functions over the whole program, registered by name.

use crate::finding::Finding;
use crate::rule::Rule;
use crate::target::Question;

/// What a function rule sees.
pub(crate) struct Context<'a> {
    pub(crate) question: &'a Question<'a>,
    pub(crate) rule: &'static Rule,
}

/// A function rule.
pub(crate) struct FunctionRule {
    /// The name rule files use.
    pub(crate) name: &'static str,
    /// Names of which one has to occur (attribute, name, import or keyword) for it to be run.
    pub(crate) triggers: &'static [&'static str],
    pub(crate) check: fn(&Context) -> Vec<Finding>,
}

impl std::fmt::Debug for FunctionRule {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

const FUNCTIONS: &[FunctionRule] = &[];

/// The function rule of that name.
pub(crate) fn find(name: &str) -> Option<&'static FunctionRule> {
    FUNCTIONS.iter().find(|function| function.name == name)
}
