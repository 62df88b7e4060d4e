//! agentcli: a config compiler and build toolchain for agent servers.
//!
//! # The flow
//!
//! ```text
//! text ─parse→ Document ─check→ (diagnostics)
//!                  └─type→ Config ─check→ (diagnostics)
//!                             └─resolve→ Resolved ─lower→ Plan ─emit→ Dockerfile, .dockerignore ─→ disk
//!                                        ├─→ BuildRequest ─→ engine
//!                                        ├─→ ship::Request ─→ image or archive ─→ deployment service
//!                                        ├─→ Setup ─→ containers
//!                                        │     └─emit→ compose file ─→ disk
//!                                        └─→ Session ─→ server on this machine
//! ```
//!
//! The folders of [`compiler`] are its phases: `front` (text to checked, typed configuration), `manifests` (readers of
//! other people's formats) and `back` (configuration to resolved to plan to artifacts).
//!
//! # The rooms
//!
//! | room | purpose | may use |
//! |---|---|---|
//! | [`diagnostic`] | mistakes in a configuration, as plain data | nothing |
//! | [`compiler`] | text to plan to artifacts | `diagnostic` |
//! | [`project`] | the only reader and writer of the user's tree | `compiler`, `diagnostic` |
//! | [`context`] | the build context, as a tar stream or packed | `compiler` |
//! | [`live`] | shared by all long-running commands: stopping, lines, events, URLs | `compiler` |
//! | [`engine`] | the container engine; the only user of bollard | `context`, `live` |
//! | [`api`] | the client of the deployment service; reqwest is used here, in `probe` and in `dev` | nothing |
//! | [`watch`] | changes of the user's tree; the only user of notify | `compiler`, `project` |
//! | [`probe`] | readiness checks of a server over HTTP | nothing |
//! | [`child`] | child processes, none of which outlives this program | `live` |
//! | [`dev`] | the server on this machine | `child`, `compiler`, `live`, `probe`, `project`, `watch` |
//! | [`up`] | the whole server in containers | `compiler`, `engine`, `live`, `probe`, `watch` |
//! | [`compose`] | the same with further services, through docker compose | `child`, `compiler`, `engine`, `live`, `probe`, `project`, `up` |
//! | [`ship`] | deploys the project to the service and waits for the revision | `api`, `context`, `engine`, `live` |
//! | `host` | our own deployment service, behind the feature `host`; the only user of axum | `api`, `context`, `project` |
//! | [`error`] | errors that end a command: blame, hint and exit code | every room with effects |
//! | [`cli`] | arguments, prompts, reports, progress | everything |
//!
//! # Invariants
//!
//! - The compiler is pure: no files, environment, clock, network, printing or async. It sees the outside only through
//!   [`compiler::files::Files`].
//! - A rule points with a JSON Pointer; lines and columns are computed only when a diagnostic is printed.
//! - A mistake of the user is a [`diagnostic::Diagnostic`], collected; a failure of the world is an error, propagated.
//! - The plan is total: every default is chosen in [`compiler::back`], and emitting decides nothing.
//! - The server's names are in [`compiler::server`] and in the table of keys, [`compiler::front::keys`].
//! - Values of `env` are never part of a plan, an image, an archive or a message.
//! - `validate`, `plan` and `dockerfile` start no async runtime.

pub mod api;
pub mod child;
pub mod cli;
pub mod compiler;
pub mod compose;
pub mod context;
pub mod dev;
pub mod diagnostic;
pub mod engine;
pub mod error;
#[cfg(feature = "host")]
pub mod host;
pub mod live;
pub mod probe;
pub mod project;
pub mod ship;
pub mod up;
pub mod watch;
