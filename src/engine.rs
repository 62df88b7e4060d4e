//! The container engine: Docker, or Podman through the same API. Only here is bollard used.
//!
//! [`Engine::connect`] finds the engine as the `docker` command would and asks it one question; [`Engine::build`] sends
//! a context, reports what happens as tidy events, and ends with the image or with the step that failed.
//!
//! Docker builds with BuildKit. Podman knows no BuildKit: it ignores the session that comes with the request and builds
//! with Buildah, so its steps come without durations of their own, without progress of downloads, and every instruction
//! counts as a step.

mod build;
mod connect;
mod credentials;
mod endpoint;
mod error;
mod events;
mod progress;

pub use build::{BuildRequest, Built};
pub use connect::Engine;
pub use endpoint::EngineEnv;
pub use error::{Error, FailedStep};
pub use events::{BuildEvent, Step, StepOrigin};
