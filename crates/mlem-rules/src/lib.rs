//! The catalogue of what eroded, its matcher and its rewriter.
