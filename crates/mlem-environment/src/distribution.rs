//! The name of a distribution.

use std::fmt;

use serde::{Serialize, Serializer};

/// A distribution's name in the normal form of PEP 503: lower case, runs of `-`, `_` and `.` as one `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Distribution(String);

impl Distribution {
    /// Normalises a name as written anywhere.
    pub fn new(name: &str) -> Self {
        let mut normal = String::with_capacity(name.len());
        for character in name.trim().chars() {
            match character {
                '-' | '_' | '.' => {
                    if !normal.ends_with('-') {
                        normal.push('-');
                    }
                }
                other => normal.extend(other.to_lowercase()),
            }
        }
        Self(normal)
    }

    /// The normalised name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text can be a distribution's name at all (PEP 508: letters, digits, `-`, `_`, `.`; the first and the
    /// last a letter or digit).
    pub fn is_valid(name: &str) -> bool {
        let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        edge(name.chars().next())
            && edge(name.chars().next_back())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_normalised() {
        for (written, normal) in [
            ("scikit_learn", "scikit-learn"),
            ("Scikit-Learn", "scikit-learn"),
            ("ruamel.yaml", "ruamel-yaml"),
            ("a-._b", "a-b"),
            (" PyYAML ", "pyyaml"),
        ] {
            assert_eq!(Distribution::new(written).as_str(), normal);
        }
    }

    #[test]
    fn some_texts_cannot_be_names() {
        assert!(Distribution::is_valid("zope.interface"));
        for text in ["", "-x", "x-", "a b", "a/b", "git+https://x"] {
            assert!(!Distribution::is_valid(text), "{text}");
        }
    }
}
