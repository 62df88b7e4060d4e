//! What the compiler puts out: plans, Dockerfiles, ignore files, and the schema that they start from.

#[allow(dead_code)]
mod decode;
mod drift;
mod goldens;
mod lowering;
mod properties;
