//! `agentcli build`

use serde_json::json;

use super::dockerfile::warn_if_stale;
use crate::cli::compile::PlanOptions;
use crate::cli::env::Env;
use crate::cli::image::{self, BuildOptions};
use crate::cli::progress::Style;
use crate::cli::setup;
use crate::compiler::back::emit::dockerfile;
use crate::engine::Built;
use crate::error::Error;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli build -t my-agent                       build ./agent.json
  agentcli build -t my-agent:1 -t my-agent:latest  with two names
  agentcli build -t my-agent --no-pull             with the local base image")]
pub(crate) struct Build {
    /// Name of the image, as NAME or NAME:TAG (repeatable)
    #[arg(short, long = "tag", value_name = "TAG", required = true)]
    tags: Vec<String>,

    /// Comma-separated target platforms; with several, the images are named TAG-OS-ARCH
    #[arg(long, value_name = "PLATFORM", value_delimiter = ',')]
    platform: Vec<String>,

    /// Pull a newer base image if there is one (default)
    #[arg(long, overrides_with = "no_pull")]
    pull: bool,

    /// Use the local base image
    #[arg(long)]
    no_pull: bool,

    /// Do not use the build cache
    #[arg(long)]
    no_cache: bool,

    #[command(flatten)]
    options: PlanOptions,

    /// Format of the progress output
    #[arg(long, value_name = "STYLE", value_enum, default_value_t)]
    progress: Style,
}

impl Build {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let planned = self.options.plan(env)?;
        warn_if_stale(env, &planned, &dockerfile::dockerfile(&planned.plan));
        let runtime = env.runtime()?;
        let engine = setup::engine(env, &runtime)?;
        for options in self.builds()? {
            let built = runtime.block_on(image::build(env, &engine, &planned, options, self.progress))?;
            print_built(env, &built, self.progress == Style::Json)?;
        }
        Ok(())
    }

    /// One build for each platform: a name refers to an image of one platform.
    fn builds(&self) -> Result<Vec<BuildOptions>, Error> {
        let tags = self.tags.clone();
        match self.platform.as_slice() {
            [] => Ok(vec![self.build(None, tags)]),
            [platform] => Ok(vec![self.build(Some(image::platform(platform)?), tags)]),
            several => several.iter().map(|platform| self.build_with_suffix(platform)).collect(),
        }
    }

    fn build(&self, platform: Option<String>, tags: Vec<String>) -> BuildOptions {
        BuildOptions { tags, platform, pull: !self.no_pull, no_cache: self.no_cache, ignore: &[] }
    }

    fn build_with_suffix(&self, platform: &str) -> Result<BuildOptions, Error> {
        let platform = image::platform(platform)?;
        let suffix = platform.replace('/', "-");
        let tag =
            |tag: &String| match tag.rsplit_once('/').map_or(tag.as_str(), |(_, name)| name).contains(':') {
                true => format!("{tag}-{suffix}"),
                false => format!("{tag}:{suffix}"),
            };
        let tags = self.tags.iter().map(tag).collect();
        Ok(self.build(Some(platform), tags))
    }
}

fn print_built(env: &mut Env, built: &Built, is_json: bool) -> Result<(), Error> {
    let line = match is_json {
        true => json!({ "event": "built", "id": built.id, "tags": built.tags }).to_string(),
        false => format!("{} {}", built.id, built.tags.join(" ")),
    };
    Ok(env.out.write(&format!("{line}\n"))?)
}
