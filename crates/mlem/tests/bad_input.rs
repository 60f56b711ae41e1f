//! Bad input ends in one clear message, the documented exit code, and nothing half-written.

#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use std::fs;

use serde_json::json;
use support::{Place, python};

/// The command fails with exit code 2 and one `error:` line that holds every one of `words`.
#[track_caller]
fn refused(place: &Place, arguments: &[&str], words: &[&str]) {
    let ran = place.mlem(arguments);
    assert_eq!(ran.code, Some(2), "stdout: {}\nstderr: {}", ran.stdout, ran.stderr);
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{}", ran.stderr);
    for word in words {
        assert!(errors[0].contains(word), "`{word}` is not in: {}", errors[0]);
    }
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

#[test]
fn files_that_are_no_notebook() {
    let place = Place::new();
    place.write("empty.ipynb", "");
    place.write("text.ipynb", "hello");
    place.write("list.ipynb", "[1, 2]");
    place.write("junk.ipynb", [0xff, 0xfe, 0x00, 0x41, 0x99]);
    place.write("cells.ipynb", r#"{"cells": 3, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#);
    refused(&place, &["check", "empty.ipynb"], &["empty.ipynb", "empty"]);
    refused(&place, &["check", "text.ipynb"], &["text.ipynb", "JSON"]);
    refused(&place, &["check", "list.ipynb"], &["list.ipynb"]);
    refused(&place, &["check", "junk.ipynb"], &["junk.ipynb"]);
    refused(&place, &["check", "cells.ipynb"], &["cells.ipynb", "cells"]);
    refused(&place, &["check", "absent.ipynb"], &["absent.ipynb", "no such file"]);
    fs::create_dir(place.path("nothing")).unwrap();
    refused(&place, &["check", "nothing"], &["nothing", "no notebook"]);
    refused(&place, &["modernize", "text.ipynb"], &["text.ipynb"]);
    assert!(!place.path("text.mlem").exists(), "nothing is made for what cannot be read");
}

#[test]
fn languages_and_notebooks_that_cannot_be_run() {
    let place = Place::new();
    let r = json!({"cells": [{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": "x <- 1"}],
        "metadata": {"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}}, "nbformat": 4, "nbformat_minor": 4});
    place.write("r.ipynb", r.to_string());
    refused(&place, &["modernize", "r.ipynb"], &["r.ipynb", "language is R"]);
    place.notebook("none.ipynb", &[]);
    refused(&place, &["run", "none.ipynb"], &["none.ipynb", "no code cells"]);
}

#[test]
fn interpreters_that_are_of_no_use() {
    let place = Place::new();
    place.notebook("a.ipynb", &["x = 1"]);
    refused(&place, &["run", "a.ipynb", "--python", "/bin/false"], &["/bin/false"]);
    refused(&place, &["run", "a.ipynb", "--python", "absent/python"], &["absent/python"]);
    let bare = std::process::Command::new(python())
        .args(["-m", "venv", "--without-pip"])
        .arg(place.path("bare"))
        .status()
        .unwrap();
    assert!(bare.success());
    refused(
        &place,
        &["run", "a.ipynb", "--python", "bare/bin/python"],
        &["ipykernel", "pip install ipykernel"],
    );
}

#[test]
fn folders_that_cannot_be_written_and_links_that_go_round() {
    let place = Place::new();
    place.notebook("a.ipynb", &["x = 1"]);
    place.write("taken", "a file where a folder is wanted");
    let python = python();
    let python = python.to_str().unwrap();
    refused(&place, &["run", "a.ipynb", "--python", python, "--out", "taken"], &["taken"]);
    assert_eq!(fs::read_to_string(place.path("taken")).unwrap(), "a file where a folder is wanted");
    #[cfg(unix)]
    {
        fs::create_dir(place.path("round")).unwrap();
        std::os::unix::fs::symlink(".", place.path("round/again")).unwrap();
        place.notebook("round/b.ipynb", &["x = 1"]);
        let ran = place.mlem(&["check", "round"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
}

#[test]
fn one_bad_input_does_not_stop_the_others() {
    let place = Place::new();
    place.write("bad.ipynb", "{");
    place.notebook("good.ipynb", &["import numpy as np\nnp.float(1)"]);
    let ran = place.mlem(&["fix", "absent.ipynb", "bad.ipynb", "good.ipynb"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("absent.ipynb: no such file"), "{}", ran.stderr);
    assert!(ran.stderr.contains("bad.ipynb"), "{}", ran.stderr);
    assert!(fs::read_to_string(place.path("good.ipynb")).unwrap().contains("float(1)"));
}

#[test]
fn the_input_is_never_the_result() {
    let place = Place::new();
    let path = place.notebook("own/a.ipynb", &["print 'old'"]);
    let before = fs::read(&path).unwrap();
    let python = python();
    let python = python.to_str().unwrap();
    refused(&place, &["modernize", "own/a.ipynb", "--python", python, "--out", "own"], &["own folder"]);
    refused(&place, &["run", "own/a.ipynb", "--python", python, "--out", "own"], &["own folder"]);
    assert_eq!(fs::read(&path).unwrap(), before);
    place.write("script.py", "x = 1\n");
    refused(&place, &["modernize", "script.py", "--python", python], &["script.py", "mlem fix"]);
}

#[test]
fn a_target_without_the_library_is_no_all_clear() {
    let place = Place::new();
    place.notebook("a.ipynb", &["import surely_not_installed\nimport os"]);
    let python = python();
    let ran = place.mlem(&["check", "a.ipynb", "--python", python.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.contains("`surely_not_installed` is not installed in the target"), "{}", ran.stdout);
}

#[test]
fn null_bytes_in_a_cell_are_source_like_any_other() {
    let place = Place::new();
    place.notebook("null.ipynb", &["x = 1\u{0}", "import numpy as np\nnp.float(1)"]);
    let ran = place.mlem(&["check", "null.ipynb"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
}

#[test]
fn a_list_of_requirements_of_random_bytes_is_refused_in_a_line() {
    let place = Place::new();
    place.notebook("a.ipynb", &["1"]);
    let bytes: Vec<u8> = (0..4000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    place.write("requirements.txt", bytes);
    let ran = place.mlem(&["run", "a.ipynb", "--requirements", "requirements.txt"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.stderr.trim(), "error: cannot read requirements.txt: not a text file");
}
