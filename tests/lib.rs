//! The one integration test crate.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

#[cfg(feature = "host")]
mod api;
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
#[cfg(feature = "host")]
mod host;
mod house;
mod image;
mod never_panics;
mod output;
mod packaging;
mod project;
#[cfg(feature = "host")]
mod proxy;
mod registry;
mod reports;
#[cfg(feature = "host")]
mod ship;
#[cfg(feature = "host")]
mod terminal;
mod up;
mod validate;
