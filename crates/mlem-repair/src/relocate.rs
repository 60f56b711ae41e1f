//! Vanished names that no rule knows, rewritten to the place that the installed packages offer them in today.

use std::path::Path;

use mlem_environment::Probe;
use mlem_python::Edit;
use mlem_rules::checks::VANISHED;

use crate::report::{EditRecord, EditSource};
use crate::sources::Sources;
use crate::statics::{Permission, StaticFixes, is_silenced, record, record_place};
use crate::vanished::{self, Relocation};
use crate::wanted::Wanted;

/// Rewrites what has exactly one place today; with [`Permission::Unsafe`] also what has a likely one. `notebook` names
/// the cells' file in the records, `folder` is where it lies.
pub fn vanished_names(
    sources: &mut Sources,
    notebook: &str,
    folder: &Path,
    wanted: &Wanted,
    probe: &mut Probe,
    permission: Permission,
) -> StaticFixes {
    let mut fixes = StaticFixes::default();
    // The cells are one program, asked for through any of them; each module is one of its own.
    let cells = sources.cells().len();
    let first = if cells > 0 { Some(0) } else { None };
    for piece in first.into_iter().chain(cells..sources.pieces().len()) {
        let (program, _) = sources.program_of(piece);
        for found in vanished::find(&program, probe, folder) {
            let Some(moved) = found.moved else { continue };
            let unit = &program.units()[found.unit];
            let line = unit.position(found.at).0;
            let at = if piece < cells { found.unit } else { piece };
            if !wanted.has(&sources.pieces()[at].place, VANISHED.id)
                || is_silenced(wanted, unit, VANISHED.id, line)
            {
                continue;
            }
            if moved.is_only || permission == Permission::Unsafe {
                fixes.edits.extend(relocate(sources, notebook, piece, &moved));
            } else {
                let (path, cell) = record_place(sources, at, notebook);
                let place = cell.map_or(path, |cell| format!("cell {cell}"));
                fixes.left_alone.push(format!("{place}, line {line}: {}", found.message));
            }
        }
    }
    fixes
}

fn relocate(sources: &mut Sources, notebook: &str, piece: usize, moved: &Relocation) -> Vec<EditRecord> {
    let base = if piece < sources.cells().len() { 0 } else { piece };
    let (program, _) = sources.program_of(piece);
    let mut by_unit: Vec<(usize, Vec<Edit>)> = Vec::new();
    for (unit, edit) in mlem_rules::relocate(&program, &moved.old, &moved.new) {
        match by_unit.iter_mut().find(|(known, _)| *known == unit) {
            Some((_, edits)) => edits.push(edit),
            None => by_unit.push((unit, vec![edit])),
        }
    }
    let mut records = Vec::new();
    for (unit, edits) in by_unit {
        let place = record_place(sources, base + unit, notebook);
        let Ok(change) = sources.apply(base + unit, &edits) else { continue };
        let (safety, sure) = if moved.is_only {
            ("safe-with-evidence", "only there")
        } else {
            ("unsafe", "most likely there")
        };
        let evidence =
            format!("the interpreter does not have `{}`; {sure} in {}", moved.old, moved.distribution);
        let reason = format!("`{}` is `{}` now", moved.old, moved.new);
        let made = record(place, change, None, evidence, safety, reason);
        records.push(EditRecord { source: EditSource::WhereNow, ..made });
    }
    records
}
