//! Plan → artifacts. One file an artifact; none of them decides anything.

pub mod dockerfile;
mod quote;
mod template;
