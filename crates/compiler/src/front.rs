//! Text → checked, typed configuration.
//!
//! `keys` is the table of keys. `base_image` chooses the image, which both the checks and the plan need.

pub mod base_image;
pub mod check;
pub mod config;
pub mod dialect;
pub mod document;
pub mod documentation;
pub mod extent;
pub mod keys;
pub mod reference;
pub mod schema;
pub mod source;
pub mod without_env;
pub mod workspace;
