//! A day of the calendar, as release tables and `--as-of` write it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A day, `2019-06-30`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

/// Why a text is no day.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a day; write it as 2019-06-30")]
pub struct DateError(String);

impl FromStr for Date {
    type Err = DateError;

    fn from_str(text: &str) -> Result<Self, DateError> {
        let refuse = || DateError(text.to_owned());
        let parts: Vec<&str> = text.split('-').collect();
        let [year, month, day] = parts.as_slice() else { return Err(refuse()) };
        let is_number = |part: &&&str| part.chars().all(|c| c.is_ascii_digit());
        if (year.len(), month.len(), day.len()) != (4, 2, 2) || !parts.iter().all(|part| is_number(&part)) {
            return Err(refuse());
        }
        let date = Self {
            year: year.parse().map_err(|_| refuse())?,
            month: month.parse().map_err(|_| refuse())?,
            day: day.parse().map_err(|_| refuse())?,
        };
        let is_there =
            (1..=12).contains(&date.month) && (1..=days_of(date.year, date.month)).contains(&date.day);
        is_there.then_some(date).ok_or_else(refuse)
    }
}

fn days_of(year: u16, month: u8) -> u8 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl fmt::Display for Date {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl TryFrom<String> for Date {
    type Error = DateError;

    fn try_from(text: String) -> Result<Self, DateError> {
        text.parse()
    }
}

impl From<Date> for String {
    fn from(date: Date) -> String {
        date.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_days_of_the_calendar_are_days() {
        let day: Date = "2020-02-29".parse().expect("a day");
        assert_eq!(day.to_string(), "2020-02-29");
        assert!(day < "2020-03-01".parse().expect("a day"));
        for text in
            ["2019-02-29", "2019-13-01", "2019-1-1", "yesterday", "2019-06-31", "2019-06", "+019-06-01"]
        {
            assert!(text.parse::<Date>().is_err(), "{text}");
        }
    }
}
