//! Findings as lines, annotations, SARIF, and counts.

use std::collections::BTreeMap;

use mlem_repair::inspect::Located;
use mlem_rules::{Catalogue, Explanation};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::console;

/// A line for each finding.
pub(crate) fn text(findings: &[Located]) -> String {
    let line = |finding: &Located| {
        let cell = finding.cell.map_or(String::new(), |cell| format!("cell {cell}:"));
        let fix = if finding.fixable { " [fix]" } else { "" };
        let Located { path, line, column, rule, message, .. } = finding;
        format!("{path}:{cell}{line}:{column}: {rule} {message}{fix}\n")
    };
    findings.iter().map(line).collect()
}

/// How many there are, in words.
pub(crate) fn count(findings: &[Located]) -> String {
    let fixable = findings.iter().filter(|finding| finding.fixable).count();
    match findings.len() {
        0 => "nothing found".to_owned(),
        count => format!("{}, {fixable} with a fix", console::counted(count, "finding")),
    }
}

/// Workflow commands of GitHub Actions, which become annotations. A notebook's lines are those of its JSON there, so
/// that the line within the cell goes to the message.
pub(crate) fn github(findings: &[Located]) -> String {
    let annotation = |finding: &Located| {
        let place = match finding.cell {
            Some(_) => String::new(),
            None => format!(",line={},col={}", finding.line, finding.column),
        };
        let cell = finding.cell.map_or(String::new(), |cell| format!("cell {cell}, "));
        format!(
            "::warning file={}{place},title={}::{}\n",
            property(&finding.path),
            property(&finding.rule),
            data(&format!("{cell}line {}: {}", finding.line, finding.message)),
        )
    };
    findings.iter().map(annotation).collect()
}

/// The message of a workflow command, as `@actions/core` escapes it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command, as `@actions/core` escapes it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// How often a rule was found.
#[derive(Debug, Serialize)]
pub(crate) struct Statistic {
    rule: String,
    name: String,
    summary: String,
    count: usize,
    fixable: usize,
}

/// How often each rule was found, the most frequent first.
pub(crate) fn statistics(findings: &[Located], catalogues: &[&'static Catalogue]) -> Vec<Statistic> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for finding in findings {
        let (count, fixable) = counts.entry(&finding.rule).or_default();
        *count += 1;
        *fixable += usize::from(finding.fixable);
    }
    let mut statistics: Vec<Statistic> = counts
        .into_iter()
        .map(|(rule, (count, fixable))| {
            let (name, summary) = described(rule, catalogues);
            Statistic { rule: rule.to_owned(), name, summary, count, fixable }
        })
        .collect();
    statistics.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.rule.cmp(&b.rule)));
    statistics
}

/// A line for each rule.
pub(crate) fn statistics_text(statistics: &[Statistic]) -> String {
    let width = statistics.first().map_or(0, |first| first.count.to_string().len());
    let line = |statistic: &Statistic| {
        let Statistic { rule, summary, count, fixable, .. } = statistic;
        let fix = if *fixable > 0 { format!(" [{fixable} with a fix]") } else { String::new() };
        format!("{count:>width$}  {rule:8} {summary}{fix}\n")
    };
    statistics.iter().map(line).collect()
}

/// Name and summary of a rule in the first catalogue that has it.
fn described(id: &str, catalogues: &[&'static Catalogue]) -> (String, String) {
    let known = catalogues.iter().find_map(|catalogue| catalogue.look_up(id).ok());
    known.map_or_else(Default::default, |known| {
        let explanation = Explanation::of(known);
        (explanation.name.to_owned(), explanation.summary.to_owned())
    })
}

/// A SARIF 2.1.0 log: the rules that were found, and where.
pub(crate) fn sarif(findings: &[Located], catalogues: &[&'static Catalogue]) -> Value {
    let mut ids: Vec<&str> = findings.iter().map(|finding| finding.rule.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let rule = |id: &&str| {
        let (name, summary) = described(id, catalogues);
        json!({"id": id, "name": name, "shortDescription": {"text": summary}})
    };
    let mut seen: BTreeMap<[&str; 3], usize> = BTreeMap::new();
    let results: Vec<Value> = findings
        .iter()
        .map(|finding| {
            let occurrence = seen.entry([&finding.path, &finding.rule, &finding.code]).or_default();
            *occurrence += 1;
            result(finding, &ids, *occurrence)
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "mlem",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": ids.iter().map(rule).collect::<Vec<_>>(),
            }},
            "results": results,
            // Columns are told in characters (SARIF 2.1.0, 3.14.17).
            "columnKind": "unicodeCodePoints",
        }],
    })
}

/// One result. SARIF has no notion of cells: the region is the line in the cell, which is named as a logical location
/// and in the message.
fn result(finding: &Located, ids: &[&str], occurrence: usize) -> Value {
    let cell = finding.cell.map_or(String::new(), |cell| format!("cell {cell}: "));
    let mut location = json!({"physicalLocation": {
        "artifactLocation": {"uri": uri(&finding.path)},
        "region": {"startLine": finding.line, "startColumn": finding.column},
    }});
    if let Some(cell) = finding.cell {
        location["logicalLocations"] = json!([{"fullyQualifiedName": format!("cell {cell}")}]);
    }
    // What makes it the same result after lines and cells have moved, under the name by which GitHub looks for it.
    let hash = Sha256::digest(format!("{}\n{}", finding.rule, finding.code).as_bytes());
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    json!({
        "ruleId": finding.rule,
        "ruleIndex": ids.binary_search(&finding.rule.as_str()).unwrap_or_default(),
        "level": "warning",
        "message": {"text": format!("{cell}{}", finding.message)},
        "locations": [location],
        "partialFingerprints": {"primaryLocationLineHash": format!("{hash}:{occurrence}")},
    })
}

/// A path as a relative reference (RFC 3986).
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.strip_prefix("./").unwrap_or(path).replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("./a b/ü#1.ipynb"), "a%20b/%C3%BC%231.ipynb");
    }

    #[test]
    fn annotations_are_escaped() {
        let finding = Located {
            path: "a,b:c.py".into(),
            cell: None,
            line: 3,
            column: 5,
            rule: "PD001".into(),
            message: "50% of\nit".into(),
            fixable: true,
            safety: "safe",
            code: String::new(),
        };
        assert_eq!(
            github(&[finding]),
            "::warning file=a%2Cb%3Ac.py,line=3,col=5,title=PD001::line 3: 50%25 of%0Ait\n"
        );
    }
}
