//! `mlem rule`: rules, explained and tested.

use std::path::Path;
use std::process::ExitCode;

use mlem_rules::checks::CHECKS;
use mlem_rules::{Catalogue, Explanation, Known, example, reference};
use serde_json::json;

use crate::arguments::{Rule, RuleFormat};
use crate::configuration;
use crate::console;
use crate::failure::Failure;

pub(crate) fn run(arguments: &Rule) -> Result<ExitCode, Failure> {
    let overrides = configuration::overrides(&arguments.configured);
    let mut found = configuration::against_releases(overrides);
    // The rules of a project are those of the configuration that a file in the current folder would have.
    let settings = found.settings(Path::new("."))?;
    let catalogue = settings.catalogue();
    let named: Vec<Known> =
        arguments.rules.iter().map(|text| catalogue.look_up(text)).collect::<Result<_, _>>()?;
    if arguments.test {
        return test(catalogue, &named, arguments.format);
    }
    match arguments.format {
        RuleFormat::Markdown if arguments.all => console::data(&reference(catalogue)),
        RuleFormat::Text if arguments.all => {
            let rules = catalogue.rules().iter().map(|rule| (rule.id.as_str(), &*rule.name, &*rule.summary));
            let checks = CHECKS.iter().map(|check| (check.id, check.name, check.summary));
            let lines = rules.chain(checks).map(|(id, name, summary)| format!("{id:8} {name}: {summary}\n"));
            console::data(&lines.collect::<String>());
        }
        RuleFormat::Text | RuleFormat::Markdown => {
            let told: Vec<String> =
                named.into_iter().map(|known| Explanation::of(known).markdown()).collect();
            console::data(&told.join("\n"));
        }
        RuleFormat::Json => {
            let all = catalogue.rules().iter().map(Known::Rule).chain(CHECKS.map(Known::Check));
            let told: Vec<Explanation> = match arguments.all {
                true => all.map(Explanation::of).collect(),
                false => named.into_iter().map(Explanation::of).collect(),
            };
            console::json(&json!({"schema": 1, "rules": told}));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Tests the examples of the named rules, else of the project's own.
fn test(catalogue: &'static Catalogue, named: &[Known], format: RuleFormat) -> Result<ExitCode, Failure> {
    let chosen: Vec<&'static mlem_rules::Rule> = match named {
        [] => catalogue.added().iter().collect(),
        named => named.iter().filter_map(|known| catalogue.rule(Explanation::of(*known).id)).collect(),
    };
    if chosen.is_empty() {
        return Err(Failure::Usage(
            "there is nothing to test: name the folder of your rules with --rules DIR, or rules by their ids"
                .into(),
        ));
    }
    let objections: Vec<_> = chosen
        .iter()
        .flat_map(|rule| {
            example::objections(catalogue, rule).into_iter().map(move |objection| (rule, objection))
        })
        .collect();
    if format == RuleFormat::Json {
        let told: Vec<_> = objections
            .iter()
            .map(|(rule, objection)| json!({"rule": rule.id, "file": rule.file, "line": rule.line, "objection": objection}))
            .collect();
        console::json(&json!({"schema": 1, "tested": chosen.len(), "objections": told}));
    } else {
        for (rule, objection) in &objections {
            console::line(&format!("{}:{}: rule {}: {objection}", rule.file, rule.line, rule.id));
        }
        let failed =
            chosen.iter().filter(|rule| objections.iter().any(|(other, _)| other.id == rule.id)).count();
        console::note(&format!("{} tested, {failed} failed", console::counted(chosen.len(), "rule")));
    }
    Ok(ExitCode::from(u8::from(!objections.is_empty())))
}
