//! The whole ledger as JSON Lines.

use std::io::Write;

use rusqlite::types::ValueRef;
use serde_json::{Map, Value};

use crate::Ledger;
use crate::error::LedgerError;
use crate::schema::SCHEMA;

/// Tables in an order in which every reference points backwards, with the columns that hold JSON.
const TABLES: &[(&str, &str, &[&str])] = &[
    ("notebooks", "id", &[]),
    ("environments", "id", &["packages"]),
    ("blobs", "sha256", &[]),
    ("runs", "id", &["options", "report"]),
    ("attempts", "id", &[]),
    ("edits", "id", &[]),
    ("cells", "id", &[]),
];

impl Ledger {
    /// Writes one JSON object a line: first `{"table":"schema","version":n}`, then every row as
    /// `{"table":NAME, column: value, …}`. Contents of blobs are left out; their hash and size
    /// are there.
    pub fn export_jsonl(&self, mut out: impl Write) -> Result<(), LedgerError> {
        let connection = self.lock();
        let snapshot = self.sql(connection.unchecked_transaction())?;
        writeln!(out, "{{\"table\":\"schema\",\"version\":{SCHEMA}}}").map_err(LedgerError::Export)?;
        for (table, key, json) in TABLES {
            let columns = if *table == "blobs" { "sha256, size" } else { "*" };
            let mut statement =
                self.sql(snapshot.prepare(&format!("SELECT {columns} FROM {table} ORDER BY {key}")))?;
            let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let mut rows = self.sql(statement.query([]))?;
            while let Some(row) = self.sql(rows.next())? {
                let mut line = Map::new();
                line.insert("table".to_owned(), Value::from(*table));
                for (index, name) in names.iter().enumerate() {
                    let value = match self.sql(row.get_ref(index))? {
                        ValueRef::Null => Value::Null,
                        ValueRef::Integer(number) if name == "active" => Value::from(number != 0),
                        ValueRef::Integer(number) => Value::from(number),
                        ValueRef::Real(number) => Value::from(number),
                        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                            let text = String::from_utf8_lossy(bytes);
                            if json.contains(&name.as_str()) {
                                serde_json::from_str(&text).unwrap_or_else(|_| Value::from(&*text))
                            } else {
                                Value::from(&*text)
                            }
                        }
                    };
                    line.insert(name.clone(), value);
                }
                writeln!(out, "{}", Value::Object(line)).map_err(LedgerError::Export)?;
            }
        }
        out.flush().map_err(LedgerError::Export)
    }
}
