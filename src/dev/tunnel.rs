//! A public URL for the server, through Cloudflare's client.

use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;

use super::error::Error;
use super::interpreter::on_path;
use super::session::Surroundings;
use crate::child::{Child, Command, Next};

const PROGRAM: &str = "cloudflared";

/// Timeout for the tunnel to open, and its grace period.
const OPENING: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(3);

/// A tunnel that is open until it is dropped.
pub(super) struct Tunnel {
    child: Child,
    /// Its URL, without a trailing `/`.
    pub(super) url: String,
}

impl Tunnel {
    /// Waits until it closes by itself, and returns the reason. Cancel safe.
    pub(super) async fn closed(&mut self) -> String {
        loop {
            match self.child.next().await {
                Ok(Next::Lines(_)) => {}
                Ok(Next::Ended(status)) => {
                    return format!("the tunnel closed: `{PROGRAM}` ended with {status}");
                }
                Err(error) => return format!("the tunnel closed: {}", crate::project::reason(&error)),
            }
        }
    }

    /// Opens a tunnel to a port of this machine.
    pub(super) async fn open(
        directory: &Path,
        surroundings: &Surroundings,
        local: &str,
    ) -> Result<Self, Error> {
        let Some(program) = on_path(PROGRAM, surroundings) else {
            return Err(Error::Tunnel {
                reason: format!("`{PROGRAM}` is not on the PATH"),
                hint:
                    "install it (`brew install cloudflared`, or a package from Cloudflare), or omit --tunnel"
                        .to_owned(),
            });
        };
        let command =
            Command::new(program, directory).arguments(["tunnel", "--no-autoupdate", "--url", local]);
        let failed = |source| Error::Run { program: PROGRAM.to_owned(), source };
        let mut child = Child::start(&command, GRACE).map_err(failed)?;
        let named = async {
            loop {
                match child.next().await.map_err(failed)? {
                    Next::Lines(lines) => {
                        if let Some(url) = lines.iter().find_map(|line| address(line)) {
                            return Ok::<_, Error>(Ok(url));
                        }
                    }
                    Next::Ended(status) => return Ok(Err(format!("`{PROGRAM}` ended with {status}"))),
                }
            }
        };
        let named = match timeout(OPENING, named).await {
            Ok(named) => named?,
            Err(_) => Err(format!("`{PROGRAM}` has not reported a URL within {} s", OPENING.as_secs())),
        };
        match named {
            Ok(url) => Ok(Self { child, url }),
            Err(reason) => {
                let last = child.last_lines().pop().map_or_else(String::new, |line| format!(": {line}"));
                let hint = "check the internet connection".to_owned();
                Err(Error::Tunnel { reason: reason + &last, hint })
            }
        }
    }
}

/// The URL in a line like `… |  https://some-words.trycloudflare.com  | …`.
fn address(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let word = words.find(|word| word.starts_with("https://") && word.contains(".trycloudflare.com"))?;
    Some(word.trim_end_matches('/').to_owned())
}
