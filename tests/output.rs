//! What the compiler puts out: plans, Dockerfiles, ignore files, and the schema that they start from.

pub(crate) mod compose_file;
mod decode;
pub(crate) mod drift;
pub(crate) mod goldens;
mod layouts;
mod local_packages;
mod locks;
mod lowering;
pub(crate) mod properties;
mod reading;
mod workspaces;
