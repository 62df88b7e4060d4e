//! `agentcli open`

use std::net::Ipv4Addr;

use tokio::net::TcpListener;

use crate::child::open_browser;
use crate::cli::env::Env;
use crate::cli::target::TargetOptions;
use crate::dev::page;
use crate::error::Error;
use crate::invoke::Page;
use crate::project;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli open                            open the page of the server that runs for the project here
  agentcli open http://127.0.0.1:8123
  agentcli open https://agent.example --header-env 'X-Api-Key: AGENT_KEY'")]
pub(crate) struct Open {
    /// URL of the server [default: that of `dev` or `up` for the project here]
    #[arg(value_name = "URL", conflicts_with = "deployment")]
    url: Option<String>,

    #[command(flatten)]
    target: TargetOptions,

    /// Port of this machine to serve the page on [default: a free one]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,

    /// Do not open the browser
    #[arg(long)]
    no_browser: bool,
}

impl Open {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let server = self.target.server(env, &runtime, self.url.as_deref())?;
        let page = Page { document: page::document(), headers: page::headers().into() };
        let served = runtime.block_on(stop.unless_asked(async {
            // A mistake in the URL or the key is told here, not by the page.
            server.graphs().await?;
            let front = server.front(page)?;
            let port = self.port.unwrap_or_default();
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
            let failed =
                |error| Error::misused(format!("cannot listen on port {port}: {}", project::reason(&error)));
            let listener = listener.map_err(failed)?;
            let address = listener.local_addr().map_err(failed)?;
            let url = format!("http://{address}{}", front.path());
            env.out.line(&url).ok();
            if !self.no_browser && env.out.is_terminal && open_browser(&url).is_err() {
                env.print("note: cannot open a browser");
            }
            Ok(front.serve(listener).await?)
        }));
        // It ends when it is asked to.
        served.unwrap_or(Ok(()))
    }
}
