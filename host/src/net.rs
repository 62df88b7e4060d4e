//! Connections of clients: whose they are, which host they name, how many there may be, and how they are encrypted.

pub(crate) mod accept;
pub(crate) mod address;
pub(crate) mod connection;
pub(crate) mod counts;
pub(crate) mod host_name;
pub(crate) mod keys;
pub(crate) mod limits;
mod progress;
pub(crate) mod tls;
