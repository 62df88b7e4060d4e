//! The build context: what is left out, what the archive holds.

mod ignore;
mod pack;
mod tree;
