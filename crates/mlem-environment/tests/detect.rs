//! What a notebook needs, on notebooks written for the purpose: `tests/fixtures/detect/NAME/` holds the cells in
//! `cells.txt`, parted by lines `# %%`, whatever else lies beside the notebook, and `expected.txt`.
//!
//! `MLEM_BLESS=1` writes the expected files anew.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use mlem_environment::{Detected, Detector, Pins};
use mlem_python::Unit;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/detect")
}

fn units(folder: &Path) -> Vec<Unit> {
    let text = fs::read_to_string(folder.join("cells.txt")).unwrap();
    text.split("# %%\n").skip(1).map(|cell| Unit::cell(cell.trim_end_matches('\n'))).collect()
}

fn shown(detected: &Detected) -> String {
    let mut text = String::new();
    for need in &detected.needs {
        let place = match (&need.unit, &need.file) {
            (Some(unit), _) => format!("cell {unit} line {}", need.line),
            (None, Some(file)) => {
                format!("{} line {}", file.file_name().unwrap().to_string_lossy(), need.line)
            }
            (None, None) => "nowhere".to_owned(),
        };
        let name = need.import.as_deref().unwrap_or("(install line)");
        let distribution = need.distribution.as_ref().map_or("-", |name| name.as_str());
        write!(text, "{place}: {name} -> {distribution}{}", need.specifier).unwrap();
        write!(text, " [{:?}, {:?}{}]", need.kind, need.why, if need.optional { ", optional" } else { "" })
            .unwrap();
        writeln!(text, "{}", need.note.as_ref().map_or(String::new(), |note| format!(" ({note})"))).unwrap();
    }
    writeln!(text, "wanted:").unwrap();
    for wanted in detected.wanted(Pins::Ignore) {
        writeln!(
            text,
            "  {}{}",
            wanted.requirement,
            if wanted.required { "" } else { " (if it can be had)" }
        )
        .unwrap();
    }
    let guesses: Vec<&str> = detected.guesses().filter_map(|need| need.import.as_deref()).collect();
    if !guesses.is_empty() {
        writeln!(text, "guessed, not installed: {}", guesses.join(", ")).unwrap();
    }
    for note in &detected.notes {
        writeln!(text, "note: {}", note.replace(&fixtures().display().to_string(), "…")).unwrap();
    }
    text
}

#[test]
fn fixtures_give_what_they_expect() {
    let mut failures = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(fixtures()).unwrap() {
        let folder = entry.unwrap().path();
        count += 1;
        let got = shown(&Detector::new((3, 13)).detect(&units(&folder), &folder));
        let sources: Vec<String> = units(&folder).iter().map(|unit| unit.source().to_owned()).collect();
        assert_eq!(
            shown(&Detector::new((3, 13)).detect_sources(&sources, &folder)),
            got,
            "without parsing every cell"
        );
        let expected = folder.join("expected.txt");
        if std::env::var_os("MLEM_BLESS").is_some() {
            fs::write(&expected, &got).unwrap();
        }
        let wanted = fs::read_to_string(&expected).unwrap_or_default();
        if got != wanted {
            failures.push(format!("{}\n--- expected\n{wanted}--- got\n{got}", folder.display()));
        }
    }
    assert!(count >= 6, "only {count} fixtures");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// The fifteen names that other tools get wrong, against a plain list.
#[test]
fn fifteen_tricky_names() {
    let folder = fixtures().join("tricky-names");
    let detected = Detector::new((3, 13)).detect(&units(&folder), &folder);
    let answers: serde_json::Map<String, serde_json::Value> = detected
        .needs
        .iter()
        .filter_map(|need| {
            let answer = match &need.distribution {
                Some(distribution) if need.optional => format!("{distribution} (optional)"),
                Some(distribution) => distribution.to_string(),
                None if need.is_local() => "(local module)".to_owned(),
                None => "(none)".to_owned(),
            };
            Some((need.import.clone()?, answer.into()))
        })
        .collect();
    let expected: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.join("expected.json")).unwrap()).unwrap();
    let got = serde_json::Value::Object(answers);
    for (name, answer) in expected.as_object().unwrap() {
        assert_eq!(got.get(name), Some(answer), "{name} in {got:#}");
    }
    assert_eq!(expected.as_object().unwrap().len(), 15);
}
