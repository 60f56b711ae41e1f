//! Environments built from the package index. Needs a network; run with `--features real-library`.
#![cfg(feature = "real-library")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use mlem_environment::{
    Confidence, Distribution, Environment, EnvironmentError, EnvironmentSpec, Interpreter, Probe,
    PythonChoice, Requirement, Step, Uv, Wanted, build, existing, install_missing,
};

/// A fresh cache that shares only the brought uv with the other tests.
fn fresh_cache() -> tempfile::TempDir {
    let cache = tempfile::tempdir().unwrap();
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tools");
    fs::create_dir_all(&tools).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&tools, cache.path().join("tools")).unwrap();
    cache
}

fn wanted(text: &str, required: bool) -> Wanted {
    Wanted { requirement: Requirement::parse(text).unwrap(), required }
}

fn spec(python: PythonChoice, list: &[Wanted]) -> EnvironmentSpec {
    EnvironmentSpec { python, wanted: list.to_vec() }
}

fn built(spec: &EnvironmentSpec, cache: &Path) -> (Environment, Vec<Step>) {
    let mut steps = Vec::new();
    let environment = build(spec, cache, &mut |step| steps.push(step)).unwrap();
    (environment, steps)
}

#[test]
fn an_environment_is_built_once_and_taken_from_the_cache() {
    let cache = fresh_cache();
    let spec =
        spec(PythonChoice::Newest, &[wanted("six", true), wanted("no-such-distribution-of-anyone", false)]);
    let (first, steps) = built(&spec, cache.path());
    assert!(first.has_ipykernel() && first.version_of("six").is_some());
    assert!(steps.iter().any(|step| matches!(step, Step::Installing(_))));
    assert_eq!(first.dropped.len(), 1);
    assert!(first.dropped[0].reason.contains("no-such-distribution-of-anyone"), "{:?}", first.dropped);
    assert!(first.passed_over.is_empty());
    let compiled = first.python.parent().unwrap().parent().unwrap().join("lib");
    let six =
        walk(&compiled).into_iter().find(|path| path.to_string_lossy().contains("six.cpython")).is_some();
    assert!(six, "bytecode is compiled");
    let start = Instant::now();
    let (second, steps) = built(&spec, cache.path());
    assert_eq!((&second.python, &second.packages), (&first.python, &first.packages));
    assert!(
        !steps.iter().any(|step| matches!(step, Step::Installing(_))),
        "built again after {:?}",
        start.elapsed()
    );

    // What a killed build left is built again; what is not ours is not touched.
    let folder = first.python.parent().unwrap().parent().unwrap().parent().unwrap().to_owned();
    fs::remove_file(folder.join("environment.json")).unwrap();
    let (third, steps) = built(&spec, cache.path());
    assert_eq!(third.packages, first.packages);
    assert!(steps.iter().any(|step| matches!(step, Step::Installing(_))));
    fs::remove_file(folder.join("environment.json")).unwrap();
    fs::remove_file(folder.join(".mlem-environment")).unwrap();
    assert!(matches!(build(&spec, cache.path(), &mut |_| {}), Err(EnvironmentError::InTheWay(_))));
    assert!(folder.join("venv").exists());
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn two_builds_of_the_same_environment_wait_for_each_other() {
    let cache = fresh_cache();
    let spec = spec(PythonChoice::Newest, &[wanted("six", true)]);
    let results: Vec<PathBuf> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3).map(|_| scope.spawn(|| built(&spec, cache.path()).0.python)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    assert!(results.iter().all(|python| *python == results[0]));
}

#[test]
fn a_missing_distribution_is_added_without_changing_the_others() {
    let cache = fresh_cache();
    let (before, _) = built(&spec(PythonChoice::Newest, &[wanted("packaging==24.0", true)]), cache.path());
    let after = install_missing(&before, &[Distribution::new("six")], cache.path(), &mut |_| {}).unwrap();
    assert!(after.version_of("six").is_some());
    for (name, version) in &before.packages {
        assert_eq!(after.version_of(name), Some(version.as_str()), "{name}");
    }
    assert_ne!(before.python, after.python);
    assert!(before.python.exists(), "the first one stays as it was");
    assert!(existing(&before.python).unwrap().version_of("six") == before.version_of("six"));
    // Something that cannot be had without a change is refused.
    let error = install_missing(
        &before,
        &[Distribution::new("no-such-distribution-of-anyone")],
        cache.path(),
        &mut |_| {},
    );
    assert!(matches!(error, Err(EnvironmentError::Unresolvable { .. })));
}

#[test]
fn pure_python_without_a_wheel_is_the_recorded_exception() {
    let cache = fresh_cache();
    let (environment, _) = built(&spec(PythonChoice::Newest, &[wanted("pydotplus", true)]), cache.path());
    assert!(environment.version_of("pydotplus").is_some());
    assert_eq!(environment.lock.unwrap().built_from_source, ["pydotplus"]);
}

#[test]
fn older_interpreters_are_tried_when_the_newest_has_no_wheel() {
    // numpy 1.21 has wheels for CPython 3.7 to 3.10 only.
    let old = Interpreter::discover()
        .iter()
        .any(|each| each.is_cpython() && [(3, 8), (3, 9), (3, 10)].contains(&each.minor()));
    let newest = Interpreter::discover().first().map(Interpreter::minor);
    assert!(old && newest > Some((3, 10)), "this test needs a CPython of 3.8 to 3.10 and a newer one");
    let cache = fresh_cache();
    let (environment, steps) =
        built(&spec(PythonChoice::Newest, &[wanted("numpy==1.21.6", true)]), cache.path());
    assert!(environment.version < (3, 11, 0), "{:?}", environment.version);
    assert!(!environment.passed_over.is_empty());
    assert!(environment.passed_over[0].reason.contains("numpy"), "{:?}", environment.passed_over);
    assert!(steps.iter().any(|step| matches!(step, Step::PassedOver(_))));
}

#[test]
fn what_cannot_be_had_is_named() {
    let cache = fresh_cache();
    let newest = Interpreter::discover()[0].clone();
    let spec = spec(PythonChoice::Path(newest.path), &[wanted("six", true), wanted("numpy==1.15.0", true)]);
    let error = build(&spec, cache.path(), &mut |_| {}).unwrap_err();
    let EnvironmentError::Unresolvable { what, reason, .. } = &error else { panic!("{error}") };
    assert_eq!(what, "numpy==1.15.0");
    assert!(reason.contains("--python"), "{reason}");
}

#[test]
fn uv_is_brought_when_it_is_absent() {
    let cache = tempfile::tempdir().unwrap();
    let uv = Uv::bring(cache.path(), &Interpreter::discover()).unwrap();
    assert!(uv.path.starts_with(cache.path()));
    assert!(uv.path.exists() && uv.version.starts_with(|c: char| c.is_ascii_digit()));
}

#[test]
fn vanished_names_of_a_real_library_are_found() {
    let cache = fresh_cache();
    let (environment, _) = built(&spec(PythonChoice::Newest, &[wanted("scikit-learn", true)]), cache.path());
    let mut probe = Probe::start(&environment).unwrap().with_cache(cache.path());
    for (name, near, expected) in [
        ("train_test_split", "sklearn.cross_validation", "sklearn.model_selection.train_test_split"),
        ("GridSearchCV", "sklearn.grid_search", "sklearn.model_selection.GridSearchCV"),
        ("comb", "scipy.misc", "scipy.special.comb"),
        ("logsumexp", "scipy.misc", "scipy.special.logsumexp"),
        ("make_blobs", "sklearn.datasets.samples_generator", "sklearn.datasets.make_blobs"),
        ("joblib", "sklearn.externals", "joblib"),
    ] {
        let homes = probe.where_now(name, Some(near));
        assert_eq!(
            homes.first().map(|home| (home.qualified.as_str(), home.confidence)),
            Some((expected, Confidence::Only))
        );
    }
    assert!(probe.lookup("numpy.float").error.unwrap().message.contains("deprecated alias"));
    assert_eq!(probe.lookup("scipy.misc.comb").exists, Some(false));
    assert_eq!(
        probe
            .lookup("sklearn.ensemble.RandomForestClassifier")
            .parameter("n_estimators")
            .unwrap()
            .default
            .as_deref(),
        Some("100")
    );
}
