//! Connections of clients: whose they are, how many there may be, and how they are encrypted.

pub(crate) mod accept;
pub(crate) mod address;
pub(crate) mod connection;
pub(crate) mod counts;
pub(crate) mod keys;
mod progress;
pub(crate) mod tls;
