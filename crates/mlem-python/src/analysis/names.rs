//! Interned strings and types, so that the pass compares and copies numbers.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// An interned string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Symbol(u32);

/// An interned type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypeId(u32);

/// Strings and types of one program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    symbols: FxHashMap<Arc<str>, Symbol>,
    texts: Vec<Arc<str>>,
    types: FxHashMap<(Symbol, Vec<Option<TypeId>>), TypeId>,
    shapes: Vec<(Symbol, Vec<Option<TypeId>>)>,
}

impl Names {
    pub(crate) fn intern(&mut self, text: &str) -> Symbol {
        if let Some(symbol) = self.symbols.get(text) {
            return *symbol;
        }
        // A program's source is below 4 GiB, so it has fewer names than that.
        let symbol = Symbol(self.texts.len() as u32);
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.symbols.insert(text, symbol);
        symbol
    }

    pub(crate) fn find(&self, text: &str) -> Option<Symbol> {
        self.symbols.get(text).copied()
    }

    pub(crate) fn text(&self, symbol: Symbol) -> &str {
        &self.texts[symbol.0 as usize]
    }

    /// A type with the types of what it holds: a list's items, a tuple's elements, a
    /// dictionary's keys and values.
    pub(crate) fn type_of(&mut self, name: &str, arguments: Vec<Option<TypeId>>) -> TypeId {
        let symbol = self.intern(name);
        let key = (symbol, arguments);
        if let Some(id) = self.types.get(&key) {
            return *id;
        }
        let id = TypeId(self.shapes.len() as u32);
        self.shapes.push(key.clone());
        self.types.insert(key, id);
        id
    }

    pub(crate) fn type_name(&self, id: TypeId) -> &str {
        self.text(self.shapes[id.0 as usize].0)
    }

    pub(crate) fn arguments(&self, id: TypeId) -> &[Option<TypeId>] {
        &self.shapes[id.0 as usize].1
    }

    /// How deeply a type's arguments nest; the pass stops building at a few levels.
    pub(crate) fn depth(&self, id: TypeId) -> usize {
        let inner = self.arguments(id).iter().flatten().map(|inner| self.depth(*inner)).max();
        1 + inner.unwrap_or(0)
    }
}
