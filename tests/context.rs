//! The build context: what is left out, what the archive holds.

mod env_values;
mod ignore;
mod pack;
mod tree;
