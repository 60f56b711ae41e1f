//! Is it still the same notebook with the same result: compares outputs; runs nothing.
