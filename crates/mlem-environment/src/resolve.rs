//! Choosing exact versions: which Python, what is left out, and why.

use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use pep440_rs::Version;
use serde::{Deserialize, Serialize};

use crate::environment::{EnvironmentError, Step, Wanted};
use crate::knowledge::Knowledge;
use crate::lock::{hex_digest, platform};
use crate::{Distribution, Interpreter, Lock, Requirement, Uv, newest_releases};

/// How long a resolution is good for. The index changes daily; a study of many notebooks in one afternoon should not ask
/// it again and again, and should get the same answer.
const FRESH: Duration = Duration::from_secs(24 * 3600);

/// Something that was wanted and left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// The requirement as it would have been installed.
    pub requirement: String,
    /// Why it was left out.
    pub reason: String,
}

/// An interpreter that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PassedOver {
    /// The interpreter, e.g. `CPython 3.13.0`.
    pub python: String,
    /// Why.
    pub reason: String,
}

/// A version that looks too old to be what anybody meant: the resolver went back past a whole major version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suspect {
    /// Normalised name.
    pub distribution: String,
    /// The version chosen.
    pub version: String,
    /// The newest one known.
    pub newest: String,
}

pub(crate) struct Resolution {
    pub(crate) interpreter: Interpreter,
    pub(crate) lock: Lock,
    pub(crate) dropped: Vec<Dropped>,
    pub(crate) passed_over: Vec<PassedOver>,
    pub(crate) suspects: Vec<Suspect>,
}

/// The first of the interpreters, newest first, on which everything required resolves.
pub(crate) fn newest(
    uv: &Uv,
    cache: &Path,
    interpreters: &[Interpreter],
    wanted: &[Wanted],
    progress: &mut dyn FnMut(Step),
) -> Result<Resolution, EnvironmentError> {
    let (wanted, mut dropped) = from_index(wanted)?;
    let mut passed_over = Vec::new();
    let mut last_reason = String::new();
    for interpreter in interpreters {
        progress(Step::Resolving(interpreter.to_string()));
        match on(uv, cache, interpreter, &wanted) {
            Ok((lock, left_out)) => {
                dropped.extend(left_out);
                let suspects = suspects(&lock, &wanted);
                return Ok(Resolution {
                    interpreter: interpreter.clone(),
                    lock,
                    dropped,
                    passed_over,
                    suspects,
                });
            }
            Err(reason) => {
                let passed = PassedOver { python: interpreter.to_string(), reason: in_brief(&reason) };
                progress(Step::PassedOver(passed.clone()));
                passed_over.push(passed);
                last_reason = reason;
                if unreachable(&last_reason) {
                    break;
                }
            }
        }
    }
    let newest = interpreters.first();
    let python = newest.map_or_else(|| "no Python".to_owned(), ToString::to_string);
    // Which of them is at fault: those that cannot even be had alone.
    let mut culprits = Vec::new();
    let mut reason = in_short(&last_reason);
    if let Some(newest) = newest.filter(|_| !unreachable(&last_reason)) {
        for each in wanted.iter().filter(|each| each.required) {
            if let Err(alone) =
                with_exceptions(uv, cache, newest, std::slice::from_ref(&each.requirement), Vec::new())
            {
                reason = in_short(&alone);
                culprits.push(each.requirement.to_string());
            }
        }
    }
    let advice = if unreachable(&last_reason) {
        "check the network, or configure an index for pip or uv (PIP_INDEX_URL, UV_DEFAULT_INDEX)"
    } else if culprits.is_empty() {
        "each can be had alone but not all together; loosen the versions asked for"
    } else {
        "use an interpreter that has it with --python, or leave it out with a requirements file"
    };
    let what = if culprits.is_empty() {
        let all: Vec<String> =
            wanted.iter().filter(|each| each.required).map(|each| each.requirement.to_string()).collect();
        all.join(", ")
    } else {
        culprits.join(", ")
    };
    Err(EnvironmentError::Unresolvable { what, python, reason: format!("{reason}; {advice}"), passed_over })
}

/// Splits off what does not come from an index: building a repository runs its code here, so it is never done unasked.
fn from_index(wanted: &[Wanted]) -> Result<(Vec<Wanted>, Vec<Dropped>), EnvironmentError> {
    let mut kept: Vec<Wanted> = Vec::new();
    let mut dropped = Vec::new();
    for each in wanted {
        let wheel = each
            .requirement
            .url
            .as_ref()
            .is_none_or(|url| url.split('#').next().unwrap_or(url).ends_with(".whl"));
        if !wheel {
            let reason = "comes from a repository, not from a package index".to_owned();
            if each.required {
                return Err(EnvironmentError::Unresolvable {
                    what: each.requirement.to_string(),
                    python: "any Python".to_owned(),
                    reason: format!(
                        "it {reason}, and is not built here; install it yourself and name the interpreter with --python"
                    ),
                    passed_over: Vec::new(),
                });
            }
            dropped.push(Dropped { requirement: each.requirement.to_string(), reason });
        } else if let Some(same) = kept.iter_mut().find(|other| other.requirement == each.requirement) {
            same.required |= each.required;
        } else {
            kept.push(each.clone());
        }
    }
    Ok((kept, dropped))
}

/// Resolves on one interpreter, leaving out what is not required and cannot be had.
fn on(
    uv: &Uv,
    cache: &Path,
    python: &Interpreter,
    wanted: &[Wanted],
) -> Result<(Lock, Vec<Dropped>), String> {
    let requirements =
        |list: &[&Wanted]| list.iter().map(|each| each.requirement.clone()).collect::<Vec<_>>();
    let all: Vec<&Wanted> = wanted.iter().collect();
    let first = match with_exceptions(uv, cache, python, &requirements(&all), Vec::new()) {
        Ok(lock) => return Ok((lock, Vec::new())),
        Err(reason) => reason,
    };
    let mut kept: Vec<&Wanted> = wanted.iter().filter(|each| each.required).collect();
    if kept.len() == wanted.len() || unreachable(&first) {
        return Err(first);
    }
    let mut lock = with_exceptions(uv, cache, python, &requirements(&kept), Vec::new())?;
    let mut dropped = Vec::new();
    for each in wanted.iter().filter(|each| !each.required) {
        let mut more = kept.clone();
        more.push(each);
        match with_exceptions(uv, cache, python, &requirements(&more), Vec::new()) {
            Ok(found) => {
                lock = found;
                kept = more;
            }
            Err(reason) => {
                dropped
                    .push(Dropped { requirement: each.requirement.to_string(), reason: in_short(&reason) });
            }
        }
    }
    Ok((lock, dropped))
}

/// Resolves from wheels; a distribution known to be pure Python and to publish no wheel may be built.
pub(crate) fn with_exceptions(
    uv: &Uv,
    cache: &Path,
    python: &Interpreter,
    requirements: &[Requirement],
    mut sources: Vec<Distribution>,
) -> Result<Lock, String> {
    let knowledge = Knowledge::shipped();
    loop {
        match remembered(uv, cache, python, requirements, &sources) {
            Ok(lock) => return Ok(lock),
            Err(reason) => {
                let before = sources.len();
                for name in wheelless(&reason) {
                    if knowledge.may_be_built(&name) && !sources.contains(&name) {
                        sources.push(name);
                    }
                }
                if sources.len() == before {
                    return Err(reason);
                }
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Remembered {
    lock: Lock,
}

/// A resolution of the last day from the cache, or a new one. Without a network, an older one is better than none.
fn remembered(
    uv: &Uv,
    cache: &Path,
    python: &Interpreter,
    requirements: &[Requirement],
    sources: &[Distribution],
) -> Result<Lock, String> {
    let mut lines: Vec<String> = requirements.iter().map(ToString::to_string).collect();
    lines.sort();
    lines.dedup();
    let question = format!("{}\n{}\n{sources:?}", platform(python), lines.join("\n"));
    let folder = cache.join("resolutions");
    let path = folder.join(format!("{}.json", &hex_digest(&question)[..40]));
    let old = fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str::<Remembered>(&text).ok());
    let age = fs::metadata(&path)
        .and_then(|data| data.modified())
        .ok()
        .and_then(|time| SystemTime::now().duration_since(time).ok());
    if let Some(old) = &old
        && age.is_some_and(|age| age < FRESH)
    {
        return Ok(old.lock.clone());
    }
    match uv.compile(python, requirements, sources) {
        Ok(lock) => {
            // Not being able to remember it costs time only.
            if fs::create_dir_all(&folder).is_ok()
                && let Ok(text) = serde_json::to_string(&Remembered { lock: lock.clone() })
                && let Ok(draft) = tempfile::NamedTempFile::new_in(&folder)
                && fs::write(draft.path(), text).is_ok()
            {
                drop(draft.persist(&path));
            }
            Ok(lock)
        }
        Err(reason) => match old {
            Some(old) if unreachable(&reason) => Ok(old.lock),
            _ => Err(reason),
        },
    }
}

/// Whether uv's words say that the index did not answer, as opposed to answering no.
fn unreachable(reason: &str) -> bool {
    ["error sending request", "Failed to fetch", "dns error", "Could not connect", "operation timed out"]
        .iter()
        .any(|words| reason.contains(words))
}

/// Distributions of which uv says that they have no wheel: "all versions of NAME have no usable wheels",
/// "NAME==1.0 has no usable wheels", "only NAME==1.0 is available … has no wheels".
fn wheelless(reason: &str) -> Vec<Distribution> {
    let mut found = Vec::new();
    let words: Vec<&str> = reason.split_whitespace().collect();
    for (index, window) in words.windows(3).enumerate() {
        let says = matches!(window, ["has" | "have", "no", rest] if rest.starts_with("usable") || rest.starts_with("wheels"));
        if !says || index == 0 {
            continue;
        }
        let name = words[index - 1].trim_matches(|c: char| "`,;:".contains(c));
        let name = name.split(['=', '<', '>', '!', '~', '[']).next().unwrap_or(name);
        if Distribution::is_valid(name) {
            found.push(Distribution::new(name));
        }
    }
    // "Wheels are required for `NAME` because building from source is disabled".
    for (_, rest) in reason.match_indices("are required for `").map(|(at, m)| (at, &reason[at + m.len()..])) {
        if let Some((name, _)) = rest.split_once('`') {
            found.push(Distribution::new(name));
        }
    }
    found
}

/// The part of uv's explanation that a line has room for.
pub(crate) fn in_short(reason: &str) -> String {
    let joined = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = joined.split(" hint: ").next().unwrap_or(&joined);
    let text = text
        .trim_start_matches("error: ")
        .trim_start_matches("No solution found when resolving dependencies");
    let text =
        text.trim_start_matches(':').trim_start().trim_start_matches("cause: ").trim_start_matches("╰─▶ ");
    let text = text.trim_start_matches("× ").trim();
    match text.char_indices().nth(600) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The first thing that does not fit, for a line that is only by the way: `all versions of pydotplus have no usable
/// wheels and you require pydotplus`.
fn in_brief(reason: &str) -> String {
    let whole = in_short(reason);
    let first = whole.split_once(", we can conclude").map_or(whole.as_str(), |(first, _)| first);
    let first = first.strip_prefix("Because ").unwrap_or(first);
    let Some((end, _)) = first.char_indices().nth(BRIEF) else {
        return first.trim_end_matches('.').to_owned();
    };
    let cut = first[..end].rfind(' ').unwrap_or(end);
    format!("{}…", &first[..cut])
}

/// Characters that a remark has room for.
const BRIEF: usize = 160;

/// Directly wanted distributions whose version lies a whole major version or more behind the newest known one, though no
/// version was asked for.
fn suspects(lock: &Lock, wanted: &[Wanted]) -> Vec<Suspect> {
    let mut found = Vec::new();
    for each in wanted.iter().filter(|each| each.requirement.specifier.is_empty()) {
        let name = each.requirement.distribution.as_str();
        if let (Some(version), Some(newest)) = (lock.version_of(name), newest_releases().version_of(name))
            && let Ok(picked) = Version::from_str(version)
            && picked.release().first() < newest.release().first()
        {
            found.push(Suspect {
                distribution: name.to_owned(),
                version: version.to_owned(),
                newest: newest.to_string(),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_WHEEL: &str = "error: No solution found when resolving dependencies\n  cause: Because all versions of \
        pydotplus have no usable wheels and you require pydotplus, we can conclude that your requirements are \
        unsatisfiable.\n\nhint: Wheels are required for `pydotplus` because building from source is disabled";

    #[test]
    fn what_has_no_wheel_is_read_from_the_explanation() {
        assert!(wheelless(NO_WHEEL).contains(&Distribution::new("pydotplus")));
        assert!(
            wheelless("Because foo-bar==1.0 has no wheels with a matching Python ABI tag")
                .contains(&Distribution::new("foo-bar"))
        );
        assert!(wheelless("Because numpy was not found").is_empty());
    }

    #[test]
    fn explanations_are_cut_to_a_line() {
        assert_eq!(
            in_short(NO_WHEEL),
            "Because all versions of pydotplus have no usable wheels and you require pydotplus, we can conclude that your \
             requirements are unsatisfiable."
        );
        assert_eq!(
            in_brief(NO_WHEEL),
            "all versions of pydotplus have no usable wheels and you require pydotplus"
        );
        let long = in_brief(&"Because numpy==1.0 depends on foo ".repeat(40));
        assert!(long.chars().count() <= BRIEF + 1 && long.ends_with('…'), "{long}");
    }

    #[test]
    fn repositories_are_not_built_unasked() {
        let wanted = |required| Wanted {
            requirement: Requirement::parse("git+https://example.org/a/b.git").unwrap(),
            required,
        };
        let (kept, dropped) = from_index(&[wanted(false)]).unwrap();
        assert!(kept.is_empty());
        assert_eq!(dropped.len(), 1);
        assert!(from_index(&[wanted(true)]).is_err());
    }
}
