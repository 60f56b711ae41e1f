#![no_main]

libfuzzer_sys::fuzz_target!(init: mlem_fuzz::keep_caught_panics(), |source: &str| mlem_fuzz::unit(source));
