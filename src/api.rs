//! The deployment service as its client sees it. Only here, and in [`crate::dev`], is reqwest used.
//!
//! [`wire`] has the records, in the specification's words; [`Vocabulary`] exchanges them for those of the public
//! service where that is asked. [`Client`] has a method a call: it checks the specification's rules before anything is
//! sent, repeats what is safe to repeat, looks before it repeats what is not, and gives up at a deadline. Dropping a
//! call interrupts it.
//!
//! The key goes to the configured host alone: redirects are errors, and an archive is uploaded without it.

mod client;
mod error;
mod failure;
mod filter;
pub mod http;
mod pages;
mod patience;
mod rules;
pub mod time;
mod transport;
mod upload;
mod vocabulary;
pub mod wire;

pub use client::{Account, Client};
pub use error::{Call, Error};
pub use filter::DeploymentFilter;
pub use patience::Patience;
pub use upload::Archive;
pub use vocabulary::Vocabulary;
