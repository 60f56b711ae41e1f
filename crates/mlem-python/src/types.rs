//! The reviewed table of what library calls return.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use serde::Deserialize;

/// What a call, an attribute or a subscript gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spec {
    /// Known to the table as not certain, e.g. a function with a capitalised name.
    Unknown,
    /// The type of the receiver.
    Receiver,
    /// The type of the positional argument with this index.
    Argument(usize),
    /// For each positional argument two values of its type, as `train_test_split` gives.
    InputsTwice,
    /// What the receiver holds: a list's item, a dictionary's value.
    Item,
    /// A dictionary's key.
    Key,
    /// A type with what it holds.
    Named(String, Vec<Spec>),
}

#[derive(Debug, Default)]
struct TypeInfo {
    bases: Vec<String>,
    methods: FxHashMap<String, Spec>,
    attributes: FxHashMap<String, Spec>,
    subscript: FxHashMap<String, Spec>,
    item: Option<Spec>,
    mutators: Vec<String>,
    other: Option<(Spec, Vec<String>)>,
}

/// The table, indexed.
#[derive(Debug, Default)]
pub(crate) struct Table {
    functions: FxHashMap<String, Spec>,
    values: FxHashMap<String, Spec>,
    types: FxHashMap<String, TypeInfo>,
    aliases: FxHashMap<String, String>,
    families: Vec<(String, String)>,
    stars: FxHashMap<String, Vec<(String, Vec<String>)>>,
    builtins: FxHashMap<String, ()>,
    changes_argument: FxHashMap<String, usize>,
    mutators: FxHashMap<String, ()>,
}

#[derive(Deserialize)]
struct File {
    builtins: Builtins,
    mutation: Mutation,
    #[serde(default)]
    group: Vec<Group>,
    #[serde(default, rename = "type")]
    types: Vec<TypeEntry>,
    #[serde(default)]
    family: Vec<Family>,
    #[serde(default)]
    star: Vec<Star>,
}

#[derive(Deserialize)]
struct Builtins {
    names: Vec<String>,
}

#[derive(Deserialize)]
struct Mutation {
    methods: Vec<String>,
    arguments: FxHashMap<String, usize>,
}

type Returns = FxHashMap<String, Vec<String>>;

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    functions: Returns,
    #[serde(default)]
    values: Returns,
}

#[derive(Deserialize)]
struct TypeEntry {
    name: String,
    #[serde(default)]
    also: Vec<String>,
    #[serde(default)]
    bases: Vec<String>,
    #[serde(default)]
    methods: Returns,
    #[serde(default)]
    attributes: Returns,
    #[serde(default)]
    subscript: FxHashMap<String, String>,
    item: Option<String>,
    #[serde(default)]
    mutators: Vec<String>,
    other: Option<Other>,
}

#[derive(Deserialize)]
struct Other {
    gives: String,
    but: Vec<String>,
}

#[derive(Deserialize)]
struct Family {
    prefix: String,
    base: String,
}

#[derive(Deserialize)]
struct Star {
    module: String,
    exports: String,
    names: Vec<String>,
}

/// The table shipped with the crate.
pub(crate) fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let file = toml::from_str(include_str!("types.toml"));
        // A test parses the embedded file, so this cannot fail in a build that passed it; a
        // table without entries only knows less.
        file.map(Table::index).unwrap_or_default()
    })
}

/// The name under which [`crate::Program::type_of`] gives a class: `pandas.DataFrame` for
/// `pandas.core.frame.DataFrame`. Other names stay.
pub fn canonical_type(name: &str) -> &str {
    table().canonical(name)
}

/// Whether the table knows that a type is another one or derives from it, e.g.
/// `scipy.sparse.csr_matrix` from `scipy.sparse.spmatrix`.
pub fn is_subtype(ty: &str, base: &str) -> bool {
    table().derives(canonical_type(ty), canonical_type(base))
}

impl Table {
    fn index(file: File) -> Self {
        let mut table = Self {
            builtins: file.builtins.names.into_iter().map(|name| (name, ())).collect(),
            changes_argument: file.mutation.arguments,
            mutators: file.mutation.methods.into_iter().map(|name| (name, ())).collect(),
            families: file.family.into_iter().map(|family| (family.prefix, family.base)).collect(),
            ..Self::default()
        };
        for group in file.group {
            table.functions.extend(invert(group.functions));
            table.values.extend(invert(group.values));
        }
        for star in file.star {
            table.stars.entry(star.module).or_default().push((star.exports, star.names));
        }
        for entry in file.types {
            for alias in entry.also {
                table.aliases.insert(alias, entry.name.clone());
            }
            let info = TypeInfo {
                bases: entry.bases,
                methods: invert(entry.methods).collect(),
                attributes: invert(entry.attributes).collect(),
                subscript: entry.subscript.into_iter().map(|(key, spec)| (key, parse(&spec))).collect(),
                item: entry.item.as_deref().map(parse),
                mutators: entry.mutators,
                other: entry.other.map(|other| (parse(&other.gives), other.but)),
            };
            table.types.insert(entry.name, info);
        }
        table
    }

    /// What calling a function, a class or a class's method by its qualified name returns.
    pub(crate) fn function(&self, qualified: &str) -> Option<&Spec> {
        self.functions.get(qualified)
    }

    /// The type of a module's attribute that is not called, e.g. `numpy.nan`.
    pub(crate) fn value(&self, qualified: &str) -> Option<&Spec> {
        self.values.get(qualified)
    }

    /// The name that the table uses for a type.
    pub(crate) fn canonical<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }

    /// Whether a type is another or derives from it.
    pub(crate) fn derives(&self, ty: &str, base: &str) -> bool {
        ty == base
            || self.search(ty, &|info| info.bases.iter().any(|own| own == base).then_some(())).is_some()
    }

    pub(crate) fn has_type(&self, name: &str) -> bool {
        self.types.contains_key(name)
    }

    pub(crate) fn is_builtin(&self, name: &str) -> bool {
        self.builtins.contains_key(name)
    }

    fn search<'a, T>(&'a self, name: &str, found: &dyn Fn(&'a TypeInfo) -> Option<T>) -> Option<T> {
        if let Some(info) = self.types.get(name) {
            let own = found(info);
            return own.or_else(|| info.bases.iter().find_map(|base| self.search(base, found)));
        }
        let family = self.families.iter().find(|(prefix, _)| name.starts_with(prefix))?;
        self.search(&family.1, found)
    }

    pub(crate) fn method(&self, ty: &str, name: &str) -> Option<&Spec> {
        self.search(ty, &|info| info.methods.get(name))
    }

    /// An attribute that is not called. A name that a DataFrame does not have is a column.
    pub(crate) fn attribute(&self, ty: &str, name: &str) -> Option<&Spec> {
        let known = self.search(ty, &|info| info.attributes.get(name));
        known.or_else(|| {
            let (gives, but) = self.types.get(ty)?.other.as_ref()?;
            let is_member =
                name.starts_with('_') || self.method(ty, name).is_some() || but.iter().any(|own| own == name);
            (!is_member).then_some(gives)
        })
    }

    /// What a subscript of this kind gives: str, int, list, slice, tuple, array.
    pub(crate) fn subscript(&self, ty: &str, kind: &str) -> Option<&Spec> {
        self.search(ty, &|info| info.subscript.get(kind))
    }

    pub(crate) fn item(&self, ty: &str) -> Option<&Spec> {
        self.search(ty, &|info| info.item.as_ref())
    }

    /// Whether calling a method changes its receiver. Of an unknown type, whether any type's
    /// method of that name does.
    pub(crate) fn is_mutator(&self, ty: Option<&str>, name: &str) -> bool {
        match ty {
            Some(ty) if self.types.contains_key(ty) => {
                self.search(ty, &|info| info.mutators.iter().any(|own| own == name).then_some(())).is_some()
            }
            _ => self.mutators.contains_key(name),
        }
    }

    /// The positional argument that a function changes in place, e.g. 0 of `random.shuffle`.
    pub(crate) fn changed_argument(&self, qualified: &str) -> Option<usize> {
        self.changes_argument.get(qualified).copied()
    }

    /// Whether `from module import *` brings a name, and its qualified name; `None` if the
    /// table does not know the module.
    pub(crate) fn star(&self, module: &str, name: &str) -> Option<Option<String>> {
        let exports = self.stars.get(module)?;
        let found = exports.iter().find(|(_, names)| names.iter().any(|own| own == name));
        Some(found.map(|(home, _)| format!("{home}.{name}")))
    }
}

fn invert(returns: Returns) -> impl Iterator<Item = (String, Spec)> {
    returns.into_iter().flat_map(|(spec, names)| {
        let spec = parse(&spec);
        names.into_iter().map(move |name| (name, spec.clone()))
    })
}

/// Reads `self`, `argument 0`, `inputs twice`, `item`, `key`, `unknown`, `list[str]`,
/// `tuple[int, str]` and plain type names.
fn parse(text: &str) -> Spec {
    let text = text.trim();
    match text {
        "self" => return Spec::Receiver,
        "inputs twice" => return Spec::InputsTwice,
        "item" => return Spec::Item,
        "key" => return Spec::Key,
        "unknown" => return Spec::Unknown,
        _ => {}
    }
    if let Some(index) = text.strip_prefix("argument ").and_then(|index| index.parse().ok()) {
        return Spec::Argument(index);
    }
    let Some((name, inner)) = text.strip_suffix(']').and_then(|text| text.split_once('[')) else {
        return Spec::Named(text.to_owned(), Vec::new());
    };
    let (mut depth, mut start, mut arguments) = (0_usize, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                arguments.push(parse(&inner[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    arguments.push(parse(&inner[start..]));
    Spec::Named(name.to_owned(), arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_table_is_well_formed() {
        let file: File = toml::from_str(include_str!("types.toml")).unwrap();
        let table = Table::index(file);
        assert!(table.types.len() > 30);
        for (name, info) in &table.types {
            for base in &info.bases {
                assert!(table.has_type(base), "{name} has the unknown base {base}");
            }
        }
        for (prefix, base) in &table.families {
            assert!(table.has_type(base), "family {prefix} has the unknown base {base}");
        }
    }

    #[test]
    fn subtypes_follow_the_bases() {
        assert!(is_subtype("scipy.sparse.csr.csr_matrix", "scipy.sparse.spmatrix"));
        assert!(is_subtype("pandas.core.frame.DataFrame", "pandas.DataFrame"));
        assert!(is_subtype("collections.Counter", "dict"));
        assert!(!is_subtype("pandas.Series", "pandas.DataFrame"));
    }

    #[test]
    fn nested_specs_are_read() {
        let str_spec = Spec::Named("str".to_owned(), Vec::new());
        let expected =
            Spec::Named("list".to_owned(), vec![Spec::Named("tuple".to_owned(), vec![str_spec, Spec::Item])]);
        assert_eq!(parse("list[tuple[str, item]]"), expected);
    }
}
