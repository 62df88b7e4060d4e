//! The one integration test crate.

mod context;
