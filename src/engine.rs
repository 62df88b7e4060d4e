//! The container engine: Docker, or Podman through the same API. Only here is bollard used.
//!
//! [`Engine::connect`] finds the engine as the `docker` command would and asks it one question; [`Engine::build`] sends
//! a context, reports what happens as tidy events, and ends with the image or with the step that failed;
//! [`Engine::push`] sends an image to a registry, and ends with the digest that it has there.
//!
//! Nothing is sent where the image is there and was made of just the same: see `fresh`.
//!
//! Docker builds with BuildKit. Podman knows no BuildKit: it ignores the session that comes with the request and builds
//! with Buildah. `RUN --mount` works there, too; what differs: steps come without durations and without progress of
//! downloads, every instruction counts as a step, short image names need `unqualified-search-registries` in its
//! configuration, and a cancelled build ends only with the step that is under way.

mod answers;
mod build;
mod call;
mod connect;
mod containers;
mod credentials;
mod endpoint;
mod error;
mod events;
mod exec;
mod fresh;
mod images;
mod logs;
mod progress;
mod push;
mod records;
mod shared;

pub use build::{BuildRequest, Built};
pub use connect::Engine;
pub use containers::{Condition, Container, ContainerSpec, State, Wellness};
pub use endpoint::EngineEnv;
pub use error::{Error, FailedStep, Refusal};
pub use events::{BuildEvent, Step, StepOrigin};
pub use images::Downloaded;
pub use push::{Layer, Login, PushEvent, PushRequest, Pushed};
pub use shared::Shared;
