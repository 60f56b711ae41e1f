//! How a run's score is told: from what it prints, or by grading what it wrote.

use mlem_grading::table::DEFAULT_MAX_BYTES;
use mlem_grading::{Competition, Grader, Mode};
use mlem_notebook::Notebook;
use mlem_repair::verify::{Left, PrintedScore};
use mlem_verdict::statistics::{Margin, margin_of_metric, metric_margins};

use crate::arguments::Scoring;
use crate::commands::grade::{competition, first_column, metric};
use crate::failure::Failure;

/// Where scores come from.
pub(crate) enum Source {
    Printed(PrintedScore),
    Graded(Box<Grader>),
}

/// What was asked for about the score.
pub(crate) struct ScoreWanted {
    source: Source,
    /// How far it may move.
    pub(crate) margin: Margin,
}

impl ScoreWanted {
    /// Reads the arguments; `None` where no score is asked for.
    pub(crate) fn new(arguments: &Scoring) -> Result<Option<ScoreWanted>, Failure> {
        let (source, named) = if let Some(pattern) = &arguments.score_from {
            let printed = PrintedScore::new(pattern)
                .map_err(|error| Failure::Usage(format!("--score-from {pattern}: {error}")))?;
            (Source::Printed(printed), arguments.metric.clone())
        } else if let Some(answers) = &arguments.answers {
            let (grader, name) = match (&arguments.competition, &arguments.metric) {
                (Some(id), _) => {
                    let known = competition(id)?;
                    let grader = Grader::new(known, answers, Mode::Mlebench, DEFAULT_MAX_BYTES)?;
                    (grader, known.metric.name())
                }
                (None, Some(name)) => {
                    let metric = metric(name)?;
                    let id = first_column(answers, DEFAULT_MAX_BYTES)?;
                    let own = Competition::of_metric(metric, &id, Vec::new(), None);
                    (Grader::new(&own, answers, Mode::Mlebench, DEFAULT_MAX_BYTES)?, metric.name())
                }
                (None, None) => {
                    return Err(Failure::Usage("--answers needs --competition or --metric".into()));
                }
            };
            (Source::Graded(Box::new(grader)), Some(name.to_owned()))
        } else if arguments.target_score.is_some() || arguments.metric.is_some() || arguments.margin.is_some()
        {
            return Err(Failure::Usage(
                "where does the score come from? Say --score-from REGEX (printed) or --answers FILE (graded)"
                    .into(),
            ));
        } else {
            return Ok(None);
        };
        let margin = match (arguments.margin, named) {
            (Some(margin), _) => margin,
            (None, Some(metric)) => margin_of_metric(&metric).ok_or_else(|| {
                let known: Vec<&str> = metric_margins().map(|(name, _)| name).collect();
                Failure::Usage(format!(
                    "--metric {metric}: no default margin is known for it; give --margin, or one of: {}",
                    known.join(", ")
                ))
            })?,
            (None, None) => {
                return Err(Failure::Usage(
                    "--score-from needs --metric or --margin: how far may the score move and be the same?"
                        .into(),
                ));
            }
        };
        Ok(Some(ScoreWanted { source, margin }))
    }

    /// The score of a run.
    ///
    /// # Errors
    /// In words, why it has none.
    pub(crate) fn tell(&self, left: &Left<'_>) -> Result<f64, String> {
        match &self.source {
            Source::Printed(printed) => printed.of(left.notebook),
            Source::Graded(grader) => {
                let table = left.tables.iter().find(|table| table.submission.is_some());
                let Some(table) = table else {
                    return Err("it wrote no table that looks like a submission".to_owned());
                };
                grader.grade(&left.folder.join(&table.path)).score.map_err(|reason| reason.text)
            }
        }
    }

    /// The scores to compare with: the target, or the one that the reference's outputs show.
    pub(crate) fn reference(
        &self,
        target: Option<f64>,
        outputs: Option<&Notebook>,
    ) -> Result<Vec<f64>, Failure> {
        match (target, &self.source, outputs) {
            (Some(target), ..) => Ok(vec![target]),
            (None, Source::Printed(printed), Some(outputs)) => match printed.of(outputs) {
                Ok(score) => Ok(vec![score]),
                Err(problem) => Err(Failure::Usage(format!(
                    "no --target-score, and none in the reference's outputs: {problem}"
                ))),
            },
            (None, ..) => {
                Err(Failure::Usage("there is no score to compare with; give --target-score".into()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mlem_grading::Metric;

    use super::*;

    #[test]
    fn every_metric_of_a_grader_has_a_margin() {
        let without: Vec<&str> = Metric::ALL
            .iter()
            .map(|metric| metric.name())
            .filter(|name| margin_of_metric(name).is_none())
            .collect();
        assert!(without.is_empty(), "margins.toml lacks {without:?}");
    }
}
