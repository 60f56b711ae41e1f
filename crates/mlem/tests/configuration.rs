//! Configuration files and what the command line puts on top of them.

#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use support::{Place, Ran};

/// Two rules of numpy, one of scikit-learn, one of pandas.
const OLD: &str = "import numpy as np\nimport pandas as pd\nfrom sklearn.cross_validation import KFold\n\
                   x = np.float(1)\ny = np.alltrue([1])\nz = pd.Panel()\n";

/// The rules that `mlem check` finds, in order.
#[track_caller]
fn rules(place: &Place, arguments: &[&str]) -> Vec<String> {
    let ran = place.mlem(&[&["check", "--format", "json"], arguments].concat());
    assert!(ran.code == Some(0) || ran.code == Some(1), "{}", ran.stderr);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let found = document["findings"].as_array().unwrap();
    found.iter().map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
}

/// The beginnings of their ids, each once.
#[track_caller]
fn families(place: &Place, arguments: &[&str]) -> String {
    let mut families: Vec<String> = rules(place, arguments)
        .iter()
        .map(|id| id.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned())
        .collect();
    families.dedup();
    families.sort();
    families.dedup();
    families.join(" ")
}

#[track_caller]
fn refused(ran: &Ran, start: &str, part: &str) {
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.starts_with(&format!("error: {start}")), "{}", ran.stderr);
    assert!(ran.stderr.contains(part), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("error: ").count(), 1, "{}", ran.stderr);
}

#[test]
fn rules_are_selected_and_ignored_by_id_beginning_and_name() {
    let place = Place::new();
    place.notebook("old.ipynb", &[OLD]);
    assert_eq!(families(&place, &["old.ipynb"]), "NP PD SK");
    assert_eq!(families(&place, &["old.ipynb", "--select", "NP"]), "NP");
    assert_eq!(families(&place, &["old.ipynb", "--select", "NP,PD"]), "NP PD");
    assert_eq!(families(&place, &["old.ipynb", "--ignore", "NP", "--ignore", "SK"]), "PD");
    let all = rules(&place, &["old.ipynb", "--select", "NP"]);
    let name = place.mlem(&["rule", &all[0], "--format", "json"]).stdout;
    let name: serde_json::Value = serde_json::from_str(&name).unwrap();
    let name = name["rules"][0]["name"].as_str().unwrap();
    assert_eq!(rules(&place, &["old.ipynb", "--select", "NP", "--ignore", name]), all[1..]);
    refused(&place.mlem(&["check", "old.ipynb", "--select", "NQ"]), "--select NQ: there is no rule `NQ`", "");
    refused(&place.mlem(&["check", "old.ipynb", "--ignore", "PD9999"]), "--ignore PD9999: ", "PD");
}

#[test]
fn the_nearest_file_counts_and_the_command_line_has_the_last_word() {
    let place = Place::new();
    place.notebook("a/old.ipynb", &[OLD]);
    place.notebook("a/b/old.ipynb", &[OLD]);
    place.write("mlem.toml", "ignore = [\"NP\"]\n");
    place.write("a/b/pyproject.toml", "[project]\nname = \"x\"\n\n[tool.mlem]\nselect = [\"SK\"]\n");
    assert_eq!(families(&place, &["a/old.ipynb"]), "PD SK");
    assert_eq!(families(&place, &["a/b/old.ipynb"]), "SK");
    place.write("a/b/mlem.toml", "select = [\"PD\"]\n");
    assert_eq!(families(&place, &["a/b/old.ipynb"]), "PD", "mlem.toml counts before pyproject.toml");
    assert_eq!(families(&place, &["a/old.ipynb", "--select", "NP"]), "NP");
    assert_eq!(families(&place, &["a/old.ipynb", "--ignore", "PD"]), "SK");
    assert_eq!(families(&place, &["a/old.ipynb", "--isolated"]), "NP PD SK");
    place.write("other.toml", "select = [\"NP\"]\n");
    assert_eq!(families(&place, &["a/old.ipynb", "a/b/old.ipynb", "--config", "other.toml"]), "NP");
    place.write("a/pyproject.toml", "[tool.other]\nselect = [\"NP\"]\n");
    assert_eq!(
        families(&place, &["a/old.ipynb"]),
        "PD SK",
        "a pyproject.toml without [tool.mlem] is passed over"
    );
}

#[test]
fn versions_come_from_the_file_and_from_the_command_line() {
    let place = Place::new();
    place.notebook("old.ipynb", &[OLD]);
    place.write("mlem.toml", "target = { numpy = \"1.18\", pandas = \"0.24\", python = \"3.7\" }\n");
    assert_eq!(families(&place, &["old.ipynb"]), "SK");
    assert_eq!(families(&place, &["old.ipynb", "--target", "scikit_learn==0.17"]), "");
    assert_eq!(families(&place, &["old.ipynb", "--target", "pandas==2.0"]), "PD SK");
    place.notebook("two.ipynb", &["print 'a'"]);
    assert_eq!(rules(&place, &["two.ipynb"]), ["PY2"]);
    assert_eq!(rules(&place, &["two.ipynb", "--target", "python==2.7"]), [""; 0]);
    refused(&place.mlem(&["check", "old.ipynb", "--target", "numpy"]), "--target numpy: NAME==VERSION", "");
}

#[test]
fn some_files_want_fewer_rules_and_some_are_passed_over() {
    let place = Place::new();
    for name in ["a/old.ipynb", "week1/old.ipynb", "archive/2014/old.ipynb"] {
        place.notebook(name, &[OLD]);
    }
    place.write(
        "mlem.toml",
        "exclude = [\"archive\"]\n[per-file-ignores]\n\"week*/*.ipynb\" = [\"NP\", \"SK\"]\n\"helper.py\" = [\"ALL\"]\n",
    );
    assert_eq!(families(&place, &["a"]), "NP PD SK");
    assert_eq!(families(&place, &["week1"]), "PD");
    let ran = place.mlem(&["check", "."]);
    assert!(ran.stdout.contains("week1/old.ipynb") && !ran.stdout.contains("archive"), "{}", ran.stdout);
    assert_eq!(families(&place, &["archive/2014/old.ipynb"]), "NP PD SK", "a file that is named is checked");
    assert_eq!(families(&place, &["archive/2014/old.ipynb", "--force-exclude"]), "");

    place.notebook("a/import.ipynb", &["import helper\nimport other"]);
    place.write("a/helper.py", OLD);
    place.write("a/other.py", "import numpy as np\nnp.float(1)\n");
    let found = place.mlem(&["check", "a/import.ipynb"]).stdout;
    assert!(found.contains("other.py") && !found.contains("helper.py"), "{found}");
    place.write("mlem.toml", "exclude = [\"helper.py\", \"other.py\"]\n");
    assert_eq!(families(&place, &["a/import.ipynb"]), "");
}

#[test]
fn fix_makes_what_is_wanted_and_nothing_else() {
    let place = Place::new();
    let path = place
        .notebook("old.ipynb", &["import helper\nimport numpy as np\nx = np.float(1)\ny = np.alltrue([1])"]);
    place.write("helper.py", "import numpy as np\nx = np.float(1)\n");
    let source = || place.json("old.ipynb")["cells"][0]["source"].as_str().unwrap().to_owned();
    let before = std::fs::read_to_string(&path).unwrap();
    assert_eq!(place.mlem(&["fix", "old.ipynb", "--ignore", "NP"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    assert_eq!(
        std::fs::read_to_string(place.path("helper.py")).unwrap(),
        "import numpy as np\nx = np.float(1)\n"
    );

    let float = rules(&place, &["helper.py"]);
    place.write(
        "mlem.toml",
        format!("select = [\"{}\"]\n[per-file-ignores]\n\"helper.py\" = [\"NP\"]\n", float[0]),
    );
    let ran = place.mlem(&["fix", "old.ipynb"]);
    assert!(ran.stderr.contains("1 change made, 0 findings left alone"), "{}", ran.stderr);
    assert!(source().contains("x = float(1)\ny = np.alltrue([1])"), "{}", source());
    assert!(std::fs::read_to_string(place.path("helper.py")).unwrap().contains("np.float"));
}

#[test]
fn unsafe_fixes_can_be_wanted_always_and_refused_once() {
    let place = Place::new();
    place.notebook("old.ipynb", &["import os, numpy as np\nx = np.float(1)\nfirst = os.listdir('.')[0]"]);
    let changes = |arguments: &[&str]| {
        let ran = place.mlem(&[&["fix", "--check", "old.ipynb"], arguments].concat());
        ran.stderr.split(" change").next().unwrap().lines().last().unwrap().parse::<usize>().unwrap()
    };
    let (safe, all) = (changes(&[]), changes(&["--unsafe"]));
    assert_eq!((safe, all), (1, 2));
    place.write("mlem.toml", "unsafe = true\n");
    assert_eq!(changes(&[]), all);
    assert_eq!(changes(&["--no-unsafe"]), safe);
}

#[test]
fn python_2_is_left_as_it_is_where_that_is_wanted() {
    let place = Place::new();
    let path = place.notebook("old.ipynb", &["print 'a'", "print 7 / 2"]);
    let before = std::fs::read_to_string(&path).unwrap();
    assert_eq!(rules(&place, &["old.ipynb", "--ignore", "PY2"]), [""; 0]);
    assert_eq!(place.mlem(&["fix", "old.ipynb", "--ignore", "python-2-syntax"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn own_rules_are_found_by_the_configuration() {
    let place = Place::new();
    let rule = "[[rule]]\nid = \"MY001\"\nname = \"old-course\"\nsummary = \"course.load is course.read\"\n\
                library = \"numpy\"\nsince = \"1.0\"\nkind = \"renamed\"\nsafety = \"safe\"\nsource = \"ours\"\n\
                match = \"course.load($x)\"\nreplace = \"course.read($x)\"\nneeds = [\"import course\"]\n\
                setup = \"import course\"\nbefore = \"course.load(1)\"\nafter = \"course.read(1)\"\n\
                proof = \"none: not published\"\n";
    place.write("project/lint/course.toml", rule);
    place.write("project/mlem.toml", "rules = [\"lint\"]\nselect = [\"MY\"]\n");
    place.notebook("project/a/old.ipynb", &["import course\ncourse.load('x')"]);
    assert_eq!(rules(&place, &["project/a/old.ipynb"]), ["MY001"]);
    let sarif = place.mlem(&["check", "project", "--format", "sarif"]).stdout;
    assert!(sarif.contains("\"old-course\""), "{sarif}");
    assert_eq!(place.mlem(&["fix", "project"]).code, Some(0));
    let text = std::fs::read_to_string(place.path("project/a/old.ipynb")).unwrap();
    assert!(text.contains("course.read('x')"), "{text}");
    assert_eq!(rules(&place, &["project/a/old.ipynb", "--isolated", "--rules", "project/lint"]), [""; 0]);
    refused(
        &place.mlem(&["check", "project", "--isolated", "--select", "MY"]),
        "--select MY: there is no rule `MY`",
        "",
    );
    place.write("project/mlem.toml", "rules = [\"absent\"]\n");
    refused(&place.mlem(&["check", "project"]), "", "project/mlem.toml:1:10: `rules`: there is no folder");
}

#[test]
fn files_that_say_what_they_cannot_are_refused_with_place_and_way_out() {
    let place = Place::new();
    place.notebook("a/old.ipynb", &["x = 1"]);
    place.notebook("a/new.ipynb", &["x = 1"]);
    let said = |text: &str, part: &str| {
        place.write("mlem.toml", text);
        let ran = place.mlem(&["check", "a"]);
        refused(&ran, "", part);
        for command in ["fix", "modernize"] {
            refused(&place.mlem(&[command, "a"]), "", part);
        }
    };
    said("ignroe = []\n", "mlem.toml:1:1: unknown key `ignroe`; did you mean `ignore`?");
    said("\nselect = [\"PD01x\"]\n", "mlem.toml:2:11: there is no rule `PD01x`; did you mean PD01");
    said("[per-file-ignores]\n\"a[\" = [\"PD\"]\n", "mlem.toml:2:1: `a[` is no glob");
    said("[target]\nnumpy = \"new\"\n", "mlem.toml:2:9: `new` is not a version");
    said("exclude = [\n", "mlem.toml:");
    std::fs::remove_file(place.path("mlem.toml")).unwrap();
    refused(&place.mlem(&["check", "a", "--config", "absent.toml"]), "absent.toml: ", "");
    place.write("pyproject.toml", "[tool.mlem]\nselect = 3\n");
    refused(&place.mlem(&["check", "a"]), "", "pyproject.toml:2:10: `select` has to be a list of texts");
    assert_eq!(place.mlem(&["check", "a", "--config", "x", "--isolated"]).code, Some(2));
}
