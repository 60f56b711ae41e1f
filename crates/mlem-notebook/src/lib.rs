//! The notebook file: read, write, convert, byte-faithful.
