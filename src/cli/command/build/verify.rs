//! `agentcli build --verify`: is an image what the project builds?

use serde_json::json;

use super::{Build, build};
use crate::cli::env::Env;
use crate::cli::printer::Printer;
use crate::cli::setup;
use crate::engine::{BuildRequest, Contents};
use crate::error::Error;

/// Most differences that are shown.
const MOST: usize = 20;

impl Build {
    /// Builds the project without a cache, under a name of its own that is removed afterwards, and compares the image with
    /// the one that is called `image`.
    pub(super) fn verify(&self, env: &mut Env, request: BuildRequest, image: &str) -> Result<(), Error> {
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let engine = setup::engine(env, &runtime)?;
        let given = runtime.block_on(engine.contents(image, &stop))?;
        let name = format!("agentcli-verify:{:016x}", fastrand::u64(..));
        let tags = vec![name.clone()];
        let request = BuildRequest { tags, no_cache: true, ..request };
        let mut printer = Printer::new(env, self.is_json(), ());
        printer.style = self.progress;
        build(&engine, request, &runtime, &mut printer)?;
        let made = runtime.block_on(engine.contents(&name, &stop));
        let removed = runtime.block_on(engine.remove_image(&name));
        let made = made?;
        removed?;
        check(image, &given, &made)?;
        let files = made.len();
        let line = if self.is_json() {
            json!({ "event": "verified", "image": image, "files": files }).to_string()
        } else {
            format!("{image} is what this project builds: all {files} files are equal")
        };
        Ok(env.out.line(&line)?)
    }
}

fn check(image: &str, given: &Contents, made: &Contents) -> Result<(), Error> {
    let mut lines = given.differences(made);
    if lines.is_empty() {
        return Ok(());
    }
    let more = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    let message = format!("`{image}` is not what this project builds now:\n  {}", lines.join("\n  "));
    let hint = "check out the source that it was built from; lock files and `agentcli lock` fix the versions of packages and \
                images";
    Err(Error::Stale { message, hint: hint.to_owned() })
}
