//! Python source: parse (2 and 3, IPython), names and scopes, def-use between cells, lossless edits.
