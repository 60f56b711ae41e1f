use std::path::Path;

use insta::assert_debug_snapshot;
use mlem_notebook::{CellKind, Language, Notebook, Output};
use serde_json::json;

use super::notebook;

fn with_metadata(metadata: &str) -> Notebook {
    let text = format!("{{\"cells\": [], \"metadata\": {metadata}, \"nbformat\": 4, \"nbformat_minor\": 2}}");
    Notebook::parse(text, Path::new("a.ipynb")).unwrap()
}

#[test]
fn nbformat_4_is_read() {
    let notebook = notebook("v4_5.ipynb");
    assert_eq!(notebook.nbformat(), (4, 5));
    assert_eq!(notebook.language(), Language::Python);
    assert_eq!(notebook.language_version(), Some("3.6.4"));
    assert_eq!(notebook.kernel_name(), Some("python3"));
    let cells = notebook.cells();
    assert_eq!(cells[0].source, "# Größe der Häuser\nEin erster Blick.");
    assert_eq!(cells[1].tags, ["parameters"]);
    assert_eq!(cells[1].id.as_deref(), Some("load"));
    let may_fail: Vec<bool> = cells.iter().map(|cell| cell.may_fail()).collect();
    assert_eq!(may_fail, [false, false, false, true, true, false]);
    assert_eq!(cells[5].kind, CellKind::Raw);
    assert_debug_snapshot!(cells[1].outputs());
    assert_debug_snapshot!(cells[3].outputs());
}

#[test]
fn nbformat_3_is_read_in_the_same_shape() {
    let notebook = notebook("v3.ipynb");
    assert_eq!(notebook.nbformat(), (3, 0));
    assert_eq!(notebook.language(), Language::Python);
    assert_eq!(notebook.language_version(), None);
    let cells = notebook.cells();
    assert_eq!((cells[0].kind, cells[0].level), (CellKind::Heading, Some(2)));
    assert_eq!(cells[1].source, "%pylab inline\nimport pandas as pd\nprint 'rows:', 3");
    assert_eq!(cells[1].execution_count, Some(1));
    assert_eq!(cells[1].outputs(), [Output::Stream { name: "stdout".into(), text: "rows: 3\n".into() }]);
    assert!(cells[3].may_fail());
    assert_debug_snapshot!(cells[3].outputs());
}

#[test]
fn what_only_python_reads_is_read() {
    let notebook = notebook("as_python_writes.ipynb");
    assert_eq!(notebook.cells()[0].source, "a = '\u{fffd}'\nb = 'nul: \0'\nc = 3");
    assert_eq!(notebook.cells()[1].source, "x = 1");
    assert_eq!(notebook.cells()[1].kind, CellKind::Code);
    let [Output::DisplayData { data, .. }] = &notebook.cells()[0].outputs()[..] else { panic!() };
    assert_eq!(data["application/json"], json!({"loss": null}));
}

#[test]
fn the_last_of_equal_keys_wins_everywhere() {
    let text = r#"{"metadata": {"kernelspec": {"name": "ir"}}, "nbformat": 3, "cells": [{"cell_type": "raw"}],
        "cells": [{"cell_type": "code", "metadata": {"tags": ["raises-exception"]}, "metadata": {}, "source": "a",
            "outputs": [{"output_type": "error"}], "outputs": [], "source": ["b"]}],
        "nbformat": 4, "metadata": {"language_info": {"name": "python"}}}"#;
    let notebook = Notebook::parse(text.into(), Path::new("a.ipynb")).unwrap();
    assert_eq!(notebook.language(), Language::Python);
    assert_eq!(notebook.cells().len(), 1);
    assert_eq!(notebook.cells()[0].source, "b");
    assert!(!notebook.cells()[0].may_fail());
}

#[test]
fn the_language_comes_from_the_best_witness() {
    let other = |name: &str| Language::Other(name.into());
    for (metadata, language) in [
        (r#"{}"#, Language::Unknown),
        (r#"{"kernelspec": {"name": "python2", "display_name": "Python 2"}}"#, Language::Python),
        (r#"{"kernelspec": {"name": "conda-root-py", "display_name": "Python [Root]"}}"#, Language::Python),
        (r#"{"kernelspec": {"name": "my-env", "display_name": "my-env"}}"#, Language::Unknown),
        (r#"{"kernelspec": {"name": "my-env", "language": "python"}}"#, Language::Python),
        (r#"{"kernelspec": {"name": "ir", "display_name": "R"}}"#, other("R")),
        (r#"{"kernelspec": {"name": "julia-0.4"}}"#, other("julia")),
        (r#"{"kernelspec": {"name": "python3"}, "language_info": {"name": "scala"}}"#, other("scala")),
        (r#"{"language": "Julia"}"#, other("Julia")),
        (r#"{"kernelspec": null, "language_info": []}"#, Language::Unknown),
    ] {
        assert_eq!(with_metadata(metadata).language(), language, "{metadata}");
    }
}

#[test]
fn stored_outputs_cost_no_memory_of_their_own() {
    // 20 MB of picture: the notebook holds the text once, and nothing beside it.
    let picture = "A".repeat(20_000_000);
    let text = format!(
        "{{\"cells\": [{{\"cell_type\": \"code\", \"source\": \"x\", \"outputs\": [{{\"output_type\": \"display_data\", \
         \"data\": {{\"image/png\": \"{picture}\"}}, \"metadata\": {{}}}}]}}], \"nbformat\": 4}}"
    );
    let notebook = Notebook::parse(text.clone(), Path::new("big")).unwrap();
    assert_eq!(notebook.cells()[0].source, "x");
    assert_eq!(notebook.clone().to_text(), text);
}

#[test]
fn notebooks_can_be_read_on_many_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Notebook>();
}
