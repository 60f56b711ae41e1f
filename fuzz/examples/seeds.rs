//! Writes the seeds of every target to `corpus/TARGET/` and the dictionary `python.dict`: seeds are
//! the repository's fixtures and the rules' own snippets, words are the names in these snippets.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mlem_rules::Catalogue;

fn main() -> io::Result<()> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = fuzz.join("..");
    let mut python = Vec::new();
    let mut notebooks = Vec::new();
    for folder in ["crates", "examples"] {
        gather(&root.join(folder), &mut |path, text| match path.extension().and_then(|e| e.to_str()) {
            Some("py" | "py2") => python.push(text),
            Some("ipynb") => notebooks.push(text),
            _ => {}
        })?;
    }
    let mut snippets = Vec::new();
    for rule in Catalogue::shipped().rules() {
        snippets.push(format!("{}\n# %%\n{}\n", rule.setup, rule.before));
    }
    let mut rules = Vec::new();
    gather(&root.join("crates/mlem-rules/rules"), &mut |_, text| {
        for rule in text.split("[[rule]]").skip(1) {
            rules.push(format!("[[rule]]{rule}"));
        }
    })?;
    write(&fuzz.join("corpus/unit"), python.iter().chain(&snippets))?;
    write(&fuzz.join("corpus/python2"), python.iter().chain(&snippets))?;
    write(&fuzz.join("corpus/fix"), python.iter().chain(&snippets))?;
    write(&fuzz.join("corpus/notebook"), notebooks.iter().chain(&python))?;
    write(&fuzz.join("corpus/rules"), rules.iter())?;

    let mut words: BTreeSet<String> = PYTHON.iter().map(|word| (*word).to_owned()).collect();
    for snippet in &snippets {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        words.extend(snippet.split(|c: char| !is_word(c)).filter(|w| w.len() > 2).map(str::to_owned));
    }
    let mut dictionary = String::new();
    for word in words {
        let escaped: String = word
            .bytes()
            .map(|byte| match byte {
                b'"' | b'\\' => format!("\\{}", char::from(byte)),
                0x20..=0x7e => char::from(byte).to_string(),
                _ => format!("\\x{byte:02x}"),
            })
            .collect();
        dictionary.push_str(&format!("\"{escaped}\"\n"));
    }
    fs::write(fuzz.join("python.dict"), dictionary)
}

/// What the snippets do not hold.
const PYTHON: &[&str] = &[
    "# %%\n",
    "%%time\n",
    "%time ",
    "!ls",
    "?",
    "print ",
    ">>",
    "`",
    "<>",
    "exec ",
    "raise ",
    "lambda (a, b): ",
    "0777L",
    "ur'",
    "\"\"\"",
    "'''",
    "f'{",
    "rb'",
    "\\\n",
    "\r\n",
    "\t",
    "\u{feff}",
    ":=",
    "async ",
    "await ",
    "match x:\n case ",
    "global ",
    "nonlocal ",
    "del ",
    "try:\n ",
    "except ImportError:\n ",
    "*",
    "**",
    "; ",
];

fn gather(folder: &Path, take: &mut dyn FnMut(&Path, String)) -> io::Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            gather(&path, take)?;
        } else if let Ok(text) = fs::read_to_string(&path) {
            take(&path, text);
        }
    }
    Ok(())
}

fn write<'a>(folder: &Path, seeds: impl Iterator<Item = &'a String>) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (number, seed) in seeds.enumerate() {
        fs::write(folder.join(format!("seed-{number:04}")), seed)?;
    }
    Ok(())
}
