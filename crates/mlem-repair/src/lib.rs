//! The repair loop: diagnose, propose, edit, re-run, keep or roll back, prove.
