//! The checks of the table, each of which refuses a submission with one sentence.

use std::collections::HashSet;

use serde::Deserialize;

use super::pairing::Case;
use super::{Fault, Pairing};
use crate::metric::sums::sum;
use crate::table::{Column, Key, KeyColumn, Values};

/// One check of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The id column is there.
    Id,
    /// The target columns are there.
    Targets,
    /// The further required columns are there.
    Required,
    /// There are exactly the id and the target columns.
    ColumnsExact,
    /// The columns are the answers', in their order.
    ColumnsOfAnswers,
    /// There are as many columns as the id and the targets make.
    ColumnCount,
    /// As many rows as the answers have.
    Rows,
    /// Two rows for each answer.
    RowsDoubled,
    /// At least one row.
    NotEmpty,
    /// The targets are numbers.
    Numeric,
    /// The targets are numbers, and not booleans.
    NumericNotBool,
    /// All columns but the id are numbers within 0 and 1 (missing ones aside) and sum to 1 within 1.001e-5 (numpy's
    /// `allclose`).
    OnlyProbabilities,
    /// The id is the first column.
    IdFirst,
    /// No target is infinite.
    Finite,
    /// No target is missing.
    NoMissing,
    /// The targets are within 0 and 1, missing ones aside.
    UnitRange,
    /// The targets are within 0 and 1, and none is missing.
    UnitRangeAll,
    /// The targets are within 1 and 100, and none is missing.
    #[serde(rename = "range-1-to-100")]
    Range1To100,
    /// Each row of targets sums to 1 within 1.1e-5 (numpy's `isclose` with `atol=1e-6`).
    SumIsclose,
    /// Each row of targets sums to 1 when rounded to five decimals.
    #[serde(rename = "sum-round-5")]
    SumRound5,
    /// Each row of targets sums to 1 when rounded to six decimals.
    #[serde(rename = "sum-round-6")]
    SumRound6,
    /// Ids and targets are text.
    Texts,
    /// The same ids as the answers, equally often.
    SameIds,
    /// The same set of ids as the answers.
    IdSet,
    /// All ids of the answers, and perhaps more.
    IdsSuperset,
    /// Only ids of the answers, perhaps not all.
    IdsSubset,
    /// No id appears twice.
    NoDuplicates,
}

impl Check {
    /// Every check but those of ids, which need the whole tables.
    pub(super) fn run(self, case: &Case<'_>) -> Result<(), Fault> {
        let table = case.submission;
        let competition = case.competition;
        let refuse = |text: String| Err(Fault::Submission(text));
        match self {
            Check::Id => has(case, std::iter::once(&competition.id_column)),
            Check::Targets => has(case, case.targets.iter()),
            Check::Required => has(case, competition.required.iter()),
            Check::ColumnsExact => {
                let wanted: HashSet<&String> = case.targets.iter().chain([&competition.id_column]).collect();
                let found: HashSet<&String> = table.names().iter().collect();
                if wanted == found {
                    return Ok(());
                }
                has(case, wanted.iter().copied())?;
                let extra: Vec<&str> =
                    table.names().iter().filter(|name| !wanted.contains(name)).map(String::as_str).collect();
                refuse(format!("the columns {} do not belong there", quoted(extra)))
            }
            Check::ColumnsOfAnswers => {
                let (found, wanted) = (table.names(), case.answers.names());
                match (0..found.len().max(wanted.len())).find(|index| found.get(*index) != wanted.get(*index))
                {
                    None => Ok(()),
                    Some(index) => refuse(format!(
                        "column {} is {} where {} is expected",
                        index + 1,
                        found.get(index).map_or("not there".to_owned(), |name| format!("`{name}`")),
                        wanted.get(index).map_or("nothing".to_owned(), |name| format!("`{name}`")),
                    )),
                }
            }
            Check::ColumnCount => {
                let (found, wanted) = (table.names().len(), case.targets.len() + 1);
                if found == wanted {
                    Ok(())
                } else {
                    refuse(format!("{found} columns where {wanted} are expected"))
                }
            }
            Check::Rows => rows(table.rows(), case.answers.rows()),
            // The answers are no table; the metric counts them.
            Check::RowsDoubled => Ok(()),
            Check::NotEmpty => {
                if table.rows() == 0 {
                    refuse("there are no rows".to_owned())
                } else {
                    Ok(())
                }
            }
            Check::Numeric => {
                each(
                    case,
                    |name, column| {
                        if column.is_text() { Err(not_numbers(name, column)) } else { Ok(()) }
                    },
                )
            }
            Check::NumericNotBool => each(case, |name, column| match column.values() {
                Values::Text => Err(not_numbers(name, column)),
                Values::Bool(_) => {
                    Err(Fault::Submission(format!("column `{name}` holds booleans, not numbers")))
                }
                Values::Integer(_) | Values::Float(_) => Ok(()),
            }),
            Check::OnlyProbabilities => {
                let names = table.names().iter().filter(|name| **name != competition.id_column);
                let names: Vec<String> = names.cloned().collect();
                values(case, &names, "is not within 0 and 1", |value| {
                    value.is_nan() || (0.0..=1.0).contains(&value)
                })?;
                sums(case, &names, |total| (total - 1.0).abs() <= 1e-8 + 1e-5)
            }
            Check::IdFirst => {
                if table.names().first() == Some(&competition.id_column) {
                    Ok(())
                } else {
                    refuse(format!("the first column is not `{}`", competition.id_column))
                }
            }
            Check::Finite => values(case, &case.targets, "is infinite", |value| !value.is_infinite()),
            Check::NoMissing => values(case, &case.targets, "is missing", |value| !value.is_nan()),
            Check::UnitRange => values(case, &case.targets, "is not within 0 and 1", |value| {
                value.is_nan() || (0.0..=1.0).contains(&value)
            }),
            Check::UnitRangeAll => {
                values(case, &case.targets, "is not within 0 and 1", |value| (0.0..=1.0).contains(&value))
            }
            Check::Range1To100 => {
                values(case, &case.targets, "is not within 1 and 100", |value| (1.0..=100.0).contains(&value))
            }
            Check::SumIsclose => sums(case, &case.targets, |total| (total - 1.0).abs() <= 1e-6 + 1e-5),
            Check::SumRound5 => sums(case, &case.targets, |total| (total * 1e5).round_ties_even() == 1e5),
            Check::SumRound6 => sums(case, &case.targets, |total| (total * 1e6).round_ties_even() == 1e6),
            Check::Texts => {
                for name in std::iter::once(&competition.id_column).chain(&case.targets) {
                    if let Some(column) = table.column(name)
                        && !column.is_text()
                        && !(0..column.len()).all(|row| column.is_missing(row))
                    {
                        return refuse(format!("column `{name}` holds {}, not text", column.kind()));
                    }
                }
                Ok(())
            }
            Check::SameIds => Ok(()),
            Check::IdSet | Check::IdsSuperset | Check::IdsSubset | Check::NoDuplicates => self.ids(case),
        }
    }

    fn ids(self, case: &Case<'_>) -> Result<(), Fault> {
        // Pairing by id compares the ids anyway, and says more.
        if self == Check::IdSet && case.pairing() == Pairing::Ids {
            return Ok(());
        }
        let (ours, theirs) = (case.submission_ids()?, case.answer_ids()?);
        let (ours_all, theirs_all) = (all_keys(&ours), all_keys(&theirs));
        let known: HashSet<&Option<Key<'_>>> = theirs_all.iter().collect();
        let given: HashSet<&Option<Key<'_>>> = ours_all.iter().collect();
        if matches!(self, Check::IdSet | Check::IdsSubset)
            && let Some(row) = ours_all.iter().position(|key| !known.contains(key))
        {
            return Err(Fault::Submission(format!(
                "row {}: id {} is not among the answers' ids",
                row + 1,
                ours.shown(row)
            )));
        }
        if matches!(self, Check::IdSet | Check::IdsSuperset) {
            let lacking = known.difference(&given).count();
            if lacking > 0 {
                return Err(Fault::Submission(format!(
                    "{lacking} of the {} ids of the answers are not in the submission",
                    known.len()
                )));
            }
        }
        if self == Check::NoDuplicates && given.len() < ours_all.len() {
            return Err(Fault::Submission(case.first_duplicate(&ours)));
        }
        Ok(())
    }
}

fn all_keys<'t>(ids: &KeyColumn<'t>) -> Vec<Option<Key<'t>>> {
    (0..ids.len()).map(|row| ids.get(row)).collect()
}

fn rows(found: usize, wanted: usize) -> Result<(), Fault> {
    if found == wanted {
        Ok(())
    } else {
        Err(Fault::Submission(format!("{found} rows where the answers have {wanted}")))
    }
}

fn has<'n>(case: &Case<'_>, names: impl Iterator<Item = &'n String>) -> Result<(), Fault> {
    let missing: Vec<&str> = names.filter(|name| !case.submission.has(name)).map(String::as_str).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let noun = if missing.len() == 1 { "column" } else { "columns" };
    let found = quoted(case.submission.names().iter().map(String::as_str));
    Err(Fault::Submission(format!("the {noun} {} is not there; the file has {found}", quoted(missing))))
}

fn quoted<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.len() {
        0..=8 => names.join(", "),
        count => format!("{} and {} more", names[..8].join(", "), count - 8),
    }
}

fn each<'t>(case: &Case<'t>, check: impl FnMut(&str, &Column<'t>) -> Result<(), Fault>) -> Result<(), Fault> {
    each_of(case, &case.targets, check)
}

fn each_of<'t>(
    case: &Case<'t>,
    names: &[String],
    mut check: impl FnMut(&str, &Column<'t>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for name in names {
        if let Some(column) = case.submission.column(name) {
            check(name, &column)?;
        }
    }
    Ok(())
}

pub(super) fn not_numbers(name: &str, column: &Column<'_>) -> Fault {
    let text = column.text();
    let example = (0..text.len())
        .find(|row| text.get(*row).is_some_and(|cell| crate::table::python_float(cell).is_none()));
    Fault::Submission(match example {
        Some(row) => {
            let cell = text.get(row).unwrap_or_default();
            let shown: String = cell.chars().take(40).collect();
            format!("row {}: `{name}` is `{shown}`, not a number", row + 1)
        }
        None => format!("column `{name}` holds {}, not numbers", column.kind()),
    })
}

fn values(
    case: &Case<'_>,
    names: &[String],
    wrong: &str,
    is_right: impl Fn(f64) -> bool,
) -> Result<(), Fault> {
    each_of(case, names, |name, column| {
        if column.is_text() {
            return Err(not_numbers(name, column));
        }
        match (0..column.len()).find(|row| !is_right(column.number(*row).unwrap_or(f64::NAN))) {
            None => Ok(()),
            Some(row) => {
                let shown = column.printed(row);
                Err(Fault::Submission(format!("row {}: `{name}` is {shown}, which {wrong}", row + 1)))
            }
        }
    })
}

fn sums(case: &Case<'_>, names: &[String], is_right: impl Fn(f64) -> bool) -> Result<(), Fault> {
    let mut columns = Vec::with_capacity(names.len());
    each_of(case, names, |name, column| {
        if column.is_text() {
            return Err(not_numbers(name, column));
        }
        columns.push(*column);
        Ok(())
    })?;
    for row in 0..case.submission.rows() {
        // pandas leaves missing values out of a sum.
        let total =
            sum(columns.iter().filter_map(|column| column.number(row)).filter(|value| !value.is_nan()));
        if !is_right(total) {
            return Err(Fault::Submission(format!("row {}: the predictions sum to {total}, not 1", row + 1)));
        }
    }
    Ok(())
}
