//! agentcli: a config compiler and build toolchain for agent servers.
//!
//! # The flow
//!
//! ```text
//! text ─parse→ Document ─check→ (diagnostics)
//!                  └─type→ Config ─check→ (diagnostics)
//!                             └─lower→ Plan ─emit→ Dockerfile, .dockerignore ─→ disk
//!                                        ├─→ BuildRequest ─→ engine
//!                                        ├─→ Session ─→ server on this machine
//!                                        └─→ image or archive ─→ deployment service
//! ```
//!
//! # The rooms
//!
//! | room | what it does | what it may use |
//! |---|---|---|
//! | [`diagnostic`] | what is wrong with a configuration: plain data | nothing |
//! | [`compiler`] | text to plan to artifacts | `diagnostic` |
//! | [`project`] | the only reader and writer of the user's tree | `compiler`, `diagnostic` |
//! | [`context`] | the part of a tree that a build sees, as a tar stream or packed | `compiler::ignore` |
//! | [`engine`] | the container engine; only here is bollard | `context` |
//! | [`dev`] | the server on this machine; only here are child processes | `compiler::plan`, `project` |
//! | [`api`] | the deployment service, as its client; only here, in `dev`'s probe and where `host` asks its registry is reqwest | nothing |
//! | `host` | a deployment service of our own; only here is the web framework, behind the feature `host` | `api`'s records and words, `project` |
//! | [`error`] | what stops a command: blame, hint and exit code | `project`, `engine`, `dev`, `api`, `host` |
//! | [`cli`] | arguments, reports, progress | everything |
//!
//! # Invariants
//!
//! - The compiler is pure: no files, environment, clock, network, printing or async. What it knows of the outside
//!   comes through [`compiler::files::Files`].
//! - A rule points with a JSON Pointer; lines and columns appear only where a finding is drawn.
//! - A mistake of the user is a [`diagnostic::Diagnostic`], collected; a refusal of the world is an error, propagated.
//! - The plan is total: every default is chosen in [`compiler::lower`], and emitting decides nothing.
//! - Names of the server's contract stand in [`compiler::server`] and nowhere else.
//! - Values of `env` are never part of a plan, an image or a message.
//! - `validate`, `plan` and `dockerfile` start no async runtime.

pub mod api;
pub mod cli;
pub mod compiler;
pub mod context;
pub mod dev;
pub mod diagnostic;
pub mod engine;
pub mod error;
#[cfg(feature = "host")]
pub mod host;
pub mod project;
