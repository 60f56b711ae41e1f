//! `mlem rule`: explanations, the reference, and rules of a user's own.

#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use serde_json::Value;
use support::Place;

const OWN: &str = r#"
[[rule]]
id       = "MY001"
name     = "course-loader"
summary  = "course.load is course.read now"
library  = "numpy"
since    = "1.0"
kind     = "renamed"
safety   = "safe"
source   = "the course's own notes"
match    = "course.load($path)"
replace  = "course.read($path)"
needs    = ["import course"]
setup    = "import course"
before   = "data = course.load('a.csv')"
after    = "data = course.read('a.csv')"
proof    = "none: the course's library is not published"
"#;

#[test]
fn the_reference_is_up_to_date() {
    let made = Place::new().mlem(&["rule", "--all", "--format", "markdown", "--isolated"]).stdout;
    let kept = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules.md")).unwrap();
    let differs = made.lines().zip(kept.lines()).position(|(made, kept)| made != kept);
    assert!(
        made == kept,
        "docs/rules.md is out of date (first at line {}); run\n\n    \
         cargo run -p mlem -- rule --all --format markdown > docs/rules.md\n",
        differs.unwrap_or(made.lines().count().min(kept.lines().count())) + 1
    );
}

#[test]
fn rules_are_explained_by_id_and_by_name() {
    let place = Place::new();
    let by_id = place.mlem(&["rule", "PD001"]);
    assert_eq!(by_id.code, Some(0), "{}", by_id.stderr);
    assert!(by_id.stdout.starts_with("# PD001\n\n`dataframe-append-frame`: "), "{}", by_id.stdout);
    for part in
        ["```diff\n-", "\n+", "- since: pandas 2.0", "fix: safe-with-evidence", "- source: ", "- shown: "]
    {
        assert!(by_id.stdout.contains(part), "{part}: {}", by_id.stdout);
    }
    assert_eq!(place.mlem(&["rule", "dataframe-append-frame"]).stdout, by_id.stdout);
    let several = place.mlem(&["rule", "PY2", "SK001", "--format", "json"]).stdout;
    let document: Value = serde_json::from_str(&several).unwrap();
    assert_eq!(document["rules"][0]["id"], "PY2");
    assert_eq!(document["rules"][1]["library"], "scikit-learn");
}

#[test]
fn all_rules_are_listed_for_people_and_programs() {
    let place = Place::new();
    let document: Value =
        serde_json::from_str(&place.mlem(&["rule", "--all", "--format", "json"]).stdout).unwrap();
    let rules = document["rules"].as_array().unwrap();
    let lines = place.mlem(&["rule", "--all"]).stdout;
    assert_eq!(lines.lines().count(), rules.len());
    for rule in rules {
        assert!(lines.contains(rule["name"].as_str().unwrap()));
    }
}

#[test]
fn unknown_rules_are_refused_with_the_nearest() {
    let place = Place::new();
    let ran = place.mlem(&["rule", "PD9999"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("error: there is no rule `PD9999`"), "{}", ran.stderr);
    let ran = place.mlem(&["rule", "datafram-append-frame"]);
    assert!(ran.stderr.contains("did you mean dataframe-append-frame"), "{}", ran.stderr);
    assert_eq!(place.mlem(&["rule"]).code, Some(2), "something has to be named");
}

#[test]
fn own_rules_are_tested_and_explained() {
    let place = Place::new();
    place.write("rules/course.toml", OWN);
    let ran = place.mlem(&["rule", "--rules", "rules", "--test"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("1 rule tested, 0 failed"), "{}", ran.stderr);
    let told = place.mlem(&["rule", "--rules", "rules", "course-loader"]).stdout;
    assert!(told.contains("+data = course.read('a.csv')"), "{told}");

    place.write("rules/course.toml", OWN.replace("course.read('a.csv')\"", "course.read('b.csv')\""));
    let ran = place.mlem(&["rule", "--rules", "rules", "--test"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stdout.starts_with("rules/course.toml:2: rule MY001: after: `before` becomes"),
        "{}",
        ran.stdout
    );
    let document: Value =
        serde_json::from_str(&place.mlem(&["rule", "--rules", "rules", "--test", "--format", "json"]).stdout)
            .unwrap();
    assert_eq!((&document["tested"], &document["objections"][0]["rule"]), (&1.into(), &"MY001".into()));
}

#[test]
fn shipped_rules_can_be_tested_by_name() {
    let ran = Place::new().mlem(&["rule", "--test", "PD001", "SK001"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stderr.contains("2 rules tested, 0 failed"), "{}", ran.stderr);
    let ran = Place::new().mlem(&["rule", "--test"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("nothing to test"), "{}", ran.stderr);
}

#[test]
fn own_rules_that_are_wrong_are_refused_with_their_place() {
    let place = Place::new();
    let said = |text: &str| {
        place.write("rules/course.toml", text);
        let ran = place.mlem(&["rule", "--rules", "rules", "--test"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        ran.stderr
    };
    let unknown = said(&OWN.replace("summary ", "sumary  "));
    assert!(
        unknown.starts_with("error: rules/course.toml:5:1: rule MY001: unknown field `sumary`"),
        "{unknown}"
    );
    let value = said(&OWN.replace("\"safe\"", "\"certain\""));
    assert!(
        value.starts_with("error: rules/course.toml:9:12: rule MY001: unknown variant `certain`"),
        "{value}"
    );
    let taken = said(&OWN.replace("MY001", "PD001"));
    assert!(
        taken.contains(
            "rules/course.toml:2:1: rule PD001: `PD001` is also used by PD001 in mlem's rules/pandas.toml"
        ),
        "{taken}"
    );
    let name = said(&OWN.replace("course-loader", "dataframe-append-frame"));
    assert!(name.contains("`dataframe-append-frame` is also used by PD001"), "{name}");
    let syntax = said("[[rule]\n");
    assert!(syntax.starts_with("error: rules/course.toml:1:"), "{syntax}");

    place.write("empty/readme.txt", "");
    for (folder, reason) in
        [("absent", "no such folder"), ("empty", "no rule file (*.toml)"), ("rules/course.toml", "is a file")]
    {
        let ran = place.mlem(&["rule", "--rules", folder, "--test"]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(folder) && ran.stderr.contains(reason), "{}", ran.stderr);
    }
}
