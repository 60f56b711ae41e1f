//! `mlem run` and `mlem modernize` on real kernels, driven as a user does.

#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use std::fs;
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Place, printed, python, ran};

fn with_python(arguments: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    all.extend(["--python".to_owned(), python().to_string_lossy().into_owned()]);
    all
}

#[track_caller]
fn mlem(place: &Place, arguments: &[&str]) -> support::Ran {
    let all = with_python(arguments);
    place.mlem(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_run_keeps_outputs_times_and_tables() {
    let place = Place::new();
    place.write("sample_submission.csv", "Id,y\n1,0\n");
    place.notebook(
        "a.ipynb",
        &[
            "print('one')\n2",
            "",
            "open('submission.csv', 'w').write('Id,y\\n1,5\\n')\nopen('notes.txt', 'w').write('x')",
        ],
    );
    let before = fs::read_to_string(place.path("a.ipynb")).unwrap();
    let ran = mlem(&place, &["run", "a.ipynb", "--out", "out"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("out/report.json");
    assert_eq!(report["verdict"], "runs");
    let statuses: Vec<&Value> =
        report["cells"].as_array().unwrap().iter().map(|cell| &cell["status"]).collect();
    assert_eq!(statuses, ["ok", "ok"]);
    assert_eq!(report["tables"][0]["path"], "submission.csv");
    assert_eq!(report["tables"][0]["submission"], "its columns equal those of `sample_submission.csv`");
    assert_eq!(report["tables"][0]["partial"], false);
    let executed = place.json("out/a.ipynb");
    assert_eq!(executed["cells"][0]["outputs"][0]["text"], json!(["one\n"]));
    assert_eq!(fs::read_to_string(place.path("out/files/submission.csv")).unwrap(), "Id,y\n1,5\n");
    assert_eq!(fs::read_to_string(place.path("a.ipynb")).unwrap(), before, "the input is never written");
    assert!(!place.path("submission.csv").exists(), "the run works on a copy");
}

#[test]
fn a_huge_table_is_named_but_not_copied() {
    let place = Place::new();
    // A file with a hole takes no room on the disk.
    place.notebook(
        "a.ipynb",
        &["with open('huge.csv', 'w') as f:\n    f.write('a,b\\n')\n    f.truncate(257 << 20)\nopen('small.csv', 'w').write('a,b\\n1,2\\n')"],
    );
    let ran = mlem(&place, &["run", "a.ipynb", "--out", "out"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("out/report.json");
    let (huge, small) = (&report["tables"][0], &report["tables"][1]);
    assert_eq!((&huge["path"], &huge["bytes"]), (&json!("huge.csv"), &json!(257u64 << 20)));
    assert_eq!(huge["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(small["sha256"], Value::Null);
    assert!(!place.path("out/files/huge.csv").exists() && place.path("out/files/small.csv").exists());
    let notes = report["notes"].to_string();
    assert!(notes.contains("`huge.csv` has 257 MiB and is not copied"), "{notes}");
}

#[test]
fn a_run_stops_at_the_first_error_or_goes_on() {
    let place = Place::new();
    place.notebook("a.ipynb", &["def f():\n    return 1/0", "f()", "nowhere", "print('end')"]);
    let ran = mlem(&place, &["run", "a.ipynb", "--out", "first"]);
    assert_eq!(ran.code, Some(1));
    let report = place.json("first/report.json");
    assert_eq!(report["cells"].as_array().unwrap().len(), 2);
    let error = &report["errors"][0];
    assert_eq!(
        (&error["cell"], &error["line"], &error["ename"]),
        (&json!(1), &json!(2), &json!("ZeroDivisionError"))
    );
    let ran = mlem(&place, &["run", "a.ipynb", "--out", "all", "--allow-errors"]);
    assert_eq!(ran.code, Some(1));
    let report = place.json("all/report.json");
    assert_eq!(report["errors"].as_array().unwrap().len(), 2);
    assert_eq!(report["cells"][3]["status"], "ok");
}

#[test]
fn scripts_run_as_scripts() {
    let place = Place::new();
    place.write("good.py", "print(__name__)\nopen('t.csv', 'w').write('a,b\\n1,2\\n')\n");
    place.write("bad.py", "import sys\nsys.exit(3)\n");
    let ran = mlem(&place, &["run", "good.py", "--out", "good"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(place.path("good/kernel.log")).unwrap(), "__main__\n");
    assert_eq!(place.json("good/report.json")["tables"][0]["path"], "t.csv");
    let ran = mlem(&place, &["run", "bad.py", "--out", "bad"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(place.json("bad/report.json")["exit"], "exited with code 3");
}

#[test]
fn keys_and_network_are_out_of_reach() {
    let place = Place::new();
    place.notebook("a.ipynb", &[
        "import os\nprint([name for name in os.environ if 'KEY' in name or 'TOKEN' in name])",
        "import socket\ntry:\n    socket.create_connection(('192.0.2.1', 80), timeout=2)\n    print('open')\nexcept OSError:\n    print('closed')",
    ]);
    let arguments = with_python(&["run", "a.ipynb", "--out", "out"]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output =
        place.command(&arguments).env("OPENAI_API_KEY", "secret").env("HF_TOKEN", "secret").output().unwrap();
    let ran = ran(output);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let executed = place.json("out/a.ipynb");
    assert_eq!(executed["cells"][0]["outputs"][0]["text"], json!(["[]\n"]));
    assert_eq!(executed["cells"][1]["outputs"][0]["text"], json!(["closed\n"]));
}

#[test]
fn a_cell_over_its_time_and_a_dead_kernel_are_told_apart() {
    let place = Place::new();
    place.notebook("slow.ipynb", &["while True: pass"]);
    let ran = mlem(&place, &["run", "slow.ipynb", "--out", "slow", "--cell-timeout", "1"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(place.json("slow/report.json")["verdict"], "timeout");
    place.notebook("dead.ipynb", &["open('half.csv', 'w').write('a,b\\n1,2\\n')\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)"]);
    let ran = mlem(&place, &["run", "dead.ipynb", "--out", "dead"]);
    assert_eq!(ran.code, Some(1));
    let report = place.json("dead/report.json");
    assert_eq!(report["cells"][0]["status"], "died");
    assert_eq!(report["exit"], "killed by SIGKILL");
    assert_eq!(report["tables"][0]["partial"], true);
}

#[test]
fn a_python_2_notebook_comes_back_with_its_numbers() {
    let place = Place::new();
    place.notebook_with_outputs(
        "old.ipynb",
        &[
            ("total = 0\nfor i in xrange(4):\n    total += i\nprint 'total', total", printed("total 6\n")),
            (
                "counts = {'a': 1}\nfor key, value in counts.iteritems():\n    print key, value",
                printed("a 1\n"),
            ),
        ],
    );
    let ran = mlem(&place, &["modernize", "old.ipynb"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("old.mlem/report.json");
    assert_eq!(report["verdict"], "equivalent", "{report:#}");
    assert_eq!(report["cells_executed"]["proof"], 2);
    assert!(report["edits"].as_array().unwrap().iter().all(|edit| edit["source"] == "rule"));
    assert_eq!(report["first_error_before"], Value::Null);
    let prevented: Vec<(&Value, &Value, &Value)> = report["prevented_errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| (&error["cell"], &error["line"], &error["rule"]))
        .collect();
    assert_eq!(
        prevented,
        [
            (&json!(0), &json!(2), &json!("PY001")),
            (&json!(0), &json!(4), &json!("PY2")),
            (&json!(1), &json!(2), &json!("PY016")),
            (&json!(1), &json!(3), &json!("PY2")),
        ],
        "{report:#}"
    );
    assert!(report["prevented_errors"][0]["error"].as_str().unwrap().contains("xrange"));
    let page = fs::read_to_string(place.path("old.mlem/report.md")).unwrap();
    assert!(page.contains("**equivalent**"), "{page}");
    let diff = fs::read_to_string(place.path("old.mlem/changes.diff")).unwrap();
    assert!(diff.contains("-print 'total', total\n"), "{diff}");
    assert!(diff.contains("+print('total', total)\n"), "{diff}");
}

#[test]
fn a_vanished_name_is_found_where_it_lives_now() {
    let place = Place::new();
    place.notebook("old.ipynb", &["from IPython.utils.traitlets import Unicode\nprint(Unicode.__name__)"]);
    let ran = mlem(&place, &["modernize", "old.ipynb"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("old.mlem/report.json");
    let edit = &report["edits"][0];
    assert!(edit["source"] == "where-now" || edit["source"] == "rule", "{edit}");
    assert_eq!(edit["after"].as_str().unwrap().trim_end(), "from traitlets import Unicode");
}

#[test]
fn an_unused_import_that_fails_is_taken_out() {
    let place = Place::new();
    place.notebook("old.ipynb", &["import os\nimport not_a_module_of_anyone\nprint(os.sep)"]);
    let ran = mlem(&place, &["modernize", "old.ipynb"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let modern = place.json("old.mlem/old.ipynb");
    assert_eq!(modern["cells"][0]["source"], "import os\n# import not_a_module_of_anyone\nprint(os.sep)");
}

#[test]
fn data_is_found_under_the_named_folder_or_reported_missing() {
    let place = Place::new();
    place.write("elsewhere/titanic/train.csv", "a,b\n1,2\n");
    place.notebook("old.ipynb", &["BASE = '../input/titanic/'\nprint(open(BASE + 'train.csv').read())"]);
    let ran = mlem(&place, &["modernize", "old.ipynb", "--data", "elsewhere"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("old.mlem/report.json");
    assert_eq!(report["edits"][0]["source"], "path");
    assert_eq!(report["edits"][0]["after"], "BASE = 'elsewhere/titanic/'\n");

    place.notebook("lost.ipynb", &["open('/kaggle/input/my-weights/model.h5')"]);
    let ran = mlem(&place, &["modernize", "lost.ipynb"]);
    assert_eq!(ran.code, Some(1));
    let report = place.json("lost.mlem/report.json");
    assert_eq!(report["verdict"], "missing-input");
    assert!(report["reason"].as_str().unwrap().contains("`my-weights`"), "{report:#}");
}

#[test]
fn colab_and_unpacked_archives_lead_to_the_files() {
    let place = Place::new();
    place.write("input/a.csv", "x\n1\n");
    place.notebook(
        "colab.ipynb",
        &[
            "!pip install something\nfrom google.colab import drive, files\ndrive.mount('/content/drive')",
            "print(open('/content/drive/My Drive/a.csv').read())",
            "uploaded = files.upload()\nprint(sorted(uploaded))",
        ],
    );
    let ran = mlem(&place, &["modernize", "colab.ipynb", "--data", "input"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let modern = place.json("colab.mlem/colab.ipynb");
    assert_eq!(modern["cells"][2]["outputs"][0]["text"], json!(["['a.csv']\n"]));

    place.notebook("zip.ipynb", &[
        "import zipfile\nwith zipfile.ZipFile('t.zip', 'w') as archive:\n    archive.writestr('train/train/1.txt', 'one')\nzipfile.ZipFile('t.zip').extractall('.')",
        "print(open('train/1.txt').read())",
    ]);
    let ran = mlem(&place, &["modernize", "zip.ipynb"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        place.json("zip.mlem/zip.ipynb")["cells"][1]["source"],
        "print(open('train/train/1.txt').read())"
    );
}

#[test]
fn in_place_keeps_a_backup_and_failure_changes_nothing() {
    let place = Place::new();
    place.notebook("old.ipynb", &["import helper\nprint helper.go()"]);
    place.write("helper.py", "def go():\n    return sum(xrange(3))\n");
    let before = fs::read_to_string(place.path("old.ipynb")).unwrap();
    let ran = mlem(&place, &["modernize", "old.ipynb", "--in-place"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(place.json("old.ipynb")["cells"][0]["source"], "import helper\nprint(helper.go())");
    assert_eq!(fs::read_to_string(place.path("helper.py")).unwrap(), "def go():\n    return sum(range(3))\n");
    assert_eq!(fs::read_to_string(place.path("old.mlem/backup/old.ipynb")).unwrap(), before);

    assert_eq!(mlem(&place, &["modernize", "old.ipynb", "--in-place"]).code, Some(0));
    assert_eq!(
        fs::read_to_string(place.path("old.mlem/backup/old.ipynb")).unwrap(),
        before,
        "a second run does not replace the first backup"
    );

    place.notebook("bad.ipynb", &["raise KeyError('mine')"]);
    let before = fs::read_to_string(place.path("bad.ipynb")).unwrap();
    assert_eq!(mlem(&place, &["modernize", "bad.ipynb", "--in-place"]).code, Some(1));
    assert_eq!(fs::read_to_string(place.path("bad.ipynb")).unwrap(), before);
}

#[test]
fn wanting_memory_and_time_are_called_so() {
    let place = Place::new();
    place.notebook("hog.ipynb", &["x = bytearray(3 << 30)"]);
    let ran = mlem(&place, &["modernize", "hog.ipynb", "--memory", "1000"]);
    assert_eq!(ran.code, Some(1));
    let report = place.json("hog.mlem/report.json");
    assert_eq!(report["verdict"], "out-of-memory");
    assert!(report["reason"].as_str().unwrap().contains("--memory"), "{report:#}");
    place.notebook("long.ipynb", &["import time\ntime.sleep(2)", "time.sleep(2)"]);
    let ran = mlem(&place, &["modernize", "long.ipynb", "--timeout", "3"]);
    assert_eq!(ran.code, Some(1));
    let report = place.json("long.mlem/report.json");
    assert_eq!(report["verdict"], "timeout");
    assert!(report["reason"].as_str().unwrap().contains("--timeout"), "{report:#}");
}

#[test]
fn cells_that_may_fail_may_fail() {
    let place = Place::new();
    let stored = json!([{"output_type": "error", "ename": "ZeroDivisionError", "evalue": "division by zero", "traceback": []}]);
    place.notebook_with_outputs("a.ipynb", &[("1/0", stored), ("print('on')", printed("on\n"))]);
    let ran = mlem(&place, &["modernize", "a.ipynb"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
#[cfg(target_os = "linux")]
fn ctrl_c_leaves_no_kernel_and_a_killed_job_is_taken_up_again() {
    let place = Place::new();
    let (pid, go) = (place.path("pid"), place.path("go"));
    let waiting = format!(
        "import os, time\nopen({:?}, 'w').write(str(os.getpid()))\nwhile not os.path.exists({:?}):\n    time.sleep(0.05)",
        pid.display().to_string(),
        go.display().to_string()
    );
    place.notebook("slow.ipynb", &["import not_a_module_of_anyone\nprint 'lifted'", &waiting]);
    let arguments = with_python(&["modernize", "slow.ipynb", "--workspace", "ws"]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    for signal in ["INT", "KILL"] {
        let mut child = place.command(&arguments).spawn().unwrap();
        wait_until(|| fs::read_to_string(&pid).is_ok_and(|text| !text.is_empty()));
        let kernel = format!("/proc/{}", fs::read_to_string(&pid).unwrap());
        assert!(fs::exists(&kernel).unwrap(), "the kernel is running");
        let status = std::process::Command::new("kill")
            .args([&format!("-{signal}"), &child.id().to_string()])
            .status();
        assert!(status.unwrap().success());
        let ended = child.wait().unwrap();
        if signal == "INT" {
            assert_eq!(ended.code(), Some(130));
        }
        wait_until(|| !fs::exists(&kernel).unwrap());
        assert!(!place.path("slow.mlem/report.json").exists(), "nothing half-written");
        fs::remove_file(&pid).unwrap();
    }
    fs::write(&go, "").unwrap();
    let ran = place.mlem(&arguments);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("slow.mlem/report.json");
    assert!(ran.stderr.contains("going on with an interrupted run, 1 live change kept"), "{}", ran.stderr);
    let edits = report["edits"].as_array().unwrap();
    assert_eq!(edits.len(), 2, "{report:#}");
    assert_eq!((&edits[0]["rule"], &edits[1]["source"]), (&json!("PY2"), &json!("environment")));
    assert_eq!(edits[1]["reason"], "made before the run was interrupted");
}

#[cfg(target_os = "linux")]
fn wait_until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "waited a minute in vain");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn modernize_leaves_what_comments_and_settings_silence() {
    let place = Place::new();
    let silenced = "try:\n    a = collections.Mapping  # mlem: ignore\nexcept AttributeError:\n    a = None";
    place.notebook("a.ipynb", &["import collections", silenced, "b = collections.Mapping"]);
    let ran = mlem(&place, &["modernize", "a.ipynb", "--out", "out"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let cells = place.json("out/a.ipynb")["cells"].clone();
    assert_eq!(cells[1]["source"], silenced);
    assert!(cells[2]["source"].as_str().unwrap().contains("collections.abc"), "{cells}");
    let report = place.json("out/report.json");
    assert!(report["edits"].as_array().unwrap().iter().all(|edit| edit["cell"] != 1), "{report}");

    place.write("mlem.toml", "ignore = [\"collections-abc\"]\n");
    let ran = mlem(&place, &["modernize", "a.ipynb", "--out", "unwanted"]);
    assert!(ran.code == Some(0) || ran.code == Some(1), "{}{}", ran.stdout, ran.stderr);
    let edits = place.json("unwanted/report.json")["edits"].clone();
    assert!(edits.as_array().unwrap().iter().all(|edit| edit["rule"] != "PY051"), "{edits}");
}
