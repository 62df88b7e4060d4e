//! The one integration test crate.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod arguments;
mod compose;
mod context;
mod corpus;
mod dev;
mod dotenv;
mod engine;
mod explain;
mod fixtures;
mod harness;
mod house;
mod image;
mod never_panics;
mod output;
mod packaging;
mod project;
mod registry;
mod reports;
mod up;
mod validate;
