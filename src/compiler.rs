//! The compiler: `agent.json` in, a typed plan and its renderings out. Pure: it opens no file and prints nothing.

pub mod ignore;
