//! A configuration file as it is written, key by key; unknown keys are refused.

use std::path::Path;

use mlem_rules::Place;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::ConfigurationError;
use crate::target::Versions;

/// The name of a configuration file of our own.
pub(crate) const OWN: &str = "mlem.toml";
/// The file that a project shares among its tools; ours is the table `[tool.mlem]`.
pub(crate) const SHARED: &str = "pyproject.toml";

const KEYS: [&str; 7] = ["select", "ignore", "per-file-ignores", "target", "rules", "exclude", "unsafe"];

/// A text and where it stands.
pub(crate) type Text = (Place, String);

/// What a configuration file says; nothing of it is looked up yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) select: Option<Vec<Text>>,
    pub(crate) ignore: Vec<Text>,
    /// Glob, and the rules ignored in what it matches.
    pub(crate) per_file_ignores: Vec<(Text, Vec<Text>)>,
    pub(crate) target: Versions,
    /// Folders of rules.
    pub(crate) rules: Vec<Text>,
    /// Globs of files to pass over.
    pub(crate) exclude: Vec<Text>,
    pub(crate) include_unsafe: Option<bool>,
}

/// Reads a configuration file; `None` where a `pyproject.toml` has no `[tool.mlem]`.
pub(crate) fn read(path: &Path) -> Result<Option<Written>, ConfigurationError> {
    let text = std::fs::read_to_string(path).map_err(|error| ConfigurationError::Unreadable {
        path: path.display().to_string(),
        reason: error.to_string(),
    })?;
    let is_shared = path.file_name().is_some_and(|name| name == SHARED);
    // Most files of other tools can be told without parsing them.
    if is_shared && !text.contains("mlem") {
        return Ok(None);
    }
    Reader { file: path, text: &text }.read(is_shared)
}

struct Reader<'a> {
    file: &'a Path,
    text: &'a str,
}

impl Reader<'_> {
    fn read(&self, is_shared: bool) -> Result<Option<Written>, ConfigurationError> {
        let document = DeTable::parse(self.text).map_err(|error| {
            self.invalid(error.span().map_or(0, |span| span.start), error.message().to_owned())
        })?;
        let document = document.into_inner();
        if !is_shared {
            return self.table(&document).map(Some);
        }
        let tool = get(&document, "tool").and_then(|tool| tool.get_ref().as_table());
        let Some(own) = tool.and_then(|tool| get(tool, "mlem")) else {
            return Ok(None);
        };
        match own.get_ref().as_table() {
            Some(table) => self.table(table).map(Some),
            None => Err(self.invalid(own.span().start, "`tool.mlem` has to be a table".to_owned())),
        }
    }

    fn table(&self, table: &DeTable<'_>) -> Result<Written, ConfigurationError> {
        let mut written = Written::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "select" => written.select = Some(self.texts("select", value)?),
                "ignore" => written.ignore = self.texts("ignore", value)?,
                "rules" => written.rules = self.texts("rules", value)?,
                "exclude" => written.exclude = self.texts("exclude", value)?,
                "per-file-ignores" => {
                    for (glob, rules) in self.entries("per-file-ignores", value)? {
                        let place = Place::at(self.text, glob.span().start);
                        let rules = self.texts("per-file-ignores", rules)?;
                        written.per_file_ignores.push(((place, glob.get_ref().to_string()), rules));
                    }
                }
                "target" => {
                    for (name, version) in self.entries("target", value)? {
                        let text = version.get_ref().as_str().ok_or_else(|| {
                            let reason = format!("`target.{}` has to be a version in quotes", name.get_ref());
                            self.invalid(version.span().start, reason)
                        })?;
                        written
                            .target
                            .add(name.get_ref(), text)
                            .map_err(|reason| self.invalid(version.span().start, reason))?;
                    }
                }
                "unsafe" => {
                    let flag = value.get_ref().as_bool().ok_or_else(|| {
                        self.invalid(value.span().start, "`unsafe` has to be true or false".to_owned())
                    })?;
                    written.include_unsafe = Some(flag);
                }
                unknown => return Err(self.invalid(key.span().start, unknown_key(unknown))),
            }
        }
        Ok(written)
    }

    fn texts(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<Text>, ConfigurationError> {
        let wrong = |at: usize| self.invalid(at, format!("`{key}` has to be a list of texts"));
        let array = value.get_ref().as_array().ok_or_else(|| wrong(value.span().start))?;
        let text = |item: &Spanned<DeValue<'_>>| {
            let text = item.get_ref().as_str().ok_or_else(|| wrong(item.span().start))?;
            Ok((Place::at(self.text, item.span().start), text.to_owned()))
        };
        array.iter().map(text).collect()
    }

    fn entries<'t, 'v>(
        &self,
        key: &str,
        value: &'t Spanned<DeValue<'v>>,
    ) -> Result<
        impl Iterator<Item = (&'t Spanned<toml::de::DeString<'v>>, &'t Spanned<DeValue<'v>>)>,
        ConfigurationError,
    > {
        let wrong = || self.invalid(value.span().start, format!("`{key}` has to be a table"));
        Ok(value.get_ref().as_table().ok_or_else(wrong)?.iter())
    }

    fn invalid(&self, at: usize, reason: String) -> ConfigurationError {
        let place = Place::at(self.text, at);
        ConfigurationError::Invalid { file: self.file.display().to_string(), place, reason }
    }
}

fn get<'t, 'v>(table: &'t DeTable<'v>, name: &str) -> Option<&'t Spanned<DeValue<'v>>> {
    table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value)
}

fn unknown_key(key: &str) -> String {
    // `unsafe-fixes`, `extend-ignore` and `target-version` are what other linters call it.
    let is_near = |known: &&str| {
        key.contains(*known) || strsim::damerau_levenshtein(key, known) <= known.len().div_ceil(2)
    };
    let known = KEYS.into_iter().filter(is_near).min_by_key(|known| strsim::damerau_levenshtein(key, known));
    match known {
        Some(known) => format!("unknown key `{key}`; did you mean `{known}`?"),
        None => format!("unknown key `{key}`; there are {}", KEYS.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<Option<Written>, String> {
        let reader = Reader { file: Path::new(name), text };
        reader.read(name == SHARED).map_err(|error| error.to_string())
    }

    fn refused(text: &str) -> String {
        read(OWN, text).expect_err("should be refused")
    }

    #[test]
    fn every_key_is_read_with_its_place() {
        let text = "select = [\"PD\"]\nignore = ['PD001']\nrules = [\"rules\"]\nexclude = [\"old\"]\nunsafe = true\n\
                    [target]\npandas = \"2.2\"\n[per-file-ignores]\n\"a/*\" = [\"SK\"]\n";
        let written = read(OWN, text).unwrap().unwrap();
        assert_eq!(written.select, Some(vec![(Place { line: 1, column: 11 }, "PD".to_owned())]));
        assert_eq!(written.ignore, [(Place { line: 2, column: 11 }, "PD001".to_owned())]);
        assert_eq!(written.rules[0].1, "rules");
        assert_eq!(written.exclude[0].1, "old");
        assert_eq!(written.include_unsafe, Some(true));
        let (glob, rules) = &written.per_file_ignores[0];
        assert_eq!((glob.1.as_str(), rules[0].1.as_str()), ("a/*", "SK"));
        let mut versions = Versions::default();
        versions.add("pandas", "2.2").unwrap();
        assert_eq!(written.target, versions);
    }

    #[test]
    fn pyproject_is_ours_in_its_table_only() {
        assert_eq!(read(SHARED, "[project]\nname = \"mlem\"\n"), Ok(None));
        let written = read(SHARED, "[tool.other]\nx = 1\n[tool.mlem]\nignore = [\"PD\"]\n").unwrap().unwrap();
        assert_eq!(written.ignore.len(), 1);
        let said = read(SHARED, "[tool]\nmlem = 3\n").expect_err("no table");
        assert_eq!(said, "pyproject.toml:2:8: `tool.mlem` has to be a table");
    }

    #[test]
    fn errors_name_the_place_and_the_way_out() {
        let all = "select, ignore, per-file-ignores, target, rules, exclude, unsafe";
        assert_eq!(refused("colour = 1\n"), format!("mlem.toml:1:1: unknown key `colour`; there are {all}"));
        let near = |key: &str| refused(&format!("\n{key} = []\n"));
        assert_eq!(near("ignroe"), "mlem.toml:2:1: unknown key `ignroe`; did you mean `ignore`?");
        assert_eq!(near("unsafe-fixes"), "mlem.toml:2:1: unknown key `unsafe-fixes`; did you mean `unsafe`?");
        assert_eq!(refused("select = \"PD\""), "mlem.toml:1:10: `select` has to be a list of texts");
        assert_eq!(
            refused("select = [\n  \"PD\",\n  3\n]"),
            "mlem.toml:3:3: `select` has to be a list of texts"
        );
        assert_eq!(refused("unsafe = 1"), "mlem.toml:1:10: `unsafe` has to be true or false");
        assert_eq!(refused("target = 1"), "mlem.toml:1:10: `target` has to be a table");
        assert_eq!(
            refused("[target]\nnumpy = 2.0"),
            "mlem.toml:2:9: `target.numpy` has to be a version in quotes"
        );
        assert!(refused("[target]\nnumpy = \"two\"").starts_with("mlem.toml:2:9: `two` is not a version"));
        assert!(refused("select = [").starts_with("mlem.toml:1:11: "));
    }
}
