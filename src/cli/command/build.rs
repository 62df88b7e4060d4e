//! `agentcli build`

use std::ffi::OsString;

use serde_json::json;

use super::dockerfile::warn_if_stale;
use crate::cli::compile::PlanOptions;
use crate::cli::env::Env;
use crate::cli::image::{self, Wanted};
use crate::cli::progress::Style;
use crate::compiler::back::emit::dockerfile;
use crate::engine::{Built, Engine, EngineEnv};
use crate::error::Error;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli build -t my-agent                       build ./agent.json
  agentcli build -t my-agent:1 -t my-agent:latest  with two names
  agentcli build -t my-agent --no-pull             with the base image that is here")]
pub(crate) struct Build {
    /// Name of the image, as NAME or NAME:TAG; may be repeated
    #[arg(short, long = "tag", value_name = "TAG", required = true)]
    tags: Vec<String>,

    /// Platforms to build for, separated by commas; each of several gets a name of its own, TAG-OS-ARCH
    #[arg(long, value_name = "PLATFORM", value_delimiter = ',')]
    platform: Vec<String>,

    /// Ask the registry for a newer base image (the default)
    #[arg(long, overrides_with = "no_pull")]
    pull: bool,

    /// Use the base image that is here
    #[arg(long)]
    no_pull: bool,

    /// Build every step anew, even if the image is up to date
    #[arg(long)]
    no_cache: bool,

    #[command(flatten)]
    options: PlanOptions,

    /// How progress is shown
    #[arg(long, value_name = "STYLE", value_enum, default_value_t)]
    progress: Style,
}

impl Build {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let planned = self.options.plan(env)?;
        warn_if_stale(env, &planned, &dockerfile::dockerfile(&planned.plan));
        let runtime = env.runtime()?;
        let lookup = |name: &str| (env.variables)(name).map(OsString::from);
        let engine = runtime.block_on(Engine::connect(&EngineEnv::new(lookup)))?;
        for wanted in self.wanted()? {
            let built = image::build(env, &engine, &planned, wanted, self.progress);
            let built = runtime.block_on(built)?;
            say_built(env, &built, self.progress == Style::Json)?;
        }
        Ok(())
    }

    /// Each platform with the names that its image gets: a name holds one platform.
    fn wanted(&self) -> Result<Vec<Wanted>, Error> {
        let tags = self.tags.clone();
        match self.platform.as_slice() {
            [] => Ok(vec![self.one(None, tags)]),
            [platform] => Ok(vec![self.one(Some(image::platform(platform)?), tags)]),
            several => several.iter().map(|platform| self.one_of_several(platform)).collect(),
        }
    }

    fn one(&self, platform: Option<String>, tags: Vec<String>) -> Wanted {
        Wanted { tags, platform, pull: !self.no_pull, no_cache: self.no_cache, ignore: &[] }
    }

    fn one_of_several(&self, platform: &str) -> Result<Wanted, Error> {
        let platform = image::platform(platform)?;
        let suffix = platform.replace('/', "-");
        let tag =
            |tag: &String| match tag.rsplit_once('/').map_or(tag.as_str(), |(_, name)| name).contains(':') {
                true => format!("{tag}-{suffix}"),
                false => format!("{tag}:{suffix}"),
            };
        let tags = self.tags.iter().map(tag).collect();
        Ok(self.one(Some(platform), tags))
    }
}

fn say_built(env: &mut Env, built: &Built, is_json: bool) -> Result<(), Error> {
    let line = match is_json {
        true => json!({ "event": "built", "id": built.id, "tags": built.tags }).to_string(),
        false => format!("{} {}", built.id, built.tags.join(" ")),
    };
    Ok(env.out.write(&format!("{line}\n"))?)
}
