//! The client of the deployment service.
//!
//! [`wire`] defines the records of the specification; [`Vocabulary`] translates them for the public service.
//! [`Client`] has a method per call, which checks the specification's rules before it sends a request, retries what is
//! safe to retry, queries the service before it retries anything else, and times out. Dropping a call cancels it.
//!
//! The key is sent to the configured host only: redirects are errors, and archives are uploaded without it.

mod client;
mod error;
mod failure;
mod filter;
pub mod http;
mod pages;
mod retry;
pub mod rules;
pub mod time;
mod transport;
mod upload;
mod vocabulary;
pub mod wire;

pub use client::{Client, LogSource};
pub use error::{Call, Error};
pub use filter::DeploymentFilter;
pub use retry::RetryPolicy;
pub use transport::Account;
pub use upload::Archive;
pub use vocabulary::Vocabulary;
