//! `agentcli lsp`

use std::io;

use crate::cli::env::Env;
use crate::cli::input::Input;
use crate::error::{Error, OutputError};
use crate::lsp;

#[derive(Debug, clap::Args)]
pub(crate) struct Lsp {
    /// Communicate over stdin and stdout, which is the only way; for editors that pass this option
    #[arg(long)]
    stdio: bool,
}

impl Lsp {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let input = std::mem::replace(&mut env.input, Input::new(Box::new(io::empty()), false));
        let out = &mut env.out;
        let mut send =
            |text: &str| out.write(text).and_then(|()| out.flush()).map_err(|OutputError(source)| source);
        Ok(lsp::serve(input, &mut send)?)
    }
}
