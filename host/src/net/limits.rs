//! Limits for clients.

use std::time::Duration;

/// Limits for clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of connections; more wait to be accepted.
    pub connections: usize,
    /// Maximum number of connections of one client address, and of one /64 of IPv6; more are refused.
    pub per_address: usize,
    /// Maximum number of connections of one tenant, by the keys on them; more are refused.
    pub per_tenant: usize,
    /// Timeout for the header of a request, including idle time before it, and for a TLS handshake.
    pub header: Duration,
    /// Timeout for the body of a request, except uploads.
    pub body: Duration,
    /// Timeout for the next chunk of an upload.
    pub piece: Duration,
    /// Time in which a client must read a part of what is sent.
    pub write: Duration,
    /// Limits of the registry.
    pub registry: RegistryLimits,
}

impl Default for Limits {
    fn default() -> Self {
        let timeout = Duration::from_secs(30);
        let registry = RegistryLimits::default();
        Self {
            connections: 512,
            per_address: 256,
            per_tenant: 64,
            header: timeout,
            body: timeout,
            piece: timeout,
            write: timeout,
            registry,
        }
    }
}

/// Limits of the registry.
#[derive(Clone, Copy, Debug)]
pub struct RegistryLimits {
    /// Maximum size of a blob, in bytes.
    pub blob: u64,
    /// Maximum size of all blobs of a deployment, in bytes.
    pub repository: u64,
    /// Validity of a push token.
    pub token: Duration,
    /// Time after which uploads that do not go on are removed, and blobs and manifests that no revision needs.
    pub unused: Duration,
}

impl Default for RegistryLimits {
    fn default() -> Self {
        let hour = Duration::from_secs(3600);
        Self { blob: 5 << 30, repository: 20 << 30, token: hour, unused: hour }
    }
}
