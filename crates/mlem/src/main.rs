//! The `mlem` binary: arguments in, pages and lines out.

fn main() {}
