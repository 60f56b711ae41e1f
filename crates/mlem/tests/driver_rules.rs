//! What the repair loop does around single fixes: dead ends, submissions, swallowed errors, platforms' idioms.

#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use std::fs;

use serde_json::{Value, json};
use support::{Place, python};

#[track_caller]
fn modernize(place: &Place, name: &str, more: &[&str]) -> (support::Ran, Value) {
    let python = python().to_string_lossy().into_owned();
    let mut arguments = vec!["modernize", name, "--python", &python, "--out", "out"];
    arguments.extend(more);
    let ran = place.mlem(&arguments);
    assert!(place.path("out/report.json").exists(), "{}{}", ran.stdout, ran.stderr);
    (ran, place.json("out/report.json"))
}

fn source(place: &Place, notebook: &str, cell: usize) -> String {
    place.json(&format!("out/{notebook}"))["cells"][cell]["source"].as_str().unwrap().to_owned()
}

#[test]
fn a_failing_import_that_is_used_does_not_keep_the_rest_from_repair() {
    let place = Place::new();
    place.notebook(
        "old.ipynb",
        &[
            "import gone_for_ever\nimport collections\nfrom IPython.utils.traitlets import Unicode",
            "model = gone_for_ever.Model()",
            "print(model.score)",
            "print(Unicode.__name__, collections.Mapping.__name__)",
        ],
    );
    let (ran, report) = modernize(&place, "old.ipynb", &[]);
    assert_eq!(ran.code, Some(2), "{report:#}");
    assert_eq!(report["verdict"], "environment-failure");
    assert_eq!(report["remaining_error"]["ename"], "ModuleNotFoundError", "{report:#}");
    assert_eq!(report["remaining_error"]["cell"], 0);
    assert_eq!(report["dead_ends"].as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!(
        report["not_run"],
        json!([
            {"cell": 1, "dead_end": 0, "names": ["gone_for_ever"]},
            {"cell": 2, "dead_end": 0, "names": ["model"]},
        ])
    );
    assert_eq!(
        source(&place, "old.ipynb", 0),
        "import collections\nfrom traitlets import Unicode\nimport gone_for_ever",
        "the import is moved, not removed"
    );
    assert!(source(&place, "old.ipynb", 3).contains("collections.abc.Mapping"), "{report:#}");
    assert!(!source(&place, "old.ipynb", 0).contains("try"));
}

#[test]
fn every_dead_end_is_reported_and_what_does_not_need_it_is_repaired() {
    let place = Place::new();
    place.notebook(
        "old.ipynb",
        &[
            "value = {}['first']",
            "print(value)",
            "raise ValueError('second')",
            "old = '../input/weights-of-someone/a.bin'\ndata = open(old)",
            "import os\nfrom IPython.utils.traitlets import Unicode\nprint(Unicode.__name__)",
        ],
    );
    let (ran, report) = modernize(&place, "old.ipynb", &[]);
    assert_eq!(ran.code, Some(1));
    let ends: Vec<(&Value, &Value)> = report["dead_ends"]
        .as_array()
        .unwrap()
        .iter()
        .map(|end| (&end["error"]["cell"], &end["verdict"]))
        .collect();
    assert_eq!(
        ends,
        [(&json!(0), &json!("error")), (&json!(2), &json!("error")), (&json!(3), &json!("missing-input"))],
        "{report:#}"
    );
    assert_eq!(report["remaining_error"]["evalue"], "'first'");
    assert_eq!(report["verdict"], "error");
    assert!(report["reason"].as_str().unwrap().contains("2 more dead ends; 1 cell not run"), "{report:#}");
    assert_eq!(
        source(&place, "old.ipynb", 4),
        "import os\nfrom traitlets import Unicode\nprint(Unicode.__name__)"
    );
    let page = fs::read_to_string(place.path("out/report.md")).unwrap();
    assert!(page.contains("- cell 1 was not run: cell 0 fails, and it needs `value`"), "{page}");
}

#[test]
fn two_failing_imports_of_one_cell_are_both_named() {
    let place = Place::new();
    place.notebook(
        "old.ipynb",
        &["import gone_a\nimport gone_b\nimport os", "print(os.sep)", "gone_a.f(gone_b)"],
    );
    let (_, report) = modernize(&place, "old.ipynb", &[]);
    let names: Vec<&str> = report["dead_ends"]
        .as_array()
        .unwrap()
        .iter()
        .map(|end| end["error"]["evalue"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["No module named 'gone_b'", "No module named 'gone_a'"], "{report:#}");
    assert_eq!(source(&place, "old.ipynb", 0), "import os\nimport gone_b\nimport gone_a");
    assert_eq!(report["not_run"][0]["cell"], 2);
}

#[test]
fn a_submission_written_without_a_suffix_gets_one() {
    let place = Place::new();
    place.write("input/sample_submission.csv", "Id,y\n1,0\n");
    let table =
        "class Table:\n    def to_csv(self, name):\n        open(name, 'w').write('Id,y\\n1,5\\n2,6\\n')";
    place.notebook(
        "old.ipynb",
        &[table, "Table().to_csv('answer')", "open('scores.csv', 'w').write('model,score\\na,1\\n')"],
    );
    let (ran, report) = modernize(&place, "old.ipynb", &["--data", "input"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(source(&place, "old.ipynb", 1), "Table().to_csv('answer.csv')");
    let edit = &report["edits"][0];
    assert_eq!((&edit["source"], &edit["cell"]), (&json!("path"), &json!(1)), "{report:#}");
    assert!(
        edit["evidence"].as_str().unwrap().contains("its columns equal those of `sample_submission.csv`"),
        "{edit:#}"
    );
    let tables: Vec<(&Value, bool)> = report["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| (&table["path"], table["submission"].is_string()))
        .collect();
    assert_eq!(tables, [(&json!("answer.csv"), true), (&json!("scores.csv"), false)]);
    let mut files: Vec<_> = fs::read_dir(place.path("out/files"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["answer.csv", "scores.csv"], "nothing else is written");
}

#[test]
fn a_table_that_is_no_submission_keeps_its_name() {
    let place = Place::new();
    place.notebook("old.ipynb", &["open('log', 'w').write('a,b\\n1,5\\n2,6\\n')"]);
    let (ran, report) = modernize(&place, "old.ipynb", &[]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(report["edits"], json!([]));
}

#[test]
fn a_rule_reaches_what_an_except_swallows() {
    let place = Place::new();
    place.notebook(
        "old.ipynb",
        &[
            "import json\ncounts = json.loads('{\"a\": 1}')",
            "total = 0\ntry:\n    for key, value in counts.iteritems():\n        total += value\nexcept:\n    pass\nprint(total)",
        ],
    );
    let (ran, report) = modernize(&place, "old.ipynb", &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(source(&place, "old.ipynb", 1).contains("in counts.items():"), "{report:#}");
    assert_eq!(report["edits"][0]["rule"], "PY016");
    assert!(report["edits"][0]["evidence"].as_str().unwrap().contains("swallows"), "{report:#}");
    let outputs = &place.json("out/old.ipynb")["cells"][1]["outputs"];
    assert_eq!(outputs[0]["text"], json!(["1\n"]));
}

#[test]
fn kaggles_buckets_and_tpus_give_way_to_folders_and_the_default_strategy() {
    let place = Place::new();
    place.write("input/flowers/a.txt", "rose");
    // The names that the notebook uses of TensorFlow, which behaves so without a TPU.
    place.write(
        "tensorflow.py",
        "class distribute:\n    class cluster_resolver:\n        @staticmethod\n        def TPUClusterResolver():\n            \
         raise ValueError('Please provide a TPU Name to connect to.')\n    @staticmethod\n    def get_strategy():\n        \
         return 'default'\n",
    );
    place.notebook(
        "old.ipynb",
        &[
            "import tensorflow as tf\nfrom kaggle_datasets import KaggleDatasets",
            "tpu = tf.distribute.cluster_resolver.TPUClusterResolver()\ntf.config.experimental_connect_to_cluster(tpu)",
            "strategy = tf.distribute.experimental.TPUStrategy(tpu)\nprint(strategy)",
            "path = KaggleDatasets().get_gcs_path('flowers')\nprint(open(path + '/a.txt').read())",
        ],
    );
    let (ran, report) = modernize(&place, "old.ipynb", &["--data", "input"]);
    assert_eq!(ran.code, Some(0), "{}{} {report:#}", ran.stdout, ran.stderr);
    assert_eq!(
        source(&place, "old.ipynb", 1),
        "tpu = None\n# tf.config.experimental_connect_to_cluster(tpu)"
    );
    assert_eq!(source(&place, "old.ipynb", 2), "strategy = tf.distribute.get_strategy()\nprint(strategy)");
    assert_eq!(source(&place, "old.ipynb", 3), "path = 'input/flowers'\nprint(open(path + '/a.txt').read())");
}

#[test]
fn of_a_repeated_argument_the_last_stays_and_is_called_unsafe() {
    let place = Place::new();
    place.notebook("old.ipynb", &["def f(a, b):\n    return a + b\nprint(f(a=1, b=2, a=3))"]);
    let (ran, report) = modernize(&place, "old.ipynb", &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(source(&place, "old.ipynb", 0), "def f(a, b):\n    return a + b\nprint(f(b=2, a=3))");
    assert_eq!(report["edits"][0]["safety"], "unsafe", "{report:#}");
}

#[test]
fn a_stand_in_takes_the_place_of_a_module_that_cannot_be_had() {
    let place = Place::new();
    place.notebook(
        "old.ipynb",
        &[
            "from pandarallel import pandarallel\npandarallel.initialize()",
            "class Series:\n    def apply(self, f):\n        return f(2)\nprint(Series().parallel_apply(lambda x: x + 1))",
        ],
    );
    let (ran, report) = modernize(&place, "old.ipynb", &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        source(&place, "old.ipynb", 0),
        "# from pandarallel import pandarallel\n# pandarallel.initialize()"
    );
    assert!(source(&place, "old.ipynb", 1).ends_with("Series().apply(lambda x: x + 1))"));
    assert!(report["edits"][0]["reason"].as_str().unwrap().contains("in one process"), "{report:#}");
}

#[test]
fn an_archive_without_folders_is_unpacked_where_the_notebook_reads() {
    let place = Place::new();
    place.notebook(
        "old.ipynb",
        &[
            "import os, zipfile\nwith zipfile.ZipFile('t.zip', 'w') as archive:\n    archive.writestr('1.txt', 'one')\n    archive.writestr('2.txt', 'two')",
            "zipfile.ZipFile('t.zip').extractall('data')",
            "print(sorted(os.listdir('data/train')))",
        ],
    );
    let (ran, report) = modernize(&place, "old.ipynb", &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        source(&place, "old.ipynb", 1),
        "zipfile.ZipFile('t.zip').extractall('data/train')",
        "{report:#}"
    );
    let outputs = &place.json("out/old.ipynb")["cells"][2]["outputs"];
    assert_eq!(outputs[0]["text"], json!(["['1.txt', '2.txt']\n"]));
}

#[test]
fn a_list_of_names_is_narrowed_to_files_where_a_folder_is_opened() {
    let place = Place::new();
    place.write("texts/1.txt", "one");
    place.write("texts/more/2.txt", "two");
    place.write("other/3.txt", "three");
    place.notebook(
        "old.ipynb",
        &[
            "import os\nprint(len(os.listdir('other')))\nbase = 'texts'\nnames = os.listdir(base)",
            "for name in names:\n    print(open(os.path.join(base, name)).read())",
        ],
    );
    let (ran, _) = modernize(&place, "old.ipynb", &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(
        source(&place, "old.ipynb", 0).ends_with(
            "names = [name for name in os.listdir(base) if os.path.isfile(os.path.join(base, name))]"
        ),
        "{}",
        source(&place, "old.ipynb", 0)
    );
    assert!(source(&place, "old.ipynb", 0).contains("len(os.listdir('other'))"), "another list stays");
}

/// On the real libraries, whose messages these fixes read.
#[test]
#[cfg(feature = "real-library")]
fn literal_sizes_and_archives_of_several_tables_give_way_to_the_data() {
    let place = Place::new();
    place.notebook(
        "old.ipynb",
        &[
            "import numpy as np\nprint(np.arange(12).reshape(9, 2, 2).shape)",
            "import zipfile\nwith zipfile.ZipFile('t.csv.zip', 'w') as archive:\n    archive.writestr('a.csv', 'a\\n1\\n')\n    archive.writestr('t.csv', 'b\\n2\\n')",
            "import pandas as pd\nprint(list(pd.read_csv('t.csv.zip').columns))",
        ],
    );
    let python = std::env::var("MLEM_REAL_PYTHON").expect("MLEM_REAL_PYTHON must name a Python with pandas");
    let ran = place.mlem(&["modernize", "old.ipynb", "--python", &python, "--out", "out"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(source(&place, "old.ipynb", 0).ends_with("reshape(-1, 2, 2).shape)"));
    assert_eq!(place.json("out/old.ipynb")["cells"][2]["outputs"][0]["text"], json!(["['b']\n"]));
}

#[test]
#[cfg(unix)]
fn two_libraries_that_do_not_fit_together_are_both_named() {
    let place = Place::new();
    // A virtual environment whose imbalanced-learn asks for a part that its scikit-learn does not have.
    let made = std::process::Command::new(python())
        .args(["-m", "venv", "--without-pip", "--system-site-packages"])
        .arg(place.path("venv"))
        .status();
    assert!(made.unwrap().success());
    let library = fs::read_dir(place.path("venv/lib")).unwrap().next().unwrap().unwrap().path();
    let packages = library.join("site-packages");
    let site = python().parent().unwrap().parent().unwrap().join("lib").join(library.file_name().unwrap());
    fs::write(packages.join("base.pth"), site.join("site-packages").to_str().unwrap()).unwrap();
    for (module, text, distribution, version) in [
        ("sklearn", "", "scikit_learn", "1.2.2"),
        ("imblearn", "from sklearn.utils._metadata_requests import x", "imbalanced_learn", "0.12.0"),
    ] {
        fs::create_dir(packages.join(module)).unwrap();
        fs::write(packages.join(module).join("__init__.py"), text).unwrap();
        let record = packages.join(format!("{distribution}-{version}.dist-info"));
        fs::create_dir(&record).unwrap();
        let metadata = format!("Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n");
        fs::write(record.join("METADATA"), metadata).unwrap();
    }
    fs::create_dir(packages.join("sklearn/utils")).unwrap();
    fs::write(packages.join("sklearn/utils/__init__.py"), "").unwrap();
    place.notebook("old.ipynb", &["import imblearn\nprint(imblearn)"]);
    let ran = place.mlem(&["modernize", "old.ipynb", "--python", "venv/bin/python", "--out", "out"]);
    let report = place.json("out/report.json");
    assert_eq!(report["verdict"], "environment-failure", "{}{} {report:#}", ran.stdout, ran.stderr);
    let reason = report["reason"].as_str().unwrap();
    assert!(reason.contains("imbalanced-learn 0.12.0") && reason.contains("scikit-learn 1.2.2"), "{reason}");
}
