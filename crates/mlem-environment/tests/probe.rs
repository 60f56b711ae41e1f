//! The probe against a real interpreter, `MLEM_TEST_PYTHON`: one that has ipykernel. Needs no network.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mlem_environment::{
    Confidence, Environment, EnvironmentError, Kind, ParameterKind, Probe, existing, install_missing,
};

fn python() -> PathBuf {
    PathBuf::from(std::env::var_os("MLEM_TEST_PYTHON").expect(
        "MLEM_TEST_PYTHON is not set: it has to name a Python interpreter that has ipykernel (see CONTRIBUTING.md)",
    ))
}

fn environment() -> Environment {
    existing(&python()).expect("MLEM_TEST_PYTHON works")
}

#[test]
fn the_installed_distributions_are_known() {
    let environment = environment();
    assert!(environment.has_ipykernel(), "MLEM_TEST_PYTHON has no ipykernel");
    assert!(environment.version_of("ipython").is_some());
    assert!(environment.version_of("jupyter-client").is_some(), "names are normalised");
    assert!(!environment.is_ours());
}

#[test]
fn names_signatures_and_defaults_come_from_the_interpreter() {
    let mut probe = Probe::start(&environment()).unwrap();
    let dumps = probe.lookup("json.dumps");
    assert_eq!((dumps.exists, dumps.kind), (Some(true), Some(Kind::Function)));
    assert_eq!(dumps.defined.as_deref(), Some("json.dumps"));
    let indent = dumps.parameter("indent").expect("json.dumps has indent");
    assert_eq!((indent.kind, indent.default.as_deref()), (ParameterKind::KeywordOnly, Some("None")));
    assert_eq!(dumps.accepts_keyword("anything"), Some(true), "it has **kw");

    let method = probe.lookup("traitlets.HasTraits.has_trait");
    assert_eq!(method.kind, Some(Kind::Method));
    let names: Vec<String> = method.signature.unwrap().into_iter().map(|each| each.name).collect();
    assert_eq!(names, ["name"], "without self");
    assert_eq!(method.distribution.as_deref(), Some("traitlets"));
    assert_eq!(method.version.as_deref(), environment().version_of("traitlets"));
    assert_eq!(probe.lookup("IPython").distribution.as_deref(), Some("ipython"));
    assert_eq!(probe.lookup("collections.OrderedDict").kind, Some(Kind::Class));
    assert_eq!(probe.lookup("str.format").kind, Some(Kind::Method), "builtins need no import");
}

#[test]
fn what_is_not_there_says_where_it_ends_and_why() {
    let mut probe = Probe::start(&environment()).unwrap();
    let gone = probe.lookup("collections.Mapping.get");
    if environment().version >= (3, 10, 0) {
        assert_eq!((gone.exists, gone.nearest.as_deref()), (Some(false), Some("collections")));
        assert_eq!(gone.error.unwrap().kind, "AttributeError");
    }
    let module = probe.lookup("no_such_module_anywhere.thing");
    assert_eq!(module.exists, Some(false));
    assert_eq!(module.error.unwrap().module.as_deref(), Some("no_such_module_anywhere"));
    for name in ["", "a b", "a..b", "os;print"] {
        assert_eq!(probe.lookup(name).exists, Some(false), "{name:?}");
    }
}

/// An environment whose path also holds modules that misbehave when imported.
fn with_modules(folder: &Path) -> Environment {
    let script = folder.join("python");
    let draft = folder.join("draft");
    let text = format!("#!/bin/sh\nPYTHONPATH='{}' exec '{}' \"$@\"\n", folder.display(), python().display());
    std::fs::write(&draft, text).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&draft, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::rename(&draft, &script).unwrap();
    for (name, text) in [
        ("exits", "import sys\nsys.exit(3)\n"),
        ("interrupts", "raise KeyboardInterrupt('no')\n"),
        ("dies", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"),
        ("hangs", "import time\ntime.sleep(600)\n"),
        (
            "prints",
            "import sys, os\nprint('{\"id\": 1}')\nos.write(1, b'noise\\n')\nsys.stdin.read()\nx = 1\n",
        ),
        ("closes", "import os\nfor fd in (0, 1, 2):\n    os.close(fd)\nx = 1\n"),
    ] {
        std::fs::write(folder.join(format!("{name}.py")), text).unwrap();
    }
    existing(&script).unwrap()
}

#[cfg(unix)]
#[test]
fn misbehaving_imports_do_not_end_the_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let environment = with_modules(folder.path());
    let mut probe = Probe::start(&environment).unwrap().with_limit(Duration::from_secs(20));
    let exits = probe.lookup("exits");
    assert_eq!((exits.exists, exits.error.unwrap().kind.as_str()), (Some(false), "SystemExit"));
    assert_eq!(probe.lookup("interrupts").error.unwrap().kind, "KeyboardInterrupt");
    assert_eq!(probe.lookup("prints.x").exists, Some(true));
    assert_eq!(probe.lookup("closes.x").exists, Some(true));
    let dies = probe.lookup("dies");
    assert_eq!(dies.exists, None);
    assert!(dies.error.unwrap().message.contains("signal 9"));
    assert_eq!(probe.lookup("json.loads").exists, Some(true), "it was started again");

    let mut probe = probe.with_limit(Duration::from_secs(3));
    let start = Instant::now();
    assert_eq!(probe.lookup("hangs").exists, None);
    assert!(start.elapsed() < Duration::from_secs(15));
    let mut probe = probe.with_limit(Duration::from_secs(20));
    assert_eq!(probe.lookup("json.loads").exists, Some(true));
    assert_eq!(probe.lookup("os.path.join").exists, Some(true));
    // Nothing was written beside the modules.
    assert!(!folder.path().join("__pycache__").exists());
}

#[test]
fn vanished_names_are_found_where_they_live_now() {
    let cache = tempfile::tempdir().unwrap();
    let mut probe = Probe::start(&environment()).unwrap().with_cache(cache.path());
    for (name, near, expected) in [
        ("Mapping", "collections", "collections.abc.Mapping"),
        ("urlopen", "urllib2", "urllib.request.urlopen"),
        ("TraitType", "traitlets.gone", "traitlets.TraitType"),
        ("display", "IPython.core.display", "IPython.display.display"),
    ] {
        let homes = probe.where_now(name, Some(near));
        let first = homes.first().unwrap_or_else(|| panic!("{name} lives nowhere"));
        assert_eq!(first.qualified, expected, "{homes:#?}");
        if name != "display" {
            assert_eq!(first.confidence, Confidence::Only, "{homes:#?}");
        }
    }
    assert!(probe.where_now("no_such_name_at_all", None).is_empty());
    // A second conversation reads the index from the cache.
    let start = Instant::now();
    let mut again = Probe::start(&environment()).unwrap().with_cache(cache.path());
    assert!(!again.where_now("Mapping", Some("collections")).is_empty());
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn an_environment_that_was_found_is_never_changed() {
    let cache = tempfile::tempdir().unwrap();
    let error = install_missing(
        &environment(),
        &[mlem_environment::Distribution::new("six")],
        cache.path(),
        &mut |_| {},
    );
    assert!(matches!(error, Err(EnvironmentError::Foreign { .. })));
    assert!(std::fs::read_dir(cache.path()).unwrap().next().is_none());
}
