//! Colab's own idioms: mounting a drive, uploading and downloading files. Outside Colab there is nothing to mount,
//! and what was uploaded lies in the data folder.

use mlem_python::ast::{Expr, Stmt};
use mlem_python::{Edit, Program, Ranged};

use crate::comment::comment_out;

/// Edits by unit that take `google.colab` out of `program`, with what each is for. Uploads are read from `data`, as a
/// notebook would write that folder; without it they are left for the run to fail on.
pub(crate) fn edits(program: &Program, data: Option<&str>) -> Vec<(usize, Vec<Edit>)> {
    let mut all = Vec::new();
    for (unit, parsed) in program.units().iter().enumerate() {
        let mut edits = Vec::new();
        for statement in parsed.body() {
            if is_colab_import(program, unit, statement) || is_colab_call(program, unit, statement) {
                edits.extend(comment_out(parsed.source(), statement.range()));
            } else if let (Stmt::Assign(assign), Some(data)) = (statement, data)
                && called(program, unit, &assign.value) == Some("google.colab.files.upload")
            {
                let text = format!(
                    "{{path.name: path.read_bytes() for path in __import__('pathlib').Path({}).iterdir() if path.is_file()}}",
                    quoted(data)
                );
                edits.push(Edit::replacement(assign.value.range(), text));
            }
        }
        if !edits.is_empty() {
            all.push((unit, edits));
        }
    }
    all
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// An import statement that brings nothing but names of `google.colab`.
fn is_colab_import(program: &Program, unit: usize, statement: &Stmt) -> bool {
    let mut imports = program
        .imports()
        .iter()
        .filter(|import| import.unit == unit && import.range == statement.range())
        .peekable();
    imports.peek().is_some()
        && imports.all(|import| {
            !import.guarded
                && (import.qualified == "google.colab" || import.qualified.starts_with("google.colab."))
        })
}

/// A call for its effect alone: `drive.mount(…)`, `files.download(…)`, `auth.authenticate_user()`.
fn is_colab_call(program: &Program, unit: usize, statement: &Stmt) -> bool {
    let Stmt::Expr(statement) = statement else { return false };
    called(program, unit, &statement.value).is_some_and(|name| name.starts_with("google.colab."))
}

fn called<'p>(program: &'p Program, unit: usize, value: &Expr) -> Option<&'p str> {
    let Expr::Call(call) = value else { return None };
    program.qualified_name(unit, &call.func)
}

#[cfg(test)]
mod tests {
    use mlem_python::{EditSet, Unit};

    use super::*;

    fn without_colab(cell: &str, data: Option<&str>) -> String {
        let program = Program::new(vec![Unit::cell(cell)]);
        let mut set = EditSet::new();
        for (_, unit_edits) in edits(&program, data) {
            set.add_all(unit_edits).unwrap();
        }
        set.apply(cell).unwrap()
    }

    #[test]
    fn mounting_goes_and_uploads_are_read_from_the_data_folder() {
        let cell = "from google.colab import drive, files\ndrive.mount('/content/drive')\nup = files.upload()\nx = 1";
        assert_eq!(
            without_colab(cell, Some("data")),
            "# from google.colab import drive, files\n# drive.mount('/content/drive')\nup = {path.name: path.read_bytes() \
             for path in __import__('pathlib').Path('data').iterdir() if path.is_file()}\nx = 1"
        );
        assert!(without_colab(cell, None).contains("up = files.upload()"));
        assert_eq!(without_colab("import os\nos.mount('x')", None), "import os\nos.mount('x')");
    }
}
