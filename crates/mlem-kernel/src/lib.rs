//! Starts one confined process and speaks Jupyter to it: cells in, events out.
