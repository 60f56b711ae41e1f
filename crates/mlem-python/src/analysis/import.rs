//! What import statements bind.

use ruff_python_ast as ast;
use ruff_text_size::{Ranged, TextSize};

use super::scope::ScopeKind;
use super::{Pass, Value};
use crate::magic::MagicKind;
use crate::program::Import;
use crate::unit::Unit;

impl<'a> Pass<'a> {
    pub(super) fn import(&mut self, import: &'a ast::StmtImport) {
        for alias in &import.names {
            let qualified = alias.name.as_str();
            let root = qualified.split('.').next().unwrap_or(qualified);
            let (bound, value) = match &alias.asname {
                Some(asname) => (asname.as_str(), qualified),
                None => (root, root),
            };
            self.add_import(Import {
                unit: self.unit,
                range: import.range,
                alias_range: alias.range,
                qualified: qualified.to_owned(),
                module: qualified.to_owned(),
                bound: bound.to_owned(),
                is_from: false,
                is_star: false,
                guarded: self.guarded > 0,
                in_function: !self.body_ranges.is_empty(),
            });
            let value = Value::named(self.names.intern(value));
            let bound = self.names.intern(bound);
            self.bind(bound, value, alias.start(), true);
        }
    }

    pub(super) fn import_from(&mut self, import: &'a ast::StmtImportFrom) {
        let mut module = ".".repeat(import.level as usize);
        module.push_str(import.module.as_ref().map_or("", |name| name.as_str()));
        let module_symbol = self.names.intern(module.trim_start_matches('.'));
        for alias in &import.names {
            let name = alias.name.as_str();
            let is_star = name == "*";
            let separator = if module.ends_with('.') { "" } else { "." };
            let qualified = if is_star { module.clone() } else { format!("{module}{separator}{name}") };
            let bound = alias.asname.as_ref().map_or(name, |asname| asname.as_str());
            self.add_import(Import {
                unit: self.unit,
                range: import.range,
                alias_range: alias.range,
                qualified: qualified.clone(),
                module: module.clone(),
                bound: bound.to_owned(),
                is_from: true,
                is_star,
                guarded: self.guarded > 0,
                in_function: !self.body_ranges.is_empty(),
            });
            if is_star {
                self.import_star(module_symbol, alias.start());
                continue;
            }
            let known = self.names.find(name);
            let own = known.and_then(|name| self.modules.get(&module_symbol)?.get(&name).copied());
            let value = match own {
                Some(value) if value != Value::UNKNOWN => value,
                _ => Value::named(self.names.intern(&qualified)),
            };
            let bound = self.names.intern(bound);
            self.bind(bound, value, alias.start(), true);
        }
    }

    fn import_star(&mut self, module: super::Symbol, at: TextSize) {
        if let Some(names) = self.modules.get(&module).cloned() {
            for (name, value) in names {
                if !self.names.text(name).starts_with('_') {
                    self.bind(name, value, at, true);
                }
            }
            return;
        }
        self.stars.retain(|star| *star != module);
        self.stars.push(module);
    }

    fn add_import(&mut self, import: Import) {
        let same = |other: &Import| other.unit == import.unit && other.alias_range == import.alias_range;
        if !(self.rereading && self.imports.iter().any(same)) {
            self.imports.push(import);
            self.import_scopes.push(self.body_ranges.last().copied());
        }
    }

    /// `%pylab` imports as IPython.core.pylabtools.import_pylab does.
    pub(super) fn magic_imports(&mut self, unit: &Unit) {
        let pylab = unit.magics().iter().find(|magic| {
            magic.kind == MagicKind::Line
                && magic.name == "pylab"
                && !magic.argument.contains("--no-import-all")
        });
        let Some(magic) = pylab else { return };
        let at = magic.range.start();
        let modules = [
            ("np", "numpy"),
            ("numpy", "numpy"),
            ("matplotlib", "matplotlib"),
            ("plt", "matplotlib.pyplot"),
            ("pyplot", "matplotlib.pyplot"),
            ("pylab", "matplotlib.pylab"),
            ("mlab", "matplotlib.mlab"),
        ];
        debug_assert!(self.scopes.stack.last().is_some_and(|scope| scope.kind == ScopeKind::Module));
        for (bound, qualified) in modules {
            let value = Value::named(self.names.intern(qualified));
            let bound = self.names.intern(bound);
            self.bind(bound, value, at, true);
        }
        let pylab = self.names.intern("pylab");
        self.stars.retain(|star| *star != pylab);
        self.stars.push(pylab);
    }
}
