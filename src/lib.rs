//! agentcli: a config compiler and build toolchain for agent servers.
//!
//! # The flow
//!
//! ```text
//! text ─parse→ Document ─check→ (diagnostics)
//!                  └─type→ Config ─check→ (diagnostics)
//!                             └─lower→ Plan ─emit→ Dockerfile, .dockerignore ─→ disk
//!                                        ├─→ BuildRequest ─→ engine
//!                                        ├─→ ship::Request ─→ image or archive ─→ deployment service
//!                                        ├─→ Setup ─→ containers
//!                                        │     └─emit→ compose file ─→ disk
//!                                        └─→ Session ─→ server on this machine
//! ```
//!
//! # The rooms
//!
//! | room | what it does | what it may use |
//! |---|---|---|
//! | [`diagnostic`] | what is wrong with a configuration: plain data | nothing |
//! | [`compiler`] | text to plan to artifacts | `diagnostic` |
//! | [`project`] | the only reader and writer of the user's tree | `compiler`, `diagnostic` |
//! | [`context`] | the part of a tree that a build sees, as a tar stream or packed | `compiler::manifests::dockerignore` |
//! | [`engine`] | the container engine; only here is bollard | `context`, `live` |
//! | [`api`] | the client of the deployment service; only here, in `probe` and in `dev` is reqwest | nothing |
//! | [`ship`] | deploys the project to the service, and waits for the revision | `api`, `context`, `engine`, `live` |
//! | `host` | a deployment service of our own; only here is the web framework, behind the feature `host` | the records, the HTTP client and the times of `api`; `context`, `project` |
//! | [`watch`] | which changes of the user's tree count; only here is notify | `compiler` |
//! | [`probe`] | asks a server whether it is well | nothing |
//! | [`child`] | child processes, none of which outlives this program; only here they are started | `live` |
//! | [`live`] | what all long-running commands share: stopping, lines, events, URLs | `compiler` |
//! | [`dev`] | the server on this machine | `compiler::back::plan`, `live`, `project`, `watch`, `probe`, `child` |
//! | [`up`] | the whole server in containers | `compiler::back::plan`, `engine`, `live`, `watch`, `probe` |
//! | [`compose`] | the same with services of the user's own, by docker compose | `compiler::back::plan`, `engine`, `live`, `probe`, `project`, `child`, `up` |
//! | [`error`] | what stops a command: blame, hint and exit code | every room with effects |
//! | [`cli`] | arguments, reports, progress | everything |
//!
//! # Invariants
//!
//! - The compiler is pure: no files, environment, clock, network, printing or async. What it knows of the outside
//!   comes through [`compiler::files::Files`].
//! - A rule points with a JSON Pointer; lines and columns appear only where a finding is drawn.
//! - A mistake of the user is a [`diagnostic::Diagnostic`], collected; a refusal of the world is an error, propagated.
//! - The plan is total: every default is chosen in [`compiler::back::lower`], and emitting decides nothing.
//! - Names of the server's contract stand in [`compiler::server`] and nowhere else.
//! - Values of `env` are never part of a plan, an image or a message.
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
