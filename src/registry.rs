//! A client of image registries: reads manifests, and pushes layers and manifests, without a container engine.
//!
//! [`Replacement`] makes an image from one in a registry, [`push_index`] one of several platforms, and [`settle`] gives one that
//! an engine pushed the digest that it has without an engine. [`locked_image`] reads the digests of one. The client asks for
//! a token as registries want it, tries again what may pass, and checks every digest, so that a manifest is sent only after
//! everything that it names.

mod access;
mod auth;
mod client;
mod error;
mod former;
mod image;
mod index;
mod locked;
mod renewed;
mod replace;
mod settle;

pub use access::Access;
pub use error::Error;
pub use index::push_index;
pub use locked::locked_image;
pub use replace::{Replaced, Replacement};
pub use settle::settle;
