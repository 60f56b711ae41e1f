//! Requirements as people write them: `pip install` arguments, requirements files, `pip freeze`, `pip list`,
//! `conda list --export`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use pep440_rs::VersionSpecifiers;
use serde::Serialize;
use thiserror::Error;

use crate::Distribution;
use crate::environment::Wanted;

/// One distribution that is asked for, with what was said about its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// The distribution.
    pub distribution: Distribution,
    /// Extras in square brackets.
    pub extras: Vec<String>,
    /// Version specifiers of PEP 440, `""` for any version.
    pub specifier: String,
    /// The environment marker after `;`.
    pub marker: Option<String>,
    /// Where it comes from when not from an index: a URL or a repository.
    pub url: Option<String>,
}

/// Why a text is not a requirement.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequirementError {
    /// There is no distribution name at its beginning.
    #[error("`{0}` is not a requirement: no distribution name")]
    NoName(String),
    /// A path or an address whose distribution cannot be told.
    #[error("`{0}` does not say which distribution it is")]
    Unnamed(String),
    /// The version part is not valid.
    #[error("`{0}` has an invalid version: {1}")]
    Version(String, String),
}

impl Requirement {
    /// Any version of a distribution.
    pub fn any(distribution: Distribution) -> Self {
        Self { distribution, extras: Vec::new(), specifier: String::new(), marker: None, url: None }
    }

    /// Exactly one version of a distribution.
    pub fn exactly(distribution: Distribution, version: &str) -> Self {
        Self { specifier: format!("=={version}"), ..Self::any(distribution) }
    }

    /// Reads one requirement: PEP 508, a repository address with `#egg=name`, conda's `name=1.2`, `name (>=1.2)`.
    pub fn parse(text: &str) -> Result<Self, RequirementError> {
        let text = text.trim();
        if text.contains("://") && !text.contains('@') || text.starts_with("git+") || text.starts_with("http")
        {
            return Self::from_address(text);
        }
        let (body, marker) = match text.split_once(';') {
            Some((body, marker)) => {
                (body.trim(), Some(marker.trim().to_owned()).filter(|marker| !marker.is_empty()))
            }
            None => (text, None),
        };
        let end = body
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))
            .unwrap_or(body.len());
        let name = &body[..end];
        if !Distribution::is_valid(name) {
            return Err(RequirementError::NoName(text.to_owned()));
        }
        let mut rest = body[end..].trim();
        let mut extras = Vec::new();
        if let Some(after) = rest.strip_prefix('[')
            && let Some((inside, after)) = after.split_once(']')
        {
            extras = inside
                .split(',')
                .map(|extra| extra.trim().to_owned())
                .filter(|extra| !extra.is_empty())
                .collect();
            rest = after.trim();
        }
        let mut requirement = Self { extras, marker, ..Self::any(Distribution::new(name)) };
        if let Some(url) = rest.strip_prefix('@') {
            let url = url.trim();
            // conda's `pip freeze` names the folder a package was built in, which says nothing elsewhere.
            if !url.starts_with("file:") {
                requirement.url = Some(url.to_owned());
            }
            return Ok(requirement);
        }
        // Metadata of before PEP 440 and `pip list --format=legacy` put the version in parentheses.
        let rest = rest.strip_prefix('(').and_then(|inside| inside.strip_suffix(')')).unwrap_or(rest);
        requirement.specifier =
            specifier(rest).map_err(|reason| RequirementError::Version(text.to_owned(), reason))?;
        Ok(requirement)
    }

    fn from_address(text: &str) -> Result<Self, RequirementError> {
        let unnamed = || RequirementError::Unnamed(text.to_owned());
        let name = match text.split_once("#egg=") {
            Some((_, egg)) => egg.split(['&', '[']).next().unwrap_or(egg).to_owned(),
            None => {
                // The last part of a repository's address is its distribution's name more often than not.
                let path = text.split(['#', '?']).next().unwrap_or(text).trim_end_matches('/');
                let path = path.split_once("://").map_or(path, |(_, path)| path);
                let path = path
                    .rsplit_once('@')
                    .filter(|(front, _)| front.contains('/'))
                    .map_or(path, |(front, _)| front);
                let last = path.rsplit('/').next().unwrap_or(path);
                let stem = last.trim_end_matches(".git");
                if stem.ends_with(".whl") {
                    stem.split('-').next().unwrap_or(stem).to_owned()
                } else if text.starts_with("git+") {
                    stem.to_owned()
                } else {
                    return Err(unnamed());
                }
            }
        };
        if !Distribution::is_valid(&name) {
            return Err(unnamed());
        }
        Ok(Self { url: Some(text.to_owned()), ..Self::any(Distribution::new(&name)) })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.distribution)?;
        if !self.extras.is_empty() {
            write!(formatter, "[{}]", self.extras.join(","))?;
        }
        match &self.url {
            Some(url) => write!(formatter, " @ {url}")?,
            None => formatter.write_str(&self.specifier)?,
        }
        match &self.marker {
            Some(marker) => write!(formatter, " ; {marker}"),
            None => Ok(()),
        }
    }
}

/// The specifiers of PEP 440 that a text means.
fn specifier(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text == "*" {
        return Ok(String::new());
    }
    let text = match text.strip_prefix('=') {
        // conda: `=1.2` is any 1.2, `=1.2.3=build` one build, `==1.2` exact.
        Some(rest) if !rest.starts_with('=') => match rest.split_once('=') {
            Some((version, _)) => format!("=={version}"),
            None if rest.ends_with('*') => format!("=={rest}"),
            None => format!("=={rest}.*"),
        },
        // A bare version in parentheses.
        _ if text.starts_with(|c: char| c.is_ascii_digit()) => format!("=={text}"),
        _ => text.to_owned(),
    };
    VersionSpecifiers::from_str(&text)
        .map(|_| text.split_whitespace().collect::<String>())
        .map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
}

/// What a requirements file said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RequirementsFile {
    /// Requirements in the file's order, each with its line from 1.
    pub requirements: Vec<(usize, Requirement)>,
    /// Lines that were left out, each with its line from 1 and why.
    pub skipped: Vec<(usize, String)>,
}

impl RequirementsFile {
    /// The exact versions it names: normalised name to version. As the target of `check` and `fix`, a frozen list says
    /// what is installed.
    pub fn versions(&self) -> BTreeMap<String, String> {
        let exact = |requirement: &Requirement| {
            let version = requirement.specifier.strip_prefix("==")?;
            (!version.contains(['*', ',', '='])).then(|| version.to_owned())
        };
        self.requirements
            .iter()
            .filter_map(|(_, each)| Some((each.distribution.as_str().to_owned(), exact(each)?)))
            .collect()
    }

    /// All of it as what an environment has to hold.
    pub fn wanted(&self) -> Vec<Wanted> {
        self.requirements
            .iter()
            .map(|(_, each)| Wanted { requirement: each.clone(), required: true })
            .collect()
    }
}

/// A requirements file that cannot be used.
#[derive(Debug, Error)]
#[error("cannot read {path}: {reason}", path = path.display())]
pub struct RequirementsFileError {
    /// The file.
    pub path: PathBuf,
    /// The operating system's words, or what is wrong with it.
    pub reason: String,
}

/// Reads a requirements file, the output of `pip freeze`, `pip list` (table, columns or legacy format) or
/// `conda list --export`; `-r FILE` is followed.
pub fn read_requirements(path: &Path) -> Result<RequirementsFile, RequirementsFileError> {
    read_nested(path, 0)
}

fn read_nested(path: &Path, depth: usize) -> Result<RequirementsFile, RequirementsFileError> {
    let failed = |reason: String| RequirementsFileError { path: path.to_owned(), reason };
    // A requirements file of more than a megabyte is something else.
    let length = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
    if length > 1 << 20 {
        return Err(failed("larger than 1 MB, not a list of requirements".to_owned()));
    }
    let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    let text = decode(&bytes).ok_or_else(|| failed("not a text file".to_owned()))?;
    let mut file = parse_requirements(&text);
    let mut nested = Vec::new();
    file.skipped.retain(|(line, reason)| match reason.strip_prefix(FOLLOW) {
        Some(other) => {
            nested.push((*line, other.to_owned()));
            false
        }
        None => true,
    });
    for (line, other) in nested {
        let target = path.parent().unwrap_or(Path::new("")).join(&other);
        // Eight files deep is a circle.
        match if depth < 8 {
            read_nested(&target, depth + 1)
        } else {
            Err(failed("refers to itself".to_owned()))
        } {
            Ok(inner) => {
                file.requirements.extend(inner.requirements.into_iter().map(|(_, each)| (line, each)))
            }
            Err(error) => file.skipped.push((line, error.to_string())),
        }
    }
    if let (true, Some((line, reason))) = (file.requirements.is_empty(), file.skipped.first()) {
        return Err(failed(format!("no line of it is a requirement (line {line}: {reason})")));
    }
    Ok(file)
}

/// Text of a file in UTF-8 or, as PowerShell's `pip freeze > requirements.txt` makes it, UTF-16 with a byte order mark.
fn decode(bytes: &[u8]) -> Option<String> {
    let wide = |pairs: &[u8], order: fn([u8; 2]) -> u16| {
        let units = pairs.chunks_exact(2).map(|pair| order([pair[0], pair[1]]));
        char::decode_utf16(units).collect::<Result<String, _>>().ok()
    };
    let text = match bytes {
        [0xFF, 0xFE, rest @ ..] => wide(rest, u16::from_le_bytes)?,
        [0xFE, 0xFF, rest @ ..] => wide(rest, u16::from_be_bytes)?,
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    };
    // Latin-1 in a comment is still a list of requirements; control characters are of no text.
    let is_text = |c: char| !c.is_control() || c.is_whitespace();
    text.chars().all(is_text).then_some(text)
}

/// Marks a skipped line that names another file to read.
const FOLLOW: &str = "\u{1}follow ";

/// Reads the text of a requirements file or of a package listing. `-r` lines stay among the skipped ones.
fn parse_requirements(text: &str) -> RequirementsFile {
    let mut file = RequirementsFile::default();
    let mut pending = String::new();
    let mut pending_line = 0;
    for (index, raw) in text.lines().enumerate() {
        if pending.is_empty() {
            pending_line = index + 1;
        }
        let raw = strip_comment(raw);
        if let Some(front) = raw.strip_suffix('\\') {
            pending.push_str(front);
            pending.push(' ');
            continue;
        }
        pending.push_str(raw);
        let line = std::mem::take(&mut pending);
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        match read_line(line) {
            Ok(Some(requirement)) => file.requirements.push((pending_line, requirement)),
            Ok(None) => {}
            Err(reason) => file.skipped.push((pending_line, reason)),
        }
    }
    file
}

fn strip_comment(line: &str) -> &str {
    let line = line.trim_end();
    if line.trim_start().starts_with('#') {
        return "";
    }
    // pip's rule: a `#` begins a comment only after white space, so that `#egg=` stays.
    match line.find(" #").or_else(|| line.find("\t#")) {
        Some(at) => line[..at].trim_end(),
        None => line,
    }
}

/// One line of such a file: a requirement, nothing (headings, index options), or why it is left out.
fn read_line(line: &str) -> Result<Option<Requirement>, String> {
    if let Some(option) = line.strip_prefix('-') {
        if line.chars().all(|c| c == '-' || c == ' ') {
            return Ok(None);
        }
        let (flag, value) = match option.split_once(['=', ' ']) {
            Some((flag, value)) => (flag, value.trim()),
            None => (option, ""),
        };
        return match flag.trim_start_matches('-') {
            "r" | "requirement" => Err(format!("{FOLLOW}{value}")),
            "e" | "editable" => Requirement::parse(value).map(Some).map_err(|error| error.to_string()),
            // Where packages come from is the machine's business, not the notebook's.
            "i" | "index-url" | "extra-index-url" | "f" | "find-links" | "trusted-host" | "no-index"
            | "pre" | "prefer-binary" | "no-binary" | "only-binary" | "use-feature" | "no-cache-dir" => {
                Ok(None)
            }
            _ => Err(format!("`{line}` is not read")),
        };
    }
    let line = line.split(" --hash").next().unwrap_or(line).trim();
    let words: Vec<&str> = line.split_whitespace().collect();
    if let [name, version, ..] = words.as_slice() {
        if name.eq_ignore_ascii_case("package") && version.eq_ignore_ascii_case("version") {
            return Ok(None);
        }
        // `pip list`: name and version in columns, then perhaps a location.
        if Distribution::is_valid(name)
            && version.starts_with(|c: char| c.is_ascii_digit())
            && pep440_rs::Version::from_str(version).is_ok()
        {
            return Ok(Some(Requirement::exactly(Distribution::new(name), version)));
        }
    }
    Requirement::parse(line).map(Some).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Requirement::parse(text)
            .map_or_else(|error| format!("! {error}"), |requirement| requirement.to_string())
    }

    #[test]
    fn what_is_no_list_of_requirements_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("requirements.txt");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read_requirements(&path).map(|file| file.requirements.len()).map_err(|error| error.to_string())
        };
        let random: Vec<u8> = (1..=255).rev().collect();
        assert!(read(&random).unwrap_err().ends_with("not a text file"));
        assert!(
            read(b"%PDF-1.4 or so\n(what)\n").unwrap_err().contains("no line of it is a requirement (line 1")
        );
        assert_eq!(read(b"six  # caf\xe9\n"), Ok(1), "Latin-1 in a comment");
        assert_eq!(read(b"# nothing\n"), Ok(0));
    }

    #[test]
    fn requirements_are_read_in_every_notation() {
        for (text, expected) in [
            ("numpy", "numpy"),
            ("scikit_learn==0.19.1", "scikit-learn==0.19.1"),
            ("pandas >=0.23, <1.0", "pandas>=0.23,<1.0"),
            ("pytz (>=2011k)", "! `pytz (>=2011k)` has an invalid version"),
            ("pytz (2019.1)", "pytz==2019.1"),
            ("numpy=1.19", "numpy==1.19.*"),
            ("numpy=1.19.2=py37h54aff64_0", "numpy==1.19.2"),
            ("numpy=1.19.*", "numpy==1.19.*"),
            ("requests[security,socks]>=2", "requests[security,socks]>=2"),
            ("torch ; python_version > '3'", "torch ; python_version > '3'"),
            ("attrs @ file:///tmp/build/attrs", "attrs"),
            ("x @ https://example.org/x.whl", "x @ https://example.org/x.whl"),
            (
                "git+https://example.org/a/keras-contrib.git",
                "keras-contrib @ git+https://example.org/a/keras-contrib.git",
            ),
            ("git+https://example.org/a/thing.git@v1", "thing @ git+https://example.org/a/thing.git@v1"),
            ("git+https://example.org/a/b#egg=c", "c @ git+https://example.org/a/b#egg=c"),
            ("./local", "! `./local` is not a requirement: no distribution name"),
        ] {
            let got = shown(text);
            assert!(
                got == expected || expected.starts_with('!') && got.starts_with(expected),
                "{text}: {got}"
            );
        }
    }

    #[test]
    fn pip_list_and_freeze_are_read() {
        let file = parse_requirements(
            "Package         Version\n--------------- -------\nnumpy           1.16.4\nScikit-Learn    0.21.2 /somewhere\n",
        );
        let shown: Vec<String> =
            file.requirements.iter().map(|(line, each)| format!("{line} {each}")).collect();
        assert_eq!(shown, ["3 numpy==1.16.4", "4 scikit-learn==0.21.2"]);
        assert!(file.skipped.is_empty());
        assert_eq!(file.versions().get("scikit-learn").map(String::as_str), Some("0.21.2"));
        assert_eq!(file.wanted().len(), 2);

        let file = parse_requirements(
            "# frozen\na==1  # why\nb \\\n  ==2\n-i https://x\n-e git+https://h/o/r#egg=r\n-q\n./d\n",
        );
        let shown: Vec<String> =
            file.requirements.iter().map(|(line, each)| format!("{line} {each}")).collect();
        assert_eq!(shown, ["2 a==1", "3 b==2", "6 r @ git+https://h/o/r#egg=r"]);
        assert_eq!(file.skipped.len(), 2);
    }

    #[test]
    fn utf_16_files_are_read() {
        let mut bytes = vec![0xFF, 0xFE];
        bytes.extend("numpy==1.2\r\n".encode_utf16().flat_map(u16::to_le_bytes));
        let text = decode(&bytes).unwrap();
        assert_eq!(parse_requirements(&text).requirements[0].1.to_string(), "numpy==1.2");
        assert!(decode(b"PK\0\0").is_none());
    }

    #[test]
    fn files_that_include_each_other_end() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "numpy\n-r b.txt\n").unwrap();
        std::fs::write(folder.path().join("b.txt"), "pandas\n-r a.txt\n-r none.txt\n").unwrap();
        let file = read_requirements(&folder.path().join("a.txt")).unwrap();
        assert!(file.requirements.iter().any(|(_, each)| each.distribution.as_str() == "pandas"));
        assert!(read_requirements(&folder.path().join("none.txt")).is_err());
    }
}
