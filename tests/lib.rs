//! The one integration test crate.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod context;
mod engine;
