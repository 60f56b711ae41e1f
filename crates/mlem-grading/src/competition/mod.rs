//! Which competition is graded how: the reviewed table `competitions.toml`.

mod checks;
mod pairing;
pub(crate) mod scoring;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::table::Table;

pub use checks::Check;
pub(crate) use pairing::Case;

/// How strictly a submission is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// As MLE-bench grades, its quirks included.
    #[default]
    Mlebench,
    /// Ids are compared everywhere, duplicates and missing predictions are refused, columns go by name.
    Strict,
}

/// Why a submission has no score.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The submission's fault.
    #[error("{0}")]
    Submission(String),
    /// The fault of the answers, or of how the metric was asked for.
    #[error("the answers: {0}")]
    Answers(String),
}

/// Whether higher or lower scores are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Such as an accuracy.
    Higher,
    /// Such as a loss.
    Lower,
}

macro_rules! metrics {
    ($($variant:ident $name:literal $direction:ident $formula:literal,)*) => {
        /// A metric, by the name that the table and `--metric` use.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Metric {
            $(
                #[doc = $formula]
                #[serde(rename = $name)]
                $variant,
            )*
        }

        impl Metric {
            /// All metrics, in the order of the documentation.
            pub const ALL: &'static [Metric] = &[$(Metric::$variant),*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Metric::$variant => $name),* }
            }

            /// What it is, in a sentence.
            pub fn formula(self) -> &'static str {
                match self { $(Metric::$variant => $formula),* }
            }

            /// Which scores are better.
            pub fn direction(self) -> Direction {
                match self { $(Metric::$variant => Direction::$direction),* }
            }
        }
    };
}

metrics! {
    RocAuc "roc-auc" Higher "area under the ROC curve, ties halved",
    MeanColumnRocAuc "mean-column-roc-auc" Higher "mean over the target columns of the area under the ROC curve",
    WeightedRocAuc "weighted-roc-auc" Higher "area under the ROC curve, of which the part below a true positive rate of 0.4 weighs twice",
    BiasRocAuc "bias-roc-auc" Higher "a quarter of the overall area and of the power means (-5) of subgroup, BPSN and BNSP areas",
    LogLoss "log-loss" Lower "log loss; one target: the probability of the greater label; several: a column for each class",
    KlDivergence "kl-divergence" Lower "Kullback-Leibler divergence, summed over columns, averaged over rows",
    WeightedLogLoss "weighted-log-loss" Lower "weighted binary log loss of each study, averaged over studies",
    Accuracy "accuracy" Higher "share of rows with the right label",
    ErrorRate "error-rate" Lower "1 - accuracy",
    AnswerAccuracy "answer-accuracy" Higher "share of questions whose answer is among the valid ones, or is rightly empty",
    Rmse "rmse" Lower "root of the mean squared error",
    MeanColumnRmse "mean-column-rmse" Lower "mean over the target columns of the root mean squared error",
    Rmsle "rmsle" Lower "root of the mean squared difference of ln(1 + x)",
    MeanColumnRmsle "mean-column-rmsle" Lower "mean over the target columns of the RMSLE",
    Mae "mae" Lower "mean absolute error",
    LogMae "log-mae" Lower "mean over groups of the logarithm of each group's mean absolute error",
    R2 "r2" Higher "coefficient of determination",
    F1Macro "f1-macro" Higher "mean over the labels of the F1 score of each",
    F1Multilabel "f1-multilabel" Higher "F1 over all (row, label) pairs; labels that the answers do not have are ignored",
    GlobalDice "global-dice" Higher "Dice coefficient of all pixels together",
    MeanDice "mean-dice" Higher "mean over images of the Dice coefficient",
    MeanIouPrecision "mean-iou-precision" Higher "share of the thresholds 0.5, 0.55 … 0.95 that the intersection over union exceeds, averaged over images",
    F05Pixels "f05-pixels" Higher "mean over images of the F0.5 score of the pixels",
    DiceHausdorff "dice-hausdorff" Higher "0.4 x mean Dice + 0.6 x (1 - mean normalised 3D Hausdorff distance)",
    Levenshtein "levenshtein" Lower "mean Levenshtein distance in code points",
    LevenshteinRatio "levenshtein-ratio" Lower "Levenshtein distances of the sequences, divided by the true length of all",
    WordJaccard "word-jaccard" Higher "mean Jaccard index of the sets of lower-cased words",
    MapAtK "map-at-k" Higher "mean average precision of the first k predictions",
    MeanColumnSpearman "mean-column-spearman" Higher "mean over the target columns of Spearman's correlation",
    Pearson "pearson" Higher "Pearson's correlation",
    Kendall "kendall" Higher "Kendall's tau of all orders together: 1 - 4 x inversions / sum of n(n-1)",
    Lwlrap "lwlrap" Higher "label-weighted label-ranking average precision",
    QuadraticKappa "quadratic-kappa" Higher "Cohen's kappa with quadratic weights",
    Matthews "matthews" Higher "Matthews' correlation coefficient",
    ProbabilisticF1 "probabilistic-f1" Higher "F1 where a prediction counts as a fraction of a hit",
    LaplaceLogLikelihood "laplace-log-likelihood" Higher "modified Laplace log likelihood",
    AngularError "angular-error" Lower "mean angle in radians between directions",
    HaversinePercentiles "haversine-percentiles" Lower "mean over trips of the mean of the 50th and 95th percentile of the distance in metres",
    CentreF1 "centre-f1" Higher "F1 of labelled points inside labelled boxes, all pages together",
    BoxMap "box-map" Higher "mean over classes of the average precision of boxes at an intersection over union above 0.5",
    CocoMap "coco-map" Higher "COCO average precision (101 points) at an intersection over union of 0.4",
    CuboidMap "cuboid-map" Higher "mean average precision of 3D boxes over the thresholds 0.5, 0.55 … 0.95",
}

/// How rows of the submission and of the answers belong together in MLE-bench's mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pairing {
    /// By id; both sides hold the same ids equally often.
    #[default]
    Ids,
    /// By place after sorting both by id.
    Rank,
    /// By place in the file.
    FileOrder,
    /// By id, each answer with every row of the submission that has its id.
    Merge,
    /// By id; the submission may hold more.
    Subset,
    /// The metric itself sees to it.
    None,
}

/// What labels are made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelKind {
    /// The values of the column.
    #[default]
    Typed,
    /// Text; a blank cell is the empty text.
    BlankIsEmpty,
    /// The values; a blank cell among text is the label `nan`.
    BlankIsNan,
    /// What `str()` prints.
    Printed,
    /// What `int()` makes of them.
    Integer,
    /// Integers; of a text the first token.
    FirstToken,
}

/// The target columns.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Targets {
    /// These.
    Named(Vec<String>),
    /// All columns of the answers but the id.
    Answers(AnswersColumns),
}

/// The word `answers` in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswersColumns {
    /// All columns of the answers but the id.
    Answers,
}

/// Rows of the answers that are graded.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepRows {
    /// Where this column
    pub column: String,
    /// has this value (`true` is 1).
    pub value: i64,
    /// MLE-bench drops the submission's rows by their place in the file instead of by their ids, and then matches
    /// what is left on both sides in the order of the ids.
    #[serde(default)]
    pub by_place: bool,
}

/// One competition, as its row in the table says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Competition {
    /// Its id on Kaggle and in MLE-bench.
    pub id: String,
    /// How it is scored.
    pub metric: Metric,
    /// Which scores are better; a hint, since a leaderboard decides.
    pub direction: Direction,
    /// MLE-bench's split.
    pub split: String,
    /// The score of the sample submission.
    pub sample: f64,
    /// The answers under `<id>/prepared/`.
    pub answers: String,
    /// The sample submission under `<id>/prepared/`.
    pub sample_submission: String,
    /// The id column.
    pub id_column: String,
    /// The submission's target columns.
    pub targets: Targets,
    /// Another name that the only target may have.
    #[serde(default)]
    pub target_alternatives: Vec<String>,
    /// The answers' target columns, where they are called otherwise.
    #[serde(default)]
    pub truth: Vec<String>,
    /// Further columns that the answers must have.
    #[serde(default)]
    pub answers_columns: Vec<String>,
    /// Further columns that a submission must have.
    #[serde(default)]
    pub required: Vec<String>,
    /// What is checked, in order.
    pub checks: Vec<Check>,
    /// Which rows belong together.
    #[serde(default)]
    pub pairing: Pairing,
    /// What labels are made of.
    #[serde(default)]
    pub labels: LabelKind,
    /// Predictions that count.
    #[serde(default)]
    pub k: Option<usize>,
    /// Rows that are graded; all if absent.
    #[serde(default)]
    pub keep_rows: Option<KeepRows>,
    /// Rows whose answers sum to less than 0 are not graded.
    #[serde(default)]
    pub drop_negative_answers: bool,
    /// MLE-bench takes the columns by their place.
    #[serde(default)]
    pub columns_by_place: bool,
    /// The score is rounded to a whole number.
    #[serde(default)]
    pub round_to_integer: bool,
    /// The Jaccard index where both texts are empty; a fault if absent.
    #[serde(default)]
    pub both_empty: Option<f64>,
    /// What a user should know.
    #[serde(default)]
    pub note: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    competition: Vec<Competition>,
}

impl Competition {
    /// All competitions of the table.
    pub fn all() -> &'static [Competition] {
        static ALL: OnceLock<Vec<Competition>> = OnceLock::new();
        ALL.get_or_init(|| {
            let document: Document = toml::from_str(include_str!("../../competitions.toml"))
                .expect("the shipped table is read by a test");
            document.competition
        })
    }

    /// A competition by id.
    pub fn find(id: &str) -> Option<&'static Competition> {
        Competition::all().iter().find(|competition| competition.id == id)
    }

    /// Any data under a metric: rows by id, checks for what every metric needs.
    pub fn of_metric(metric: Metric, id_column: &str, targets: Vec<String>, k: Option<usize>) -> Competition {
        Competition {
            id: String::new(),
            metric,
            direction: metric.direction(),
            split: String::new(),
            sample: f64::NAN,
            answers: String::new(),
            sample_submission: String::new(),
            id_column: id_column.to_owned(),
            targets: if targets.is_empty() {
                Targets::Answers(AnswersColumns::Answers)
            } else {
                Targets::Named(targets)
            },
            target_alternatives: Vec::new(),
            truth: Vec::new(),
            answers_columns: Vec::new(),
            required: Vec::new(),
            checks: match metric {
                Metric::LogLoss => {
                    vec![Check::Id, Check::Targets, Check::Rows, Check::UnitRangeAll, Check::SameIds]
                }
                _ => vec![Check::Id, Check::Targets, Check::Rows, Check::SameIds],
            },
            pairing: Pairing::Ids,
            labels: LabelKind::Typed,
            k,
            keep_rows: None,
            drop_negative_answers: false,
            columns_by_place: false,
            round_to_integer: false,
            both_empty: Some(0.0),
            note: String::new(),
        }
    }

    /// The submission's target columns, given the answers.
    pub fn target_names(&self, answers: &Table) -> Vec<String> {
        match &self.targets {
            Targets::Named(names) => names.clone(),
            Targets::Answers(AnswersColumns::Answers) => {
                answers.names().iter().filter(|name| **name != self.id_column).cloned().collect()
            }
        }
    }
}

impl Metric {
    /// A metric by name.
    pub fn find(name: &str) -> Option<Metric> {
        Metric::ALL.iter().copied().find(|metric| metric.name() == name)
    }

    /// Whether it needs nothing but target columns, so that it can be asked for with `--metric`.
    pub fn is_general(self) -> bool {
        use Metric::*;
        matches!(
            self,
            RocAuc
                | MeanColumnRocAuc
                | WeightedRocAuc
                | LogLoss
                | KlDivergence
                | Accuracy
                | ErrorRate
                | Rmse
                | MeanColumnRmse
                | Rmsle
                | MeanColumnRmsle
                | Mae
                | R2
                | F1Macro
                | F1Multilabel
                | Levenshtein
                | LevenshteinRatio
                | WordJaccard
                | MapAtK
                | MeanColumnSpearman
                | Pearson
                | Kendall
                | Lwlrap
                | QuadraticKappa
                | Matthews
                | ProbabilisticF1
                | AngularError
                | CentreF1
                | BoxMap
                | CuboidMap
        )
    }
}

#[cfg(test)]
mod tests;
