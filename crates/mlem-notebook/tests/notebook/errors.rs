use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;

use insta::assert_snapshot;
use mlem_notebook::{MAX_BYTES, Notebook};

#[test]
fn every_broken_text_is_told_with_place_and_reason() {
    let cell = |cell: &str| {
        format!("{{\"cells\": [{{\"cell_type\": \"raw\", \"source\": \"\"}}, {cell}], \"nbformat\": 4}}")
    };
    let texts = [
        String::new(),
        " \n\u{feff}".into(),
        "print('hello')\n".into(),
        "<!DOCTYPE html>\n<html>".into(),
        "{\"cells\": [\n  {\"cell_type\": \"code\",}\n]}".into(),
        "{\"cells\": [{\"cell_type\": \"code\", \"source\": [\"é = 1\n\"]}]}".into(),
        "{\"cells\": [{\"cell_type\": \"code\", \"outp".into(),
        "{\"cells\": [\n<<<<<<< HEAD\n  {}\n=======\n".into(),
        "{\"cells\": [\0]}".into(),
        "{\"cells\": [], \"nbformat\": 4} trailing".into(),
        "[]".into(),
        "3".into(),
        "{\"a\": 1}".into(),
        "{\"nbformat\": 4}".into(),
        "{\"nbformat\": 3, \"cells\": []}".into(),
        "{\"nbformat\": 3, \"worksheets\": [{}]}".into(),
        "{\"nbformat\": 3, \"worksheets\": [{\"cells\": [{\"cell_type\": \"code\", \"input\": 3}]}]}".into(),
        "{\"cells\": []}".into(),
        "{\"cells\": {}, \"nbformat\": 4}".into(),
        "{\"cells\": [], \"nbformat\": 5}".into(),
        "{\"worksheets\": [], \"nbformat\": 2}".into(),
        "{\"cells\": {\"of\": \"another shape\"}, \"nbformat\": 5}".into(),
        "{\"cells\": [], \"nbformat\": \"4\"}".into(),
        "{\"cells\": [], \"nbformat\": 4.5}".into(),
        "{\"cells\": [], \"nbformat\": 4, \"metadata\": []}".into(),
        cell("7"),
        cell("{\"source\": \"x\"}"),
        cell("{\"cell_type\": 1}"),
        cell("{\"cell_type\": \"cod\"}"),
        cell("{\"cell_type\": \"code\", \"source\": 7}"),
        cell("{\"cell_type\": \"code\", \"source\": null}"),
        cell("{\"cell_type\": \"code\", \"source\": [\"x\", {}]}"),
        cell("{\"cell_type\": \"code\", \"outputs\": {}}"),
        "[".repeat(10_000),
    ];
    let mut messages = String::new();
    for text in texts {
        let shown: String = text.chars().take(70).collect();
        let error = Notebook::parse(text, Path::new("a.ipynb")).unwrap_err();
        assert_eq!(error.file(), Path::new("a.ipynb"));
        writeln!(messages, "{shown:?}\n    {error}").unwrap();
    }
    assert_snapshot!(messages);
}

#[test]
fn every_broken_file_is_told_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let mut messages = String::new();
    let mut tell = |name: &str, bytes: Option<&[u8]>| {
        let path = folder.path().join(name);
        if let Some(bytes) = bytes {
            fs::write(&path, bytes).unwrap();
        }
        let message = Notebook::read(&path).unwrap_err().to_string();
        writeln!(messages, "{}", message.replace(&format!("{}/", folder.path().display()), "")).unwrap();
    };
    let utf16: Vec<u8> = "{\"cells\": []}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    tell("empty.ipynb", Some(b""));
    tell("missing.ipynb", None);
    tell("latin_1.ipynb", Some(b"{\n\"cells\": [\"caf\xe9\"]}"));
    tell("utf16.ipynb", Some(&utf16));
    tell("utf16_mark.ipynb", Some(&[&[0xff, 0xfe], &utf16[..]].concat()));
    tell("utf16_big.ipynb", Some(b"\xfe\xff\0{"));
    tell("binary.ipynb", Some(b"\x89PNG\r\n\x1a\n\0\0"));
    fs::create_dir(folder.path().join("folder.ipynb")).unwrap();
    tell("folder.ipynb", None);
    // Sparse: it takes no room on the disk, and is refused before it is read.
    File::create(folder.path().join("huge.ipynb")).unwrap().set_len(MAX_BYTES + 1).unwrap();
    tell("huge.ipynb", None);
    assert_snapshot!(messages);
}
