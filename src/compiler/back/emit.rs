//! Plan → artifacts. One file an artifact; none of them decides anything.

pub mod compose;
pub mod dockerfile;
pub mod heading;
mod quote;
mod template;
