//! From a checked case to its score, one function for each metric of the table.

mod classes;
mod detection;
mod masks;
mod quantities;
mod questions;
mod ranking;
mod words;

use super::{Case, Fault, Metric};

pub(crate) use questions::{Question, answer_accuracy};

/// The unrounded score.
pub(crate) fn score(case: &Case<'_>) -> Result<f64, Fault> {
    match case.competition.metric {
        Metric::RocAuc => quantities::roc_auc(case, 0),
        Metric::MeanColumnRocAuc => quantities::over_columns(case, quantities::roc_auc),
        Metric::WeightedRocAuc => quantities::weighted_roc_auc(case),
        Metric::BiasRocAuc => quantities::bias_roc_auc(case),
        Metric::LogLoss => quantities::log_loss(case),
        Metric::KlDivergence => quantities::kl_divergence(case),
        Metric::WeightedLogLoss => quantities::weighted_log_loss(case),
        Metric::Rmse | Metric::Rmsle | Metric::Mae | Metric::R2 => quantities::error(case, 0),
        Metric::MeanColumnRmse | Metric::MeanColumnRmsle => quantities::over_columns(case, quantities::error),
        Metric::LogMae => quantities::log_mae(case),
        Metric::LaplaceLogLikelihood => quantities::laplace(case),
        Metric::AngularError => quantities::angular(case),
        Metric::HaversinePercentiles => quantities::haversine(case),
        Metric::Accuracy => classes::accuracy(case),
        Metric::ErrorRate => classes::accuracy(case).map(|accuracy| 1.0 - accuracy),
        Metric::F1Macro => classes::coded(case).map(|coded| crate::metric::labels::f1_macro(&coded)),
        Metric::QuadraticKappa => {
            classes::coded(case).map(|coded| crate::metric::labels::quadratic_kappa(&coded))
        }
        Metric::Matthews => classes::coded(case).map(|coded| crate::metric::labels::matthews(&coded)),
        Metric::ProbabilisticF1 => classes::probabilistic_f1(case),
        Metric::F1Multilabel => words::multilabel(case),
        Metric::WordJaccard => words::jaccard(case),
        Metric::Levenshtein => words::levenshtein(case),
        Metric::LevenshteinRatio => words::levenshtein_ratio(case),
        Metric::MapAtK => ranking::map_at_k(case),
        Metric::Kendall => ranking::kendall(case),
        Metric::MeanColumnSpearman => quantities::over_columns(case, ranking::spearman),
        Metric::Pearson => ranking::pearson(case),
        Metric::Lwlrap => ranking::lwlrap(case),
        Metric::GlobalDice => masks::global_dice(case),
        Metric::MeanDice => masks::mean_dice(case),
        Metric::MeanIouPrecision => masks::mean_iou_precision(case),
        Metric::F05Pixels => masks::f05_pixels(case),
        Metric::DiceHausdorff => masks::dice_hausdorff(case),
        Metric::CentreF1 => detection::centre_f1(case),
        Metric::BoxMap => detection::box_map(case),
        Metric::CocoMap => detection::coco_map(case),
        Metric::CuboidMap => detection::cuboid_map(case),
        Metric::AnswerAccuracy => {
            Err(Fault::Answers("this competition's answers are JSON Lines (test.jsonl), not CSV".to_owned()))
        }
    }
}

/// The answers must be given where a metric takes exactly one target.
fn only_target<'c>(case: &'c Case<'_>) -> Result<&'c str, Fault> {
    match &case.targets[..] {
        [only] => Ok(only),
        several => Err(Fault::Answers(format!(
            "{} takes one target and there are {}; name it with --target",
            case.competition.metric.name(),
            several.len()
        ))),
    }
}
