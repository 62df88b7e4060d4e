//! agentcli: a config compiler and build toolchain for agent servers.
//!
//! # The flow
//!
//! ```text
//! text ─parse→ Document ─check→ (diagnostics)
//!                  └─type→ Config ─check→ (diagnostics)
//!                             └─resolve→ Resolved ─lower→ Plan ─emit→ Dockerfile, .dockerignore ─→ disk
//!                                                          ├─→ BuildRequest ─→ engine
//!                                                          ├─→ ship::Request ─→ image or archive ─→ deployment service
//!                                                          ├─→ kubernetes::Manifests ─emit→ manifests ─→ disk
//!                                                          ├─→ cluster::Record ─→ objects ─→ cluster
//!                                                          ├─→ Setup ─→ containers
//!                                                          │     └─emit→ compose file ─→ disk
//!                                                          └─→ Session ─→ server on this machine
//! ```
//!
//! The phases of [`compiler`] are `front` (text to checked, typed configuration) and `back` (configuration to resolved to
//! plan to artifacts). Both use `manifests`, the readers of other people's formats, and `server`, the server's contract as
//! data. What they read of the project, they read through one [`compiler::tree::Tree`], which reads it once.
//!
//! # The rooms
//!
//! `tests/house.rs` enforces this table.
//!
//! | room | purpose | may use |
//! |---|---|---|
//! | [`diagnostic`] | mistakes in a configuration, as plain data | nothing |
//! | [`compiler`] | text to plan to artifacts | `diagnostic` |
//! | [`project`] | loads configurations, is the compiler's view of the tree, and writes generated files | `compiler`, `diagnostic` |
//! | [`context`] | the build context, as a tar stream or packed | `compiler` |
//! | [`live`] | shared by all long-running commands: stopping, the loop, lines, events, URLs | `compiler`, `probe`, `watch` |
//! | [`engine`] | the container engine; the only user of bollard | `child`, `compiler`, `context`, `live` |
//! | [`api`] | the client of the deployment service; the only user of reqwest | nothing |
//! | [`watch`] | changes of the user's tree; the only user of notify | `compiler`, `project` |
//! | [`probe`] | readiness checks of a server over HTTP | `api` |
//! | [`child`] | child processes, none of which outlives this program; starts every process | `live` |
//! | [`dev`] | the server on this machine, and its page | `child`, `compiler`, `live`, `probe`, `project`, `watch` |
//! | [`up`] | the whole server in containers | `compiler`, `engine`, `live`, `probe`, `watch` |
//! | [`compose`] | the same with further services, through docker compose | `child`, `compiler`, `engine`, `live`, `probe`, `project`, `up` |
//! | [`invoke`] | runs graphs of an agent server, reads the events of a run, and serves a page for it | `api` |
//! | [`doctor`] | checks what the machine lacks for the other commands | `api`, `compiler`, `dev`, `engine`, `project`, `up` |
//! | [`lsp`] | the language server; the only user of lsp-server and lsp-types | `compiler`, `diagnostic`, `project` |
//! | [`kubernetes`] | plan and resources to objects of Kubernetes | `api`, `compiler` |
//! | [`registry`] | pushes images to registries, and reads digests there, without an engine | `api`, `compiler`, `context`, `engine`, `live` |
//! | [`ship`] | deploys the project to the service and waits for the revision | `api`, `context`, `engine`, `live`, `registry` |
//! | [`cluster`] | deploys to a Kubernetes cluster through kubectl | `api`, `child`, `compiler`, `dev`, `kubernetes`, `live`, `ship` |
//! | [`error`] | errors that end a command: blame, hint and exit code | the rooms whose errors end a command |
//! | [`cli`] | arguments, prompts, reports, progress | every room but `watch` and `probe` |
//!
//! [`compiler`] and [`diagnostic`] are the package `agentcli-compiler` in `crates/compiler/`, which cargo compiles in parallel
//! with the libraries that only the other rooms use. The deployment service of our own is the package `agentcli-host` in
//! `host/`, which uses these rooms.
//!
//! # Invariants
//!
//! - The compiler is pure: no files, environment, clock, network, printing or async. It sees the outside only through
//!   [`compiler::files::Files`], and everything there at most once, through [`compiler::tree::Tree`].
//! - Only files of the project are read of the machine: [`project::Boundary`] decides once, and [`project::DiskFiles`] refuses
//!   everything else.
//! - A rule points with a place, mostly a JSON Pointer; its line and column are computed only when it is printed. A place
//!   in another file carries its line.
//! - A mistake of the user is a [`diagnostic::Diagnostic`], collected; a failure of the world is an error, propagated.
//! - The plan leaves nothing open: defaults are chosen before it, and emitting decides only how it is written.
//! - The agent server's names are in [`compiler::server`] and in the table of keys, [`compiler::front::keys`].
//! - How a plan looks in a Dockerfile, and the order of its instructions, is in `templates/`.
//! - What of a configuration or of another text is secret is decided in [`compiler::secrecy`].
//! - Values of `env` are never part of a plan, an image, an archive or a message. A setup of containers holds them.
//! - `validate`, `plan`, `dockerfile` and `lsp` start no async runtime.

pub use agentcli_compiler as compiler;
pub use agentcli_compiler::diagnostic;

pub mod api;
pub mod child;
pub mod cli;
pub mod cluster;
pub mod compose;
pub mod context;
pub mod dev;
pub mod doctor;
pub mod engine;
pub mod error;
pub mod invoke;
pub mod kubernetes;
pub mod live;
pub mod lsp;
pub mod probe;
pub mod project;
pub mod registry;
pub mod ship;
pub mod up;
pub mod watch;
