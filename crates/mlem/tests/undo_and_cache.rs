//! `mlem undo` and `mlem cache prune`, driven as a user does.

#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use std::fs;

use support::{Place, python};

fn in_place(place: &Place) {
    let python = python().to_string_lossy().into_owned();
    let ran = place.mlem(&["modernize", "course/old.ipynb", "--python", &python, "--in-place"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

/// A notebook with a helper module that both change.
fn old(place: &Place) -> (String, String) {
    place.notebook("course/old.ipynb", &["import helper\nprint helper.go()"]);
    place.write("course/helper.py", "def go():\n    return sum(xrange(3))\n");
    let read = |name: &str| fs::read_to_string(place.path(name)).unwrap();
    (read("course/old.ipynb"), read("course/helper.py"))
}

#[test]
fn undo_restores_every_replaced_file_and_only_once() {
    let place = Place::new();
    let (notebook, helper) = old(&place);
    in_place(&place);
    assert_ne!(fs::read_to_string(place.path("course/old.ipynb")).unwrap(), notebook);
    // The tree may be moved in between.
    fs::rename(place.path("course"), place.path("moved")).unwrap();
    let ran = place.mlem(&["undo", "moved/old.ipynb"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(place.path("moved/old.ipynb")).unwrap(), notebook);
    assert_eq!(fs::read_to_string(place.path("moved/helper.py")).unwrap(), helper);
    let ran = place.mlem(&["undo", "moved/old.ipynb"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("nothing to undo"), "{}", ran.stderr);
}

#[test]
fn undo_refuses_when_a_file_was_edited_since() {
    let place = Place::new();
    old(&place);
    in_place(&place);
    let modern = fs::read_to_string(place.path("course/old.ipynb")).unwrap();
    place.write("course/helper.py", "def go():\n    return 7\n");
    let ran = place.mlem(&["undo", "course/old.ipynb"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("helper.py: edited since it was replaced"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(place.path("course/old.ipynb")).unwrap(), modern, "all or nothing");
    assert_eq!(fs::read_to_string(place.path("course/helper.py")).unwrap(), "def go():\n    return 7\n");
    fs::write(place.path("course/old.mlem/backup/helper.py"), "x").unwrap();
    let ran = place.mlem(&["undo", "course/old.ipynb"]);
    assert!(ran.stderr.contains("the backup is damaged"), "{}", ran.stderr);
}

/// A folder as the build of an environment leaves it, around the interpreter of the tests.
#[cfg(unix)]
fn environment(place: &Place, key: &str) -> String {
    place.write(&format!("cache/environments/{key}/.mlem-environment"), "");
    let venv = python().parent().unwrap().parent().unwrap().to_owned();
    std::os::unix::fs::symlink(venv, place.path(&format!("cache/environments/{key}/venv"))).unwrap();
    format!("cache/environments/{key}/venv/bin/python")
}

#[test]
#[cfg(unix)]
fn prune_removes_what_mlem_built_and_nothing_uses() {
    let place = Place::new();
    let used = environment(&place, "used");
    environment(&place, "idle");
    place.write("cache/environments/mine/notes.txt", "not of mlem");
    place.write("cache/tools/x", "");
    let go = place.path("go");
    let running = place.path("running");
    place.notebook(
        "a.ipynb",
        &[&format!(
            "import os, time\nopen({:?}, 'w').close()\nwhile not os.path.exists({:?}):\n    time.sleep(0.05)",
            running.display().to_string(),
            go.display().to_string()
        )],
    );
    let mut child = place.command(&["run", "a.ipynb", "--python", &used, "--out", "out"]).spawn().unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !running.exists() {
        assert!(std::time::Instant::now() < deadline, "the kernel did not start");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let exists = |name: &str| place.path(&format!("cache/environments/{name}")).exists();

    let told = place.mlem(&["cache", "prune", "--dry-run", "--format", "json"]);
    let told: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(told["removed"].as_array().unwrap().len(), 1, "{told:#}");
    assert!(told["in_use"][0].as_str().unwrap().ends_with("used"));
    assert!(exists("idle"), "a dry run removes nothing");

    let recent = place.mlem(&["cache", "prune", "--older-than", "1"]);
    assert!(
        recent.stdout.contains("0 environments removed (0.0 MiB), 1 in use, 1 used too recently"),
        "{}",
        recent.stdout
    );
    assert!(exists("idle"));

    let ran = place.mlem(&["cache", "prune"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!exists("idle") && exists("used") && exists("mine") && place.path("cache/tools/x").exists());

    fs::write(&go, "").unwrap();
    assert!(child.wait().unwrap().success());
    place.mlem(&["cache", "prune"]);
    assert!(!exists("used") && exists("mine"));
    assert!(python().exists(), "links are not followed");
}
