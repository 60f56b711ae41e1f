//! One submission beside its answers: the checks made, the rows paired, the columns taken out.

use rustc_hash::FxHashMap;

use super::checks::not_numbers;
use super::{Competition, Fault, Mode, Pairing};
use crate::table::{Column, Key, KeyColumn, Table, pair, pair_by_rank, python_float, rank};

/// A submission and its answers under a competition's rules.
#[derive(Debug)]
pub(crate) struct Case<'t> {
    pub(crate) competition: &'t Competition,
    pub(crate) submission: &'t Table,
    pub(crate) answers: &'t Table,
    pub(crate) mode: Mode,
    /// The submission's target columns.
    pub(crate) targets: Vec<String>,
    /// The answers' target columns, in the same order.
    pub(crate) truth: Vec<String>,
    /// Graded rows: of the answers, of the submission.
    pub(crate) pairs: Vec<(u32, u32)>,
}

impl<'t> Case<'t> {
    /// Makes all checks and pairs the rows.
    pub(crate) fn new(
        competition: &'t Competition,
        submission: &'t Table,
        answers: &'t Table,
        mode: Mode,
    ) -> Result<Case<'t>, Fault> {
        let mut targets = competition.target_names(answers);
        let truth = if competition.truth.is_empty() { targets.clone() } else { competition.truth.clone() };
        for alternative in &competition.target_alternatives {
            if let [only] = &mut targets[..]
                && !submission.has(only)
                && submission.has(alternative)
            {
                *only = alternative.clone();
            }
        }
        let mut case = Case { competition, submission, answers, mode, targets, truth, pairs: Vec::new() };
        case.answers_are_whole()?;
        for check in &competition.checks {
            check.run(&case)?;
        }
        case.pairs = case.paired()?;
        case.drop_ungraded()?;
        if mode == Mode::Strict {
            case.refuse_missing()?;
        }
        Ok(case)
    }

    /// How rows are paired in this mode.
    pub(crate) fn pairing(&self) -> Pairing {
        match (self.mode, self.competition.pairing) {
            (Mode::Mlebench, pairing) => pairing,
            (Mode::Strict, pairing @ (Pairing::None | Pairing::Subset)) => pairing,
            // Without ids on both sides nothing can be compared.
            (Mode::Strict, Pairing::FileOrder) if !self.submission.has(&self.competition.id_column) => {
                Pairing::FileOrder
            }
            (Mode::Strict, _) => Pairing::Ids,
        }
    }

    fn answers_are_whole(&self) -> Result<(), Fault> {
        let competition = self.competition;
        let needs_id = !(competition.pairing == Pairing::FileOrder && self.mode == Mode::Mlebench);
        let id = needs_id.then_some(&competition.id_column);
        for name in self.truth.iter().chain(&competition.answers_columns).chain(id) {
            if !self.answers.has(name) {
                return Err(Fault::Answers(format!("the column `{name}` is not there")));
            }
        }
        if self.answers.rows() == 0 {
            return Err(Fault::Answers("there are no rows".to_owned()));
        }
        Ok(())
    }

    fn paired(&self) -> Result<Vec<(u32, u32)>, Fault> {
        let both = |submission: Vec<u32>| (0..).zip(submission).collect::<Vec<(u32, u32)>>();
        match self.pairing() {
            Pairing::None => Ok(Vec::new()),
            Pairing::FileOrder => {
                self.same_length()?;
                Ok((0..self.answers.rows() as u32).map(|row| (row, row)).collect())
            }
            Pairing::Rank => {
                self.same_length()?;
                Ok(both(pair_by_rank(&self.submission_ids()?, &self.answer_ids()?)))
            }
            Pairing::Ids => {
                let paired = pair(&self.submission_ids()?, &self.answer_ids()?);
                Ok(both(paired.map_err(|mismatch| Fault::Submission(mismatch.to_string()))?))
            }
            Pairing::Merge | Pairing::Subset => {
                let (ours, theirs) = (self.submission_ids()?, self.answer_ids()?);
                let mut rows: FxHashMap<Key<'_>, Vec<u32>> = FxHashMap::default();
                for row in 0..ours.len() {
                    if let Some(key) = ours.get(row) {
                        rows.entry(key).or_default().push(row as u32);
                    }
                }
                if self.pairing() == Pairing::Subset || self.mode == Mode::Strict {
                    let wanted = (0..theirs.len()).filter_map(|row| rows.get(&theirs.get(row)?));
                    if wanted.clone().any(|rows| rows.len() > 1) {
                        return Err(Fault::Submission(self.first_duplicate(&ours)));
                    }
                }
                let merged = (0..theirs.len()).flat_map(|row| {
                    let ours = theirs.get(row).and_then(|key| rows.get(&key));
                    ours.into_iter().flatten().map(move |ours| (row as u32, *ours))
                });
                Ok(merged.collect())
            }
        }
    }

    fn same_length(&self) -> Result<(), Fault> {
        super::Check::Rows.run(self)
    }

    fn drop_ungraded(&mut self) -> Result<(), Fault> {
        if let Some(keep) = &self.competition.keep_rows {
            let column = self.answer_column(&keep.column)?;
            if column.is_text() {
                return Err(Fault::Answers(format!("column `{}` is text", keep.column)));
            }
            let is_kept = |row: u32| column.number(row as usize) == Some(keep.value as f64);
            if keep.by_place && self.mode == Mode::Mlebench {
                let mut ranks = vec![0u32; self.answers.rows()];
                let order = rank(&self.answer_ids()?);
                (0..).zip(order).for_each(|(rank, row): (u32, u32)| ranks[row as usize] = rank);
                self.pairs.sort_by_key(|(row, _)| ranks[*row as usize]);
                let theirs = self.pairs.iter().map(|(row, _)| *row).filter(|row| is_kept(*row));
                let ours = self.pairs.iter().map(|(_, row)| *row).filter(|row| is_kept(*row));
                self.pairs = theirs.zip(ours).collect();
            } else {
                self.pairs.retain(|(row, _)| is_kept(*row));
            }
        }
        if self.competition.drop_negative_answers {
            let columns: Vec<Column<'_>> =
                self.truth.iter().map(|name| self.answer_column(name)).collect::<Result<_, _>>()?;
            self.pairs.retain(|(row, _)| {
                columns.iter().filter_map(|column| column.number(*row as usize)).sum::<f64>() >= 0.0
            });
        }
        Ok(())
    }

    /// What strict mode adds for every competition whose rows are paired.
    fn refuse_missing(&self) -> Result<(), Fault> {
        use super::Metric::{
            CentreF1, CocoMap, CuboidMap, F1Multilabel, GlobalDice, MapAtK, MeanDice, MeanIouPrecision,
            WordJaccard,
        };
        // There a blank cell is a prediction: of nothing.
        let blank_is_nothing = matches!(
            self.competition.metric,
            CentreF1
                | CocoMap
                | CuboidMap
                | F1Multilabel
                | GlobalDice
                | MapAtK
                | MeanDice
                | MeanIouPrecision
                | WordJaccard
        );
        for name in self.targets.iter().filter(|_| !blank_is_nothing) {
            let column = self.submitted(name)?;
            if let Some((_, row)) = self.pairs.iter().find(|(_, row)| column.is_missing(*row as usize)) {
                return Err(Fault::Submission(format!("row {}: `{name}` is missing", row + 1)));
            }
        }
        Ok(())
    }

    /// A sentence about the first id of the submission that appears again.
    pub(crate) fn first_duplicate(&self, ids: &KeyColumn<'_>) -> String {
        let mut seen: FxHashMap<Key<'_>, usize> = FxHashMap::default();
        for row in 0..ids.len() {
            let Some(key) = ids.get(row) else { continue };
            if let Some(earlier) = seen.insert(key, row) {
                let shown = ids.shown(row);
                return format!("row {}: id {shown} appears again, first at row {}", row + 1, earlier + 1);
            }
        }
        "an id appears twice".to_owned()
    }

    /// The submission's ids.
    pub(crate) fn submission_ids(&self) -> Result<KeyColumn<'t>, Fault> {
        self.submitted(&self.competition.id_column).map(KeyColumn::new)
    }

    /// The answers' ids.
    pub(crate) fn answer_ids(&self) -> Result<KeyColumn<'t>, Fault> {
        self.answer_column(&self.competition.id_column).map(KeyColumn::new)
    }

    /// A column of the submission.
    pub(crate) fn submitted(&self, name: &str) -> Result<Column<'t>, Fault> {
        self.submission
            .column(name)
            .ok_or_else(|| Fault::Submission(format!("the column `{name}` is not there")))
    }

    /// A column of the answers.
    pub(crate) fn answer_column(&self, name: &str) -> Result<Column<'t>, Fault> {
        self.answers.column(name).ok_or_else(|| Fault::Answers(format!("the column `{name}` is not there")))
    }

    /// The target at a place: the answers' column and the submission's.
    pub(crate) fn target(&self, index: usize) -> Result<(Column<'t>, Column<'t>), Fault> {
        let by_place = self.competition.columns_by_place && self.mode == Mode::Mlebench;
        if by_place {
            return self.target_by_place(index);
        }
        Ok((self.answer_column(&self.truth[index])?, self.submitted(&self.targets[index])?))
    }

    /// The target at a place when the ids are taken out of both files and the rest is matched by its order.
    fn target_by_place(&self, index: usize) -> Result<(Column<'t>, Column<'t>), Fault> {
        let place = |table: &Table| {
            (0..table.names().len())
                .filter(|place| table.names()[*place] != self.competition.id_column)
                .nth(index)
        };
        if self.submission.names().len() != self.answers.names().len() {
            return Err(Fault::Submission(format!(
                "{} columns where the answers have {}",
                self.submission.names().len(),
                self.answers.names().len()
            )));
        }
        match (place(self.answers), place(self.submission)) {
            (Some(theirs), Some(ours)) => {
                Ok((self.answers.column_at(theirs), self.submission.column_at(ours)))
            }
            _ => Err(Fault::Submission("too few columns".to_owned())),
        }
    }

    /// The graded numbers of a column of the answers.
    pub(crate) fn true_numbers(&self, column: Column<'t>) -> Result<Vec<f64>, Fault> {
        let numbers: Option<Vec<f64>> =
            self.pairs.iter().map(|(row, _)| column.number(*row as usize)).collect();
        let numbers = numbers.ok_or_else(|| Fault::Answers("a target holds text, not numbers".to_owned()))?;
        match numbers.iter().position(|value| !value.is_finite()) {
            Some(place) => Err(Fault::Answers(format!(
                "row {}: a target is missing or infinite",
                self.pairs[place].0 + 1
            ))),
            None => Ok(numbers),
        }
    }

    /// The graded numbers of a column of the submission, whatever they are.
    pub(crate) fn any_numbers(&self, name: &str, column: Column<'t>) -> Result<Vec<f64>, Fault> {
        let numbers: Option<Vec<f64>> =
            self.pairs.iter().map(|(_, row)| column.number(*row as usize)).collect();
        numbers.ok_or_else(|| not_numbers(name, &column))
    }

    /// The graded numbers of a column of the submission, none of which may be missing or infinite. In a column of
    /// text only the graded cells must be numbers, since scikit-learn converts no others.
    pub(crate) fn numbers(&self, name: &str, column: Column<'t>) -> Result<Vec<f64>, Fault> {
        let number = |row: usize| {
            let text = || column.text().get(row).map_or(Some(f64::NAN), python_float);
            column.number(row).or_else(text)
        };
        let numbers: Option<Vec<f64>> = self.pairs.iter().map(|(_, row)| number(*row as usize)).collect();
        let numbers = numbers.ok_or_else(|| not_numbers(name, &column))?;
        match numbers.iter().position(|value| !value.is_finite()) {
            Some(place) => {
                let row = self.pairs[place].1 as usize;
                let wrong = if numbers[place].is_nan() { "missing" } else { "infinite" };
                Err(Fault::Submission(format!("row {}: `{name}` is {wrong}", row + 1)))
            }
            None => Ok(numbers),
        }
    }
}
