//! Rules that a table cannot say: functions over the whole program, registered by name.

mod aggregation;
mod arrow;
mod chained;
mod fastai;
mod graph;
mod grid;
mod iterators;
mod ix;
mod keras_accuracy;
mod keras_files;
mod lightgbm;
mod listing;
mod splitters;
mod spread;
mod walk;
mod xgboost;
mod xgboost_labels;

pub(crate) use walk::{assignments, each_expr, each_stmt};

use crate::catalogue::Catalogue;
use crate::finding::Finding;
use crate::rule::Rule;
use crate::target::Question;

/// What a function rule sees.
pub(crate) struct Context<'a> {
    pub(crate) question: &'a Question<'a>,
    pub(crate) rule: &'static Rule,
    pub(crate) catalogue: &'static Catalogue,
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

const FUNCTIONS: &[FunctionRule] = &[
    FunctionRule { name: "splitter_call", triggers: splitters::TRIGGERS, check: splitters::check },
    FunctionRule {
        name: "chained_assignment",
        triggers: chained::TRIGGERS,
        check: chained::check_assignment,
    },
    FunctionRule { name: "chained_inplace", triggers: &["inplace"], check: chained::check_inplace },
    FunctionRule { name: "ix", triggers: ix::TRIGGERS, check: ix::check },
    FunctionRule { name: "keras_accuracy", triggers: keras_accuracy::TRIGGERS, check: keras_accuracy::check },
    FunctionRule { name: "keras_file_names", triggers: keras_files::TRIGGERS, check: keras_files::check },
    FunctionRule { name: "listing_order", triggers: listing::TRIGGERS, check: listing::check },
    FunctionRule { name: "lightgbm_callbacks", triggers: lightgbm::TRIGGERS, check: lightgbm::check },
    FunctionRule { name: "named_aggregation", triggers: aggregation::TRIGGERS, check: aggregation::check },
    FunctionRule { name: "arrow_in_three_dimensions", triggers: arrow::TRIGGERS, check: arrow::check },
    FunctionRule { name: "normed_in_dict", triggers: spread::TRIGGERS, check: spread::check },
    FunctionRule { name: "fastai_packages", triggers: fastai::TRIGGERS, check: fastai::check },
    FunctionRule { name: "graph_code", triggers: graph::TRIGGERS, check: graph::check },
    FunctionRule { name: "iterator_lists", triggers: iterators::TRIGGERS, check: iterators::check },
    FunctionRule { name: "parameter_grid", triggers: grid::TRIGGERS, check: grid::check },
    FunctionRule { name: "xgboost_fit", triggers: xgboost::TRIGGERS, check: xgboost::check },
    FunctionRule { name: "xgboost_labels", triggers: xgboost_labels::TRIGGERS, check: xgboost_labels::check },
];

/// The function rule of that name.
pub(crate) fn find(name: &str) -> Option<&'static FunctionRule> {
    FUNCTIONS.iter().find(|function| function.name == name)
}
