//! `mlem check` in continuous integration: accepted findings, counts, exit codes, formats.

#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use serde_json::Value;
use support::Place;

const FIRST: &str = "import numpy as np\na = np.float(1)\nb = np.float(1)";

fn json(place: &Place, arguments: &[&str]) -> Value {
    let ran = place.mlem(&[&["check", "--format", "json"], arguments].concat());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr))
}

#[test]
fn only_findings_that_are_not_accepted_count() {
    let place = Place::new();
    place.notebook("nb/old.ipynb", &[FIRST, "a = np.float(1)"]);
    let ran = place.mlem(&["check", "nb", "--write-baseline", "accepted.json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("3 findings accepted in accepted.json"), "{}", ran.stderr);
    let written = place.json("accepted.json");
    assert_eq!(written["findings"][0]["code"], "a = np.float(1)");
    assert_eq!(written["findings"][0]["count"], 2);

    // Cells and lines move; the findings stay what they were.
    place.notebook(
        "nb/old.ipynb",
        &["# intro", "import numpy as np", "\n\nb = np.float(1)\na =  np.float(1)\na = np.float(1)"],
    );
    let ran = place.mlem(&["check", "nb", "--baseline", "accepted.json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("nothing found, 3 accepted"), "{}", ran.stderr);

    // A third of the same kind, and one of another, are new.
    place.notebook("nb/old.ipynb", &["import numpy as np\na = np.float(1)\na = np.float(1)\na = np.float(1)\nb = np.float(1)\nc = np.float(1)"]);
    let document = json(&place, &["nb", "--baseline", "accepted.json"]);
    assert_eq!(document["findings"].as_array().unwrap().len(), 2);
    assert_eq!(document["baseline"]["accepted"], 3);
    assert_eq!(document["baseline"]["stale"], Value::Array(Vec::new()));
    assert_eq!(place.mlem(&["check", "nb", "--baseline", "accepted.json"]).code, Some(1));
}

#[test]
fn what_is_accepted_and_gone_is_told() {
    let place = Place::new();
    place.notebook("old.ipynb", &[FIRST]);
    place.notebook("other.ipynb", &["import numpy as np\nnp.float(3)"]);
    place.mlem(&["check", "old.ipynb", "other.ipynb", "--write-baseline", "accepted.json"]);
    place.notebook("old.ipynb", &["import numpy as np\na = np.float(1)"]);
    let ran = place.mlem(&["check", "old.ipynb", "--baseline", "accepted.json"]);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stderr.contains(
            "warning: accepted.json: 1 of NP001 `b = np.float(1)` in old.ipynb are accepted and not found"
        ),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("other.ipynb"), "what was not checked is not judged: {}", ran.stderr);
    let ran = place.mlem(&["check", "old.ipynb", "--baseline", "accepted.json", "--select", "PD"]);
    assert!(!ran.stderr.contains("warning"), "nor what was not looked for: {}", ran.stderr);
    std::fs::remove_file(place.path("other.ipynb")).unwrap();
    let stale = json(&place, &["old.ipynb", "--baseline", "accepted.json"])["baseline"]["stale"].clone();
    assert_eq!(stale.as_array().unwrap().len(), 2, "{stale}");
}

#[test]
fn baselines_that_are_none_are_refused() {
    let place = Place::new();
    place.notebook("old.ipynb", &[FIRST]);
    let ran = place.mlem(&["check", "old.ipynb", "--baseline", "absent.json"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.starts_with("error: absent.json: no such file; `mlem check --write-baseline absent.json"),
        "{}",
        ran.stderr
    );
    place.write("bad.json", "{\"schema\": 1}");
    let ran = place.mlem(&["check", "old.ipynb", "--baseline", "bad.json"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("bad.json: is no baseline: missing field"),
        "{}",
        ran.stderr
    );
    let both = ["check", "old.ipynb", "--baseline", "bad.json", "--write-baseline", "bad.json"];
    assert_eq!(place.mlem(&both).code, Some(2));
}

#[test]
fn counts_of_rules_and_an_exit_code_of_zero() {
    let place = Place::new();
    place.notebook("old.ipynb", &[FIRST, "from sklearn.cross_validation import KFold"]);
    let ran = place.mlem(&["check", "old.ipynb", "--statistics", "--exit-zero"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.stdout);
    assert!(lines[0].starts_with("2  NP001 ") && lines[0].ends_with(" [2 with a fix]"), "{}", ran.stdout);
    assert!(lines[1].starts_with("1  SK001 "), "{}", ran.stdout);
    let document = json(&place, &["old.ipynb", "--statistics"]);
    assert_eq!(document["statistics"][0]["rule"], "NP001");
    assert_eq!(document["statistics"][0]["count"], 2);
    assert_eq!(place.mlem(&["check", "old.ipynb", "--statistics", "--format", "sarif"]).code, Some(2));
    assert_eq!(place.mlem(&["check", "absent.ipynb", "--exit-zero"]).code, Some(2), "bad input stays bad");
}

#[test]
fn sarif_holds_what_its_schema_requires() {
    let place = Place::new();
    place.notebook("a b/old.ipynb", &[FIRST]);
    place.write("old.py", "import numpy as np\nnp.float(1)\n");
    let ran = place.mlem(&["check", "a b", "old.py", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    assert!(driver["name"].is_string());
    let rules = driver["rules"].as_array().unwrap();
    assert!(rules.iter().all(|rule| rule["id"].is_string() && rule["shortDescription"]["text"].is_string()));
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        assert!(result["message"]["text"].is_string());
        assert_eq!(rules[result["ruleIndex"].as_u64().unwrap() as usize]["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["region"]["startLine"].as_u64().unwrap() >= 1);
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(["a%20b/old.ipynb", "old.py"].contains(&uri), "{uri}");
    }
    assert_eq!(results[0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "cell 0");
    let prints: std::collections::BTreeSet<String> = results
        .iter()
        .map(|result| result["partialFingerprints"]["primaryLocationLineHash"].to_string())
        .collect();
    assert_eq!(prints.len(), 3, "{prints:?}");

    // They are the same after the lines have moved.
    place.notebook("a b/old.ipynb", &["# more\n\n\nimport numpy as np\n\na = np.float(1)\nb = np.float(1)"]);
    let moved: Value =
        serde_json::from_str(&place.mlem(&["check", "a b", "old.py", "--format", "sarif"]).stdout).unwrap();
    assert_eq!(moved["runs"][0]["results"][0]["partialFingerprints"], results[0]["partialFingerprints"]);
}

#[test]
fn annotations_of_modules_have_a_line_and_those_of_notebooks_name_the_cell() {
    let place = Place::new();
    place.notebook("old.ipynb", &[FIRST]);
    place.write("old.py", "import numpy as np\nnp.float(1)\n");
    let lines = place.mlem(&["check", "old.ipynb", "old.py", "--format", "github"]).stdout;
    let lines: Vec<&str> = lines.lines().collect();
    assert!(lines[0].starts_with("::warning file=old.ipynb,title=NP001::cell 0, line 2: "), "{}", lines[0]);
    assert!(lines[2].starts_with("::warning file=old.py,line=2,col=1,title=NP001::line 2: "), "{}", lines[2]);
}
