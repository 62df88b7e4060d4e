//! ignore
