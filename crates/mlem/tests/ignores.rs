//! `# mlem: ignore` comments.

#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use serde_json::Value;
use support::{Place, python};

/// Cell, line and rule of what is found.
#[track_caller]
fn found(place: &Place, arguments: &[&str]) -> Vec<String> {
    let ran = place.mlem(&[&["check", "--format", "json"], arguments].concat());
    assert!(ran.code == Some(0) || ran.code == Some(1), "{}", ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let one = |finding: &Value| {
        let cell = finding["cell"].as_u64().map_or("-".to_owned(), |cell| cell.to_string());
        format!("{cell}:{} {}", finding["line"], finding["rule"].as_str().unwrap())
    };
    document["findings"].as_array().unwrap().iter().map(one).collect()
}

/// The rule that finds `np.float`.
const FLOAT: &str = "NP001";

#[test]
fn a_comment_at_the_end_of_a_line_is_about_that_line() {
    let place = Place::new();
    let cell = "import numpy as np\na = np.float(1)  # mlem: ignore\nb = np.float(2)\nc = np.float(3)  # mlem: ignore[NP001]\n\
                d = np.float(4)  # mlem: ignore[SK]\ne = np.float(5)  # noqa  # mlem: ignore[NP] since it is taught so\n\
                f = '# mlem: ignore', np.float(6)";
    place.notebook("old.ipynb", &[cell]);
    assert_eq!(
        found(&place, &["old.ipynb"]),
        [format!("0:3 {FLOAT}"), format!("0:5 {FLOAT}"), format!("0:7 {FLOAT}")]
    );
}

#[test]
fn a_comment_on_its_own_line_is_about_the_cell_or_the_file() {
    let place = Place::new();
    let cells = [
        "# mlem: ignore[NP]\nimport numpy as np\na = np.float(1)",
        "b = np.float(2)\nif b:\n    # mlem: ignore\n    c = np.float(3)",
        "d = np.float(4)",
    ];
    place.notebook("old.ipynb", &cells);
    assert_eq!(found(&place, &["old.ipynb"]), [format!("2:1 {FLOAT}")]);
    place.write("old.py", "import numpy as np\na = np.float(1)\n# mlem: ignore[NP001]\nfrom sklearn.cross_validation import KFold\n");
    assert_eq!(found(&place, &["old.py"]), ["-:4 SK001"]);
}

#[test]
fn strings_magics_and_carried_on_lines() {
    let place = Place::new();
    let cells = [
        "import numpy as np",
        "%time a = np.float(1)  # mlem: ignore",
        "b = np.float(1) + \\\n    np.float(2)  # mlem: ignore",
        "c = (np.float(1),\n     np.float(2))  # mlem: ignore",
        "d = np.float('''\n''')  # mlem: ignore\ne = '''\n# mlem: ignore\n''', np.float(1)",
        "%%time\n# mlem: ignore\nnp.float(3)",
    ];
    place.notebook("old.ipynb", &cells);
    assert_eq!(found(&place, &["old.ipynb"]), [format!("3:1 {FLOAT}"), format!("4:5 {FLOAT}")]);
}

#[test]
fn syntax_and_python_2_are_silenced_and_left_alone() {
    let place = Place::new();
    let path = place.notebook(
        "old.ipynb",
        &["def (:  # mlem: ignore[SYNTAX]", "print 'a'  # mlem: ignore[PY2]", "print 'b'"],
    );
    assert_eq!(found(&place, &["old.ipynb"]), ["2:1 PY2"]);
    assert_eq!(place.mlem(&["fix", "old.ipynb"]).code, Some(0));
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains("print 'a'") && text.contains("print('b')"), "{text}");
}

#[test]
fn fix_leaves_what_is_silenced_in_cells_and_helper_modules() {
    let place = Place::new();
    place.notebook(
        "old.ipynb",
        &["import helper, numpy as np\na = np.float(1)  # mlem: ignore\nb = np.float(2)"],
    );
    place.write("helper.py", "import numpy as np\na = np.float(1)\nb = np.float(2)  # mlem: ignore[NP]\n");
    let ran = place.mlem(&["fix", "old.ipynb"]);
    assert!(ran.stderr.contains("2 changes made, 0 findings left alone"), "{}", ran.stderr);
    let source = place.json("old.ipynb")["cells"][0]["source"].as_str().unwrap().to_owned();
    assert!(source.ends_with("a = np.float(1)  # mlem: ignore\nb = float(2)"), "{source}");
    let helper = std::fs::read_to_string(place.path("helper.py")).unwrap();
    assert_eq!(helper, "import numpy as np\na = float(1)\nb = np.float(2)  # mlem: ignore[NP]\n");
}

#[test]
fn comments_that_cannot_be_understood_are_warned_about() {
    let place = Place::new();
    place.notebook(
        "old.ipynb",
        &["import numpy as np", "np.float(1)  # mlem: ignore[NP01x]\nnp.float(2)  # mlem: ignore NP001"],
    );
    let ran = place.mlem(&["check", "old.ipynb"]);
    assert_eq!(ran.stdout.lines().count(), 2, "{}", ran.stdout);
    assert!(
        ran.stderr.contains("warning: old.ipynb:cell 1:1: there is no rule `NP01x`; did you mean NP01"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("warning: old.ipynb:cell 1:2: rules are named in brackets"),
        "{}",
        ran.stderr
    );
}

#[test]
fn comments_that_silence_nothing_are_found_on_request() {
    let place = Place::new();
    let cell = "import numpy as np\na = np.float(1)  # mlem: ignore[NP001, SK]\nb = 2  # mlem: ignore\nc = 3  # mlem: ignore[VANISHED]";
    place.notebook("old.ipynb", &[cell, "# mlem: ignore[PD]"]);
    assert_eq!(found(&place, &["old.ipynb"]), [""; 0]);
    let ran = place.mlem(&["check", "old.ipynb", "--report-unused-ignores"]);
    assert_eq!(ran.code, Some(1));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines,
        [
            "old.ipynb:cell 0:2:18: UNUSED `mlem: ignore[SK]` silences nothing in this line",
            "old.ipynb:cell 0:3:8: UNUSED `mlem: ignore` silences nothing in this line",
            "old.ipynb:cell 1:1:1: UNUSED `mlem: ignore[PD]` silences nothing in this cell or file",
        ]
    );
    // A rule that is not wanted anyway is silenced all the same.
    assert_eq!(
        found(&place, &["old.ipynb", "--report-unused-ignores", "--ignore", "NP", "--ignore", "UNUSED"]),
        [""; 0]
    );
    assert_eq!(found(&place, &["old.ipynb", "--report-unused-ignores", "--ignore", "NP"]).len(), 3);
}

#[test]
fn of_several_rules_about_one_value_each_is_silenced_by_itself() {
    let place = Place::new();
    let cell =
        |comment: &str| format!("def f(x):\n    return x.convert_objects(convert_numeric=True){comment}");
    let rules = |comment: &str| {
        place.notebook("old.ipynb", &["import pandas as pd", &cell(comment)]);
        found(&place, &["old.ipynb"])
    };
    assert_eq!(rules(""), ["1:2 PD113"]);
    assert_eq!(rules("  # mlem: ignore[PD113]"), ["1:2 PD114"], "what the other says is still said");
    assert_eq!(rules("  # mlem: ignore[PD113, PD114]"), [""; 0]);
}

#[test]
fn names_that_an_interpreter_lacks_are_silenced_too() {
    let place = Place::new();
    let line = "from prompt_toolkit.layout.lexers import PygmentsLexer";
    place.notebook("old.ipynb", &[&format!("{line}  # mlem: ignore[VANISHED]"), line]);
    let python = python().to_string_lossy().into_owned();
    assert_eq!(found(&place, &["old.ipynb", "--python", &python, "--report-unused-ignores"]), [""; 0]);
    place.notebook("old.ipynb", &[line, &format!("{line}  # mlem: ignore[VANISHED]")]);
    assert_eq!(found(&place, &["old.ipynb", "--python", &python]), ["0:1 VANISHED"]);
    assert_eq!(found(&place, &["old.ipynb", "--python", &python, "--ignore", "VANISHED"]), [""; 0]);
    let ran = place.mlem(&["fix", "old.ipynb", "--python", &python, "--ignore", "VANISHED"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(place.json("old.ipynb")["cells"][0]["source"], line);
}
