//! `mlem fix`: safe fixes, every other byte as it was.

use std::path::Path;
use std::process::ExitCode;

use mlem_configuration::Settings;
use mlem_environment::{Detector, Probe, newest_releases};
use mlem_notebook::{Language, Notebook, write_atomic};
use mlem_repair::clues::{self, Stored};
use mlem_repair::defaults;
use mlem_repair::report::EditRecord;
use mlem_repair::sources::{Place, Sources};
use mlem_repair::statics::{self, Permission};
use mlem_repair::wanted::Wanted;
use mlem_repair::{modules, relocate, scratch};
use serde::Serialize;

use crate::arguments::{Fix, Format};
use crate::configuration::{self, Chosen};
use crate::console;
use crate::failure::Failure;
use crate::inputs::{collect, extension};
use crate::target;

#[derive(Debug, Serialize)]
struct Fixed {
    path: String,
    edits: Vec<EditRecord>,
    left_alone: Vec<String>,
    #[serde(skip)]
    diff: String,
}

pub(crate) fn run(fix: &Fix) -> Result<ExitCode, Failure> {
    let mut probe = match &fix.target.python {
        Some(python) => {
            let environment = mlem_environment::existing(python)?;
            Some(Probe::start(&environment)?.with_cache(&target::cache()?))
        }
        None => None,
    };
    let mut overrides = configuration::selecting(&fix.selected);
    overrides.include_unsafe = match (fix.include_unsafe, fix.exclude_unsafe) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    };
    let mut configuration = configuration::against(&fix.target, overrides)?;
    let inputs = collect(&fix.paths);
    let chosen = configuration::configure(&inputs, &fix.paths, &fix.selected, &mut configuration)?;
    let detector = Detector::new(newest_releases().python());
    let mut fixed = Vec::new();
    let mut broken = 0;
    for Chosen { file, settings } in &chosen {
        match one(file, fix, settings, &detector, probe.as_mut()) {
            Ok(result) => fixed.push(result),
            Err(failure) => {
                console::error(&failure.to_string());
                broken += 1;
            }
        }
    }
    let changes: usize = fixed.iter().map(|each| each.edits.len()).sum();
    if fix.diff {
        console::data(&fixed.iter().map(|each| each.diff.as_str()).collect::<String>());
    }
    match fix.format {
        Format::Json => console::json(&serde_json::json!({"schema": 1, "files": fixed})),
        Format::Text => {
            for each in &fixed {
                for edit in &each.edits {
                    let place =
                        edit.cell.map_or(edit.path.clone(), |cell| format!("{}: cell {cell}", each.path));
                    let rule = edit.rule.as_ref().map_or(String::new(), |rule| format!("{rule} "));
                    console::note(&format!("{place}, line {}: {rule}{}", edit.lines.0, edit.reason));
                }
            }
            let verb = if fix.diff || fix.check { "would be made" } else { "made" };
            let left: usize = fixed.iter().map(|each| each.left_alone.len()).sum();
            console::note(&format!(
                "{} {verb}, {} left alone",
                console::counted(changes, "change"),
                console::counted(left, "finding")
            ));
        }
    }
    inputs.finish(broken, u8::from(fix.check && changes > 0))
}

fn one(
    file: &Path,
    fix: &Fix,
    settings: &Settings,
    detector: &Detector,
    probe: Option<&mut Probe>,
) -> Result<Fixed, Failure> {
    let permission = if settings.include_unsafe() { Permission::Unsafe } else { Permission::Safe };
    let shown = file.display().to_string();
    let is_module = extension(file) == "py";
    let (mut notebook, mut sources, root) = if is_module {
        let text = std::fs::read_to_string(file).map_err(|error| Failure::path(file, error.to_string()))?;
        let mut sources = Sources::default();
        sources.add_modules(vec![(file.to_owned(), text)]);
        (None, sources, Path::new("").to_owned())
    } else {
        let notebook = Notebook::read(file)?;
        if let Language::Other(language) = notebook.language() {
            return Err(Failure::path(
                file,
                format!("the notebook's language is {language}; only Python is fixed"),
            ));
        }
        let mut sources = Sources::new(&notebook);
        let real = std::fs::canonicalize(file)?;
        let root = scratch::repository_root(&real).to_owned();
        let folder = real.parent().unwrap_or(Path::new("/")).to_owned();
        let mut helpers = modules::find(&sources.program(), &folder, &root);
        helpers.retain(|(module, _)| !settings.excludes(&root.join(module)));
        sources.add_modules(helpers);
        (Some(notebook), sources, root)
    };
    let wanted = Wanted::new(settings, file, &root, &sources);
    let target = settings.target();
    let mut fixes = statics::fix(&mut sources, &shown, &wanted, target, permission);
    if let Some(probe) = probe {
        let folder = file.parent().unwrap_or(Path::new(""));
        let moved = relocate::vanished_names(&mut sources, &shown, folder, &wanted, probe, permission);
        fixes.edits.extend(moved.edits);
        fixes.left_alone.extend(moved.left_alone);
    }
    let dating = defaults::Dating::from(&fix.dating);
    let time = (!dating.no_pins).then(|| {
        let told = match &notebook {
            Some(notebook) => {
                let (program, cells) = (sources.program(), sources.cell_indices());
                let folder = file.parent().unwrap_or(Path::new(""));
                clues::of_notebook(
                    Stored { notebook, program: &program, cells: &cells, folder, detector },
                    dating.as_of,
                )
            }
            None => dating.as_of.map(clues::of_day).into_iter().collect(),
        };
        defaults::time_of(&told, &fixes.edits, &sources, wanted.catalogue())
    });
    if let Some(time) = &time {
        fixes.edits.extend(defaults::fix(&mut sources, &shown, &wanted, target, time));
        fixes.left_alone.extend(time.0.conflicts().iter().cloned());
        fixes.left_alone.extend(defaults::not_pinned(&sources, &shown, &wanted, target, time));
    }
    let diff = sources.unified_diff(file);
    if !(fix.diff || fix.check) {
        for piece in sources.modules().iter().filter(|piece| piece.current != piece.original) {
            if let Place::Module(path) = &piece.place {
                write_atomic(&root.join(path), piece.current.as_bytes())
                    .map_err(|error| Failure::path(path, error.to_string()))?;
            }
        }
        if let Some(notebook) = &mut notebook
            && sources.cells().iter().any(|piece| piece.current != piece.original)
        {
            sources.write_cells(notebook);
            notebook.write_atomic(file)?;
        }
    }
    let mut left_alone = fixes.left_alone;
    left_alone.extend(statics::remaining(&sources, &shown, &wanted, target));
    Ok(Fixed { path: shown, edits: fixes.edits, left_alone, diff })
}
