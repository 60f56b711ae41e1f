//! What was done: notebooks, runs, attempts, edits and cells, in SQLite.
