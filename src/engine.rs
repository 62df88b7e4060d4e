//! The container engine: Docker, or Podman through the same API.
//!
//! [`Engine::connect`] finds the engine as the `docker` command does, and pings it. [`Engine::build`] sends a build
//! context, reports events, and returns the image or the step that failed; an image that is up to date is not built
//! again (see `fresh`). [`Engine::push`] pushes an image to a registry and returns its digest.
//!
//! Docker builds with BuildKit. Podman ignores the BuildKit session of the request and builds with Buildah, which supports
//! `RUN --mount`, too. The differences: steps have no duration and no download progress, every instruction is a step,
//! short image names need `unqualified-search-registries` in Podman's configuration, a cancelled build runs to the end of
//! the current step, and secrets and SSH agents are refused.

mod again;
mod build;
mod call;
mod connect;
mod containers;
mod credentials;
mod description;
mod endpoint;
mod error;
mod events;
mod exec;
mod fresh;
mod history;
mod images;
mod inputs;
mod label;
mod local;
mod logs;
mod planned;
mod progress;
mod push;
mod recorder;
mod records;
mod reference;
mod request;
mod session;
mod shared;
mod solve;
mod stream;
mod transfer;
mod transport;

pub use again::Again;
pub use build::BuildReporter;
pub use connect::Engine;
pub use containers::{Container, ContainerSpec, Failure, HealthStatus, MACHINE, Policy, State};
pub use credentials::{Login, RegistrySecret, has_login, registry_secret};
pub use description::Description;
pub use endpoint::EngineEnv;
pub use error::{Error, FailedStep, Refusal};
pub use events::{BuildEvent, Step, StepOrigin};
pub use exec::Ended;
pub use images::RegistryUser;
pub use label::{LABEL as SOURCE_LABEL, SourceRecord};
pub use local::is_socket;
pub use push::{PushRequest, Pushed};
pub use reference::registry_and_repository;
pub use request::{BuildRequest, Built, Settings};
pub use session::Secrets;
pub use shared::Shared;
