//! `docs/grading.md` lists every metric and competition as the code has them.

#![allow(clippy::unwrap_used, reason = "test code")]

use std::fmt::Write;
use std::path::Path;

use mlem_grading::{Competition, Direction, Metric, Pairing, Targets};

fn better(direction: Direction) -> &'static str {
    match direction {
        Direction::Higher => "higher",
        Direction::Lower => "lower",
    }
}

fn metrics() -> String {
    let mut text = "| metric | better | what it is | competitions |\n|---|---|---|---|\n".to_owned();
    for metric in Metric::ALL {
        let count = Competition::all().iter().filter(|competition| competition.metric == *metric).count();
        let general = if metric.is_general() { "" } else { " †" };
        let (name, formula) = (metric.name(), metric.formula());
        writeln!(text, "| `{name}`{general} | {} | {formula} | {count} |", better(metric.direction()))
            .unwrap();
    }
    text
}

fn competitions() -> String {
    let mut text =
        "| competition | metric | id | targets | rows go together by | split | sample | note |\n|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for competition in Competition::all() {
        let targets = match &competition.targets {
            Targets::Named(names) => {
                names.iter().map(|name| format!("`{name}`")).collect::<Vec<String>>().join(", ")
            }
            Targets::Answers(_) => "all of the answers' columns".to_owned(),
        };
        let rows = match competition.pairing {
            Pairing::Ids => "id",
            Pairing::Rank => "place after sorting",
            Pairing::FileOrder => "place in the file",
            Pairing::Merge => "id, repeated ones too",
            Pairing::Subset => "id, more may be there",
            Pairing::None => "see the note",
        };
        let metric = match competition.k {
            Some(k) => format!("{} (k = {k})", competition.metric.name()),
            None => competition.metric.name().to_owned(),
        };
        writeln!(
            text,
            "| {} | {metric} | `{}` | {targets} | {rows} | {} | {} | {} |",
            competition.id, competition.id_column, competition.split, competition.sample, competition.note
        )
        .unwrap();
    }
    text
}

/// The text with what stands between the markers of a name replaced.
fn replaced(text: &str, name: &str, inner: &str) -> String {
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = text.split_once(&start).unwrap_or_else(|| panic!("no {start}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no {end}"));
    format!("{before}{start}{inner}{end}{after}")
}

#[test]
fn the_page_is_in_step_with_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grading.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let wanted = replaced(&replaced(&page, "metrics", &metrics()), "competitions", &competitions());
    if std::env::var_os("MLEM_WRITE_DOCS").is_some() {
        std::fs::write(&path, wanted).unwrap();
        return;
    }
    assert!(
        page == wanted,
        "docs/grading.md is behind; MLEM_WRITE_DOCS=1 cargo test -p mlem-grading --test docs brings it up"
    );
}
