//! The one integration test crate, in two groups: tests that run on any machine, and the group `system-tests`, which needs
//! a machine that `tests/run` has set up.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod api;
mod arguments;
#[cfg(unix)]
mod boundary;
#[cfg(feature = "system-tests")]
mod ci;
mod completions;
#[cfg(feature = "system-tests")]
mod compose;
#[cfg(unix)]
mod console;
#[cfg(feature = "system-tests")]
mod contacts;
mod context;
#[cfg(feature = "system-tests")]
mod corpus;
#[cfg(feature = "system-tests")]
mod dev;
mod doctor;
#[cfg(feature = "system-tests")]
mod dotenv;
#[cfg(feature = "system-tests")]
mod engine;
mod explain;
mod fixes;
mod fixtures;
mod graph;
mod harness;
mod host;
mod house;
#[cfg(feature = "system-tests")]
mod image;
#[cfg(feature = "system-tests")]
mod in_cluster;
mod init;
mod invoke;
mod lock;
#[cfg(feature = "system-tests")]
mod locks;
mod lsp;
mod manifests;
mod manual;
mod never_panics;
mod new;
mod output;
#[cfg(feature = "system-tests")]
mod packaging;
mod project;
mod proxy;
#[cfg(feature = "system-tests")]
mod registry;
mod reports;
mod secrecy;
mod ship;
#[cfg(feature = "system-tests")]
mod signals;
#[cfg(feature = "system-tests")]
mod specification;
mod terminal;
#[cfg(unix)]
mod trust;
#[cfg(feature = "system-tests")]
mod up;
mod validate;

/// Stands for the group `system-tests` in the output of `cargo test`.
#[cfg(not(feature = "system-tests"))]
#[test]
#[ignore = "not built; they need root, container engines, Python and Node.js: run tests/run"]
fn system_tests() {
    panic!("run tests/run");
}
