//! A client of image registries: reads manifests, and pushes layers and manifests, without a container engine.
//!
//! [`Replacement`] makes an image from one in a registry. It asks for a token as registries want it, tries again what may
//! pass, and checks every digest, so that a manifest is sent only after everything that it names.

mod auth;
mod client;
mod error;
mod image;
mod replace;

pub use error::Error;
pub use replace::{Replaced, Replacement};
