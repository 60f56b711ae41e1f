//! Distributions, locks, interpreters: what a notebook needs, and what an interpreter has.
