//! Readers of other people's formats, each once: what a file says, or where it is broken.

pub mod dependency;
pub mod dockerfile;
pub mod dockerignore;
pub mod dotenv;
pub mod image_name;
pub mod package;
pub mod package_json;
pub mod pyproject;
pub mod requirement;
pub mod requirements_txt;
pub mod symbols;
