//! The option that chooses the server.

use super::console::note;
use super::env::Env;
use crate::compiler::server::product::{PRODUCTS, Product, VARIABLE};
use crate::compiler::words::listed;
use crate::error::Error;

/// The option of every command that checks or compiles for a server.
#[derive(Debug, clap::Args)]
pub struct ServerOption {
    /// Server to run on: licensed, or without a key memory or pg [default: AGENTCLI_SERVER, or licensed]
    #[arg(long, value_name = "SERVER", value_parser = name)]
    server: Option<&'static Product>,
}

impl ServerOption {
    /// The server: from the option, else from the environment, else the default.
    ///
    /// # Errors
    ///
    /// The variable names no server.
    pub fn server(&self, env: &Env) -> Result<&'static Product, Error> {
        match (self.server, env.variable(VARIABLE)) {
            (Some(server), _) => Ok(server),
            (None, Some(text)) => {
                name(&text).map_err(|why| Error::usage(format!("{VARIABLE}: {why}"), "set it to one of them"))
            }
            (None, None) => Ok(<&Product>::default()),
        }
    }

    /// The server of the option, if it is given.
    pub(super) fn given(&self) -> Option<&'static Product> {
        self.server
    }

    /// Says which server was chosen, unless it is the default, and how.
    pub fn note(&self, env: &mut Env, server: &Product) {
        if *server != *<&Product>::default() {
            let by = if self.server.is_some() { "--server" } else { VARIABLE };
            note(env, &format!("the server is `{}` ({by}): {}", server.name, server.summary));
        }
    }
}

fn name(text: &str) -> Result<&'static Product, String> {
    let names = PRODUCTS.iter().map(|product| product.name);
    Product::named(text).ok_or_else(|| format!("`{text}` is no server; there are {}", listed(names)))
}
