//! The published server, which its base image brings.

use super::{Product, State};
use crate::server::{self, setup};

/// The published server.
pub static LICENSED: Product = Product {
    name: "licensed",
    summary: "state in PostgreSQL and Redis; needs a license or an API key when it runs",
    purpose: "production",
    python_image: server::PYTHON_IMAGE,
    javascript_image: Some(server::JAVASCRIPT_IMAGE),
    tag_suffix: "",
    installation: None,
    state: State::Databases { migrations: None },
    keys: setup::KEYS,
    refused: &[],
};
