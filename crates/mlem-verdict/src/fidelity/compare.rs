//! From two lists of sources to their judged changes.

use std::collections::{BTreeMap, HashMap, HashSet};

use mlem_python::TextRange;
use mlem_python::tree::{Kind, Node};
use mlem_rules::{Kind as RuleKind, ScoreEffect, Target};

use super::align::align;
use super::canonical::{pass_on, settle};
use super::inline::inline;
use super::judge::{Judge, Judgement};
use super::knowledge::knowledge;
use super::names::{all_names, rename, store_counts};
use super::side::{AppliedRule, Side, Stage, may_apply, pins_defaults};
use super::walk::{Judged, Walk};
use super::{Change, Changes, Class, Location, Source};

/// Compares two versions of a program; `target` decides which rules of the catalogue say what
/// became of what.
pub fn compare_code(old: &[Source<'_>], new: &[Source<'_>], target: &dyn Target) -> Changes {
    let same =
        old.len() == new.len() && old.iter().zip(new).all(|(a, b)| a.text == b.text && a.form == b.form);
    if same {
        return Changes::default();
    }
    let old = Side::new(old, target);
    let new = Side::new(new, target);
    let mut best = judged(&old, &old.normal, &new, &new.normal, target);
    if alarms(&best) > 0 {
        let pinned = old.normal.brought(target, &pins_defaults);
        if pinned.applied.len() > old.normal.applied.len() {
            let again = judged(&old, &pinned, &new, &new.normal, target);
            if alarms(&again) < alarms(&best) {
                best = again;
                best.extend(rule_changes(&pinned.applied[old.normal.applied.len()..], &[]));
            }
        }
    }
    if alarms(&best) > 0 {
        best = with_possible_rules(best, &old, &new, target);
    }
    best.extend(rule_changes(&old.normal.applied, &new.normal.applied));
    best.extend(import_changes(&old, &new));
    let mut changes = described(best, &old, &new);
    let rest = rewritten_cells(&changes, &old, &new);
    changes.extend(rest);
    let key = |change: &Change| {
        let place = change.old.or(change.new);
        (place.map(|place| (place.cell, place.lines)), change.old.is_none(), std::cmp::Reverse(change.class))
    };
    changes.sort_by_key(key);
    // The imports say it already.
    let imports_differ = changes.iter().any(|change| change.topic == "import-path" && change.new.is_none());
    changes.retain(|change| {
        !(imports_differ
            && change.topic == "import-path"
            && change.old.is_some()
            && change.new.is_some()
            && change.class == Class::Neutral)
    });
    let mut seen = HashSet::new();
    changes.retain(|change| seen.insert((change.reason.clone(), change.old, change.new)));
    Changes { changes }
}

fn alarms(found: &[Judged]) -> usize {
    found.iter().filter(|each| each.judgement.class != Class::Neutral).count()
}

/// The judged differences of two programs in some stage.
fn judged(old: &Side, old_stage: &Stage, new: &Side, new_stage: &Stage, target: &dyn Target) -> Vec<Judged> {
    let mut before = statements_unless_equal(old, old_stage, new_stage);
    let (mut after, _) = new_stage.statements();
    // A statement whose text means the same is the same, whatever a rule made of one of them.
    undo_one_sided_rules(old, new, &mut before, &mut after);
    let functions = |all: &[Node]| -> HashSet<String> {
        all.iter().filter(|node| node.kind == Kind::Function).map(|node| node.text.clone()).collect()
    };
    let (old_functions, new_functions) = (functions(&before), functions(&after));
    inline(&mut before, &new_functions);
    inline(&mut after, &old_functions);
    settle(&mut before, &old.imported());
    settle(&mut after, &new.imported());
    let (old_names, new_names) = (all_names(&before), all_names(&after));
    pass_on(&mut before, &new_names);
    pass_on(&mut after, &old_names);
    let mut found = same_by_other_names(&mut before, &after);
    let judge = Judge {
        old,
        new,
        old_reads: reads(&before),
        new_reads: reads(&after),
        old_references: references(&before),
        target,
    };
    let mut walk = Walk::new(&judge, &before, &after);
    walk.statements(before.iter().collect(), after.iter().collect(), &[], false);
    found.append(&mut walk.found);
    found
}

/// The statements of the old side in a stage; where the new side has a statement as it is before
/// that stage, as it is before.
fn statements_unless_equal(old: &Side, stage: &Stage, new_stage: &Stage) -> Vec<Node> {
    let (staged, _) = stage.statements();
    let (normal, _) = old.normal.statements();
    let (after, _) = new_stage.statements();
    let present: HashSet<&Node> = after.iter().collect();
    let mut chosen: Vec<Node> = Vec::new();
    let kept: Vec<&Node> = normal.iter().filter(|node| present.contains(node)).collect();
    for node in staged {
        let there = |own: &&&Node| own.unit == node.unit && own.range.contains_range(node.range);
        let same = kept.iter().find(|own| there(own) && own.range == node.range).or(kept.iter().find(there));
        match same {
            Some(own)
                if chosen.last().is_none_or(|last| last.range != own.range || last.unit != own.unit) =>
            {
                chosen.push((*own).clone());
            }
            Some(_) => {}
            None => chosen.push(node),
        }
    }
    chosen
}

/// Puts back statements that are equal before the rules and differ after them: a type was known on
/// one side only.
fn undo_one_sided_rules(old: &Side, new: &Side, before: &mut [Node], after: &mut [Node]) {
    let by_place = |side: &Side| -> HashMap<(usize, TextRange), Node> {
        let (raw, _) = side.raw.statements();
        raw.into_iter().map(|node| ((node.unit, node.range), node)).collect()
    };
    let (old_raw, new_raw) = (by_place(old), by_place(new));
    let present: HashSet<Node> = after.iter().cloned().collect();
    for node in before.iter_mut().filter(|node| !present.contains(node)) {
        let Some(raw) = old_raw.get(&(node.unit, node.range)) else { continue };
        for other in after.iter_mut() {
            if new_raw.get(&(other.unit, other.range)) == Some(raw) {
                *other = raw.clone();
                *node = raw.clone();
            }
        }
    }
}

fn reads(statements: &[Node]) -> HashSet<String> {
    fn collect(node: &Node, found: &mut HashSet<String>) {
        let stores = super::names::targets(node).len();
        for (at, child) in node.children.iter().enumerate() {
            let is_target = at < stores
                && child.kind == Kind::Name
                && node.kind != Kind::AugmentedAssign
                && node.kind != Kind::WithItem;
            if !is_target {
                collect_or_unpack(child, at < stores && node.kind != Kind::AugmentedAssign, found);
            }
        }
        if node.kind == Kind::Name {
            found.insert(node.text.clone());
        }
        if matches!(node.kind, Kind::Escape | Kind::Broken) {
            // Whatever word stands in it may be a name.
            found.extend(node.text.split(|c: char| !(c.is_alphanumeric() || c == '_')).map(str::to_owned));
        }
    }
    fn collect_or_unpack(node: &Node, is_target: bool, found: &mut HashSet<String>) {
        match node.kind {
            Kind::Name if is_target => {}
            Kind::Tuple | Kind::List | Kind::Starred if is_target => {
                for child in &node.children {
                    collect_or_unpack(child, true, found);
                }
            }
            _ => collect(node, found),
        }
    }
    let mut found = HashSet::new();
    for statement in statements {
        collect(statement, &mut found);
    }
    found
}

fn references(statements: &[Node]) -> HashSet<String> {
    let mut found = HashSet::new();
    for statement in statements {
        statement.walk(&mut |node| {
            if node.kind == Kind::Reference {
                found.extend(node.text.rsplit('.').next().map(str::to_owned));
            }
        });
    }
    found
}

/// Gives the old program the new one's names, where a name has only been replaced by another: the
/// old name is nowhere in the new program, nor the new one in the old.
fn same_by_other_names(before: &mut [Node], after: &[Node]) -> Vec<Judged> {
    const ROUNDS: usize = 6;
    let mut found = Vec::new();
    for _ in 0..ROUNDS {
        let (old_names, new_names) = (all_names(before), all_names(after));
        // What a program does not bind itself is somebody else's, and its name is all there is.
        let (old_bound, new_bound) = (store_counts(before), store_counts(after));
        let alignment = align(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>());
        let mut votes: HashMap<(String, String), (usize, usize, TextRange)> = HashMap::new();
        for (i, j) in &alignment.changed {
            vote(&before[*i], &after[*j], &mut |one, other, node| {
                if !new_names.contains(one)
                    && !old_names.contains(other)
                    && old_bound.contains_key(one)
                    && new_bound.contains_key(other)
                {
                    let entry =
                        votes.entry((one.to_owned(), other.to_owned())).or_insert((0, node.unit, node.range));
                    entry.0 += 1;
                }
            });
        }
        let mut ranked: Vec<_> = votes.into_iter().collect();
        ranked.sort_by(|a, b| b.1.0.cmp(&a.1.0).then(a.0.cmp(&b.0)));
        let mut names: HashMap<String, String> = HashMap::new();
        for ((one, other), (_, unit, range)) in ranked {
            if !names.contains_key(&one) && names.values().all(|taken| *taken != other) {
                if !one.contains('·') && !other.contains('·') {
                    let reason = format!("`{one}` is called `{other}` now");
                    let judgement = Judgement::new(Class::Neutral, "renamed", reason);
                    found.push(Judged { judgement, old: Some((unit, range)), new: None });
                }
                names.insert(one, other);
            }
        }
        if names.is_empty() {
            break;
        }
        for statement in before.iter_mut() {
            rename(statement, &names);
        }
    }
    found
}

/// Walks two trees as long as they have one shape, and says which names stand for which.
fn vote(old: &Node, new: &Node, found: &mut dyn FnMut(&str, &str, &Node)) {
    if old.kind != new.kind {
        return;
    }
    match old.kind {
        Kind::Name | Kind::Function | Kind::Class | Kind::Handler
            if old.text != new.text && !old.text.is_empty() && !new.text.is_empty() =>
        {
            found(&old.text, &new.text, old);
        }
        Kind::Parameter if old.text != new.text => {
            found(old.text.trim_start_matches('*'), new.text.trim_start_matches('*'), old);
        }
        _ if old.text != new.text => return,
        _ => {}
    }
    if old.kind == Kind::Block {
        let alignment =
            align(&old.children.iter().collect::<Vec<_>>(), &new.children.iter().collect::<Vec<_>>());
        for (i, j) in alignment.changed {
            vote(&old.children[i], &new.children[j], found);
        }
        return;
    }
    for (one, other) in old.children.iter().zip(&new.children) {
        vote(one, other, found);
    }
}

/// What would be neutral if a rule that is not proven, or not neutral, applied.
fn with_possible_rules(found: Vec<Judged>, old: &Side, new: &Side, target: &dyn Target) -> Vec<Judged> {
    let old_stage = old.normal.brought(target, &may_apply).with_old_defaults(target);
    let fresh = &old_stage.applied[old.normal.applied.len()..];
    if fresh.is_empty() {
        return found;
    }
    let new_stage = new.normal.brought(target, &may_apply);
    let possible = judged(old, &old_stage, new, &new_stage, target);
    if alarms(&possible) >= alarms(&found) {
        return found;
    }
    let place = |each: &Judged| each.old.map(|(unit, range)| (unit, old.location(unit, range).lines));
    let touches = |a: (usize, (usize, usize)), b: (usize, (usize, usize))| {
        a.0 == b.0 && a.1.0 <= b.1.1 && b.1.0 <= a.1.1
    };
    let mut result = Vec::new();
    for each in found {
        let here = place(&each);
        // The rule at that place, else one of the same cell: a rewrite can reach from one statement
        // to another.
        let near = fresh.iter().filter(|applied| here.is_none_or(|here| here.0 == applied.unit));
        let rule = near
            .clone()
            .find(|applied| {
                here.is_some_and(|here| {
                    touches(here, (applied.unit, old.location(applied.unit, applied.range).lines))
                })
            })
            .or(near.clone().next())
            .or(fresh.first());
        let remains = possible.iter().any(|other| {
            other.judgement.class != Class::Neutral
                && match (here, place(other)) {
                    (Some(one), Some(other)) => touches(one, other),
                    _ => other.new == each.new,
                }
        });
        match rule {
            Some(applied) if each.judgement.class != Class::Neutral && !remains => {
                let words = match applied.rule.score {
                    _ if applied.rule.kind == RuleKind::Default => {
                        "the old default is written out; whether it held when the notebook was written is not known"
                    }
                    ScoreEffect::Neutral => "a rule says so, if the types are as it needs them",
                    ScoreEffect::Unknown => "a rule says so, and does not know whether numbers stay",
                    ScoreEffect::Shifting => "a rule says so, and that numbers can move",
                };
                let reason = format!("{} ({}): {words}", applied.rule.summary, applied.rule.id);
                // Said once, where the rule applies.
                result.push(Judged {
                    judgement: Judgement::new(Class::Unclear, "rule", reason),
                    old: Some((applied.unit, applied.range)),
                    new: None,
                });
            }
            _ => result.push(each),
        }
    }
    result
}

/// Rules that the new side no longer needs, since it has what they make.
fn rule_changes(applied: &[AppliedRule], still: &[AppliedRule]) -> Vec<Judged> {
    let key = |each: &AppliedRule| each.rule.id.clone();
    let mut left: HashMap<String, usize> = HashMap::new();
    for each in still {
        *left.entry(key(each)).or_insert(0) += 1;
    }
    let mut found = Vec::new();
    for each in applied.iter().rev() {
        match left.get_mut(&key(each)).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => {
                let reason = format!("{} ({})", each.rule.summary, each.rule.id);
                found.push(Judged {
                    judgement: Judgement::new(Class::Neutral, "rule", reason),
                    old: Some((each.unit, each.range)),
                    new: None,
                });
            }
        }
    }
    found
}

/// Imports that only one side has. What the names mean is compared where they are used.
fn import_changes(old: &Side, new: &Side) -> Vec<Judged> {
    let imports = |side: &Side| side.raw.program.imports().to_vec();
    let (before, after) = (imports(old), imports(new));
    let key = |import: &mlem_python::Import| (import.qualified.clone(), import.bound.clone());
    let old_keys: HashSet<_> = before.iter().map(key).collect();
    let new_keys: HashSet<_> = after.iter().map(key).collect();
    let root = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let old_roots: HashSet<String> = before.iter().map(|import| root(&import.qualified)).collect();
    // One sentence for each cell: what the names mean is compared where they are used.
    let mut gone: BTreeMap<usize, (TextRange, Vec<String>)> = BTreeMap::new();
    let mut fresh: BTreeMap<usize, (TextRange, Vec<String>)> = BTreeMap::new();
    let note = |list: &mut BTreeMap<usize, (TextRange, Vec<String>)>, import: &mlem_python::Import| {
        let entry = list.entry(import.unit).or_insert_with(|| (import.range, Vec::new()));
        entry.1.push(format!("`{}`", import.qualified));
    };
    for import in before.iter().filter(|import| !new_keys.contains(&key(import))) {
        note(&mut gone, import);
    }
    let mut found = Vec::new();
    for import in after.iter().filter(|import| !old_keys.contains(&key(import))) {
        let known =
            old_roots.contains(&root(&import.qualified)) || knowledge().is_harmless_import(&import.qualified);
        let unclear =
            if import.is_star && !before.iter().any(|own| own.is_star && own.qualified == import.qualified) {
                format!("`from {} import *` may take the place of other names", import.qualified)
            } else if known {
                note(&mut fresh, import);
                continue;
            } else {
                format!(
                    "`{}` is imported, of which it is not known whether it changes other libraries",
                    import.qualified
                )
            };
        let judgement = Judgement::new(Class::Unclear, "import-path", unclear);
        found.push(Judged { judgement, old: None, new: Some((import.unit, import.range)) });
    }
    for (unit, (range, names)) in gone {
        let reason = format!("imports are gone: {}", names.join(", "));
        let place = Some((unit, range));
        found.push(Judged {
            judgement: Judgement::new(Class::Neutral, "import-path", reason),
            old: place,
            new: None,
        });
    }
    for (unit, (range, names)) in fresh {
        let reason = format!("imports are new: {}", names.join(", "));
        let place = Some((unit, range));
        found.push(Judged {
            judgement: Judgement::new(Class::Neutral, "import-path", reason),
            old: None,
            new: place,
        });
    }
    found
}

fn described(found: Vec<Judged>, old: &Side, new: &Side) -> Vec<Change> {
    found
        .into_iter()
        .map(|each| {
            let location = |side: &Side, place: Option<(usize, TextRange)>| -> Option<Location> {
                place.map(|(unit, range)| side.location(unit, range))
            };
            let text = |side: &Side, place: Option<(usize, TextRange)>| {
                place.map(|(unit, range)| side.lines(unit, range)).unwrap_or_default()
            };
            let rule = (each.judgement.topic == "rule")
                .then(|| {
                    each.judgement
                        .reason
                        .rsplit_once('(')
                        .map(|(_, rest)| rest.split(')').next().unwrap_or(rest).to_owned())
                })
                .flatten();
            Change {
                class: each.judgement.class,
                topic: each.judgement.topic,
                reason: each.judgement.reason,
                old: location(old, each.old),
                new: location(new, each.new),
                before: text(old, each.old),
                after: text(new, each.new),
                rule,
            }
        })
        .collect()
}

/// Old cells whose text is nowhere in the new version, and of which nothing was said: the same
/// code in other words.
fn rewritten_cells(changes: &[Change], old: &Side, new: &Side) -> Vec<Change> {
    let texts: HashSet<&str> = (0..new.len()).map(|unit| new.text(unit)).collect();
    let said: HashSet<Option<usize>> =
        changes.iter().filter_map(|change| change.old).map(|place| place.cell).collect();
    let extended: HashSet<Option<usize>> = changes
        .iter()
        .filter(|change| change.old.is_none())
        .filter_map(|change| change.new)
        .map(|place| place.cell)
        .collect();
    let homes = homes(old, new);
    (0..old.len())
        .filter(|unit| !old.text(*unit).trim().is_empty() && !texts.contains(old.text(*unit)))
        .filter(|unit| !said.contains(&old.cell(*unit)))
        .filter(|unit| homes.get(unit).is_none_or(|home| !extended.contains(&new.cell(*home))))
        .map(|unit| Change {
            class: Class::Neutral,
            topic: "layout".to_owned(),
            reason: "the same code in other words: comments, layout, cells, or constants that got a name"
                .to_owned(),
            old: Some(Location { cell: old.cell(unit), lines: (1, old.text(unit).lines().count().max(1)) }),
            new: None,
            before: String::new(),
            after: String::new(),
            rule: None,
        })
        .collect()
}

/// In which unit of the new side most statements of each old unit are.
fn homes(old: &Side, new: &Side) -> HashMap<usize, usize> {
    let (before, _) = old.raw.statements();
    let (after, _) = new.raw.statements();
    let mut places: HashMap<&Node, usize> = HashMap::new();
    for node in &after {
        places.entry(node).or_insert(node.unit);
    }
    let mut votes: HashMap<usize, BTreeMap<usize, usize>> = HashMap::new();
    for node in &before {
        if let Some(home) = places.get(node) {
            *votes.entry(node.unit).or_default().entry(*home).or_insert(0) += 1;
        }
    }
    let most = |votes: BTreeMap<usize, usize>| {
        votes.into_iter().max_by_key(|(_, count)| *count).map(|(home, _)| home)
    };
    votes.into_iter().filter_map(|(unit, votes)| Some((unit, most(votes)?))).collect()
}
