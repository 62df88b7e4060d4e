//! Software bills of materials: the packages of an image, as the metadata in its files shows them, in the formats CycloneDX
//! and SPDX.
//!
//! [`read`] reads the files of an image from a tar stream and keeps only metadata. [`components`] makes packages of it,
//! and [`attribute`] adds what lock files and the base image say about them: hashes and origins. Nothing is guessed: a hash
//! is given only if it is certain which file of the lock was installed. [`Provenance`] says how an image was built.

mod component;
mod components;
mod cyclonedx;
mod distribution;
mod document;
mod error;
mod format;
mod javascript;
mod licence;
mod origin;
mod provenance;
mod python;
mod reader;
mod spdx;

pub use component::Component;
pub use components::components;
pub use document::{Bill, Image};
pub use error::Error;
pub use format::Format;
pub use origin::{attribute, mark_base};
pub use provenance::{Dependency, Provenance};
pub use reader::{Metadata, read};
