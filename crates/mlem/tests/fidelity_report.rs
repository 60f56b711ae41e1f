//! What `modernize` says of the notebook's logic, on a real kernel.

#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use serde_json::Value;
use support::{Place, python};

#[test]
fn the_report_classes_every_edit_and_the_whole() {
    let place = Place::new();
    place.notebook("old.ipynb", &["counts = {'a': 1}\nfor k, n in counts.iteritems():\n    print k, n"]);
    let interpreter = python();
    let ran = place.mlem(&["modernize", "old.ipynb", "--python", interpreter.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let text = std::fs::read_to_string(place.path("old.mlem/report.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["verdict"], "runs");
    let fidelity = &report["fidelity"];
    assert_eq!(fidelity["class"], "neutral", "{fidelity:#}");
    let edits = report["edits"].as_array().unwrap();
    let classes = fidelity["edits"].as_array().unwrap();
    assert!(!edits.is_empty() && edits.len() == classes.len());
    assert!(classes.iter().all(|class| class == "neutral"));
    // The whole pair is compared, not only what the edits say.
    let changes = fidelity["changes"].as_array().unwrap();
    assert!(
        changes.iter().any(|change| change["rule"] == "PY016" && change["path"] == "old.ipynb"),
        "{fidelity:#}"
    );
    let page = std::fs::read_to_string(place.path("old.mlem/report.md")).unwrap();
    assert!(page.contains("Logic: neutral."), "{page}");
    assert!(!page.contains("logic changed"));
}
