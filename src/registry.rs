//! A client of image registries: reads manifests, and pushes layers, manifests and documents, without a container engine.
//!
//! [`Replacement`] makes an image from one in a registry, [`push_index`] one of several platforms, and [`settle`] gives one that
//! an engine pushed the digest that it has without an engine. [`Attachment`] attaches a document to one; [`locked_image`] reads
//! the digests of one, and [`base_digests`] those of its base images. The client asks for a token as registries want it, tries
//! again what may pass, and checks every digest, so that a manifest is sent only after everything that it names.

mod access;
mod attach;
mod auth;
mod bases;
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
pub use attach::Attachment;
pub use bases::base_digests;
pub use error::Error;
pub use index::push_index;
pub use locked::locked_image;
pub use replace::{Replaced, Replacement};
pub use settle::settle;
