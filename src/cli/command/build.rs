//! `agentcli build`

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::mpsc;

use super::dockerfile::warn_if_stale;
use crate::cli::build_settings::BuildSettings;
use crate::cli::compile::{PlanOptions, Planned};
use crate::cli::console::visible_line;
use crate::cli::env::Env;
use crate::cli::image;
use crate::cli::printer::Printer;
use crate::cli::progress::{Style, runs_again, size};
use crate::cli::setup;
use crate::compiler::back::emit::dockerfile;
use crate::engine::{
    Again, BuildEvent, BuildReporter as _, BuildRequest, Built, Engine, PushRequest, Pushed, Settings,
};
use crate::error::Error;
use crate::live::Reporter as _;
use crate::registry::{Replaced, Replacement};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli build -t my-agent                       build ./agent.json
  agentcli build -t my-agent:1 -t my-agent:latest  with two names
  agentcli build -t my-agent --no-pull             with the local base image
  agentcli build -t registry.example/agent --push  and push it")]
pub(crate) struct Build {
    /// Name of the image, as NAME or NAME:TAG (repeatable)
    #[arg(short, long = "tag", value_name = "TAG", value_parser = image::name, required = true)]
    tags: Vec<String>,

    /// Explain which steps before the source would run again since the last build, without building
    #[arg(long, conflicts_with = "push")]
    why: bool,

    /// Push the image under each of its names, with the credentials of `docker login`
    #[arg(long)]
    push: bool,

    /// Replace the source in the image of the registry, without a container engine
    #[arg(long, requires = "push")]
    no_engine: bool,

    /// Image to start from without an engine [default: the one of the first name, or else of the tag latest]
    #[arg(long, value_name = "IMAGE", value_parser = image::name, requires = "no_engine")]
    from: Option<String>,

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
    settings: BuildSettings,

    #[command(flatten)]
    options: PlanOptions,

    /// Format of the progress output
    #[arg(long, value_name = "STYLE", value_enum, default_value_t)]
    progress: Style,
}

impl Build {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        if self.push {
            self.tags.iter().try_for_each(|name| target("", name, Duration::ZERO).map(drop))?;
        }
        let planned = self.options.plan_image(env)?;
        warn_if_stale(env, &planned, &dockerfile::dockerfile(&planned.plan));
        let settings = self.settings.read(env, &planned.plan, true)?;
        if self.why {
            return self.explain(env, &planned, settings);
        }
        if self.no_engine {
            return self.replace(env, &planned, settings);
        }
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let engine = setup::engine(env, &runtime)?;
        let requests = self.requests(&BuildRequest { settings, ..image::request(env, &planned, &[])? })?;
        let silence = env.retry_policy.push;
        let mut printer = Printer::new(env, self.progress == Style::Json, ());
        (printer.style, printer.source) = (self.progress, Some(planned.project.source));
        for request in requests {
            let building = engine.build(request, |event| printer.building(&event));
            let built = runtime.block_on(stop.unless_asked(building));
            printer.built(built.as_ref().ok().and_then(|built| built.as_ref().err()));
            let built = built??;
            print_built(printer.env, &built, self.progress == Style::Json)?;
            if self.push {
                runtime.block_on(push(&engine, &built, silence, &mut printer))?;
            }
        }
        Ok(())
    }

    /// Makes the image from one in the registry.
    fn replace(&self, env: &mut Env, planned: &Planned, settings: Settings) -> Result<(), Error> {
        let requests = self.requests(&BuildRequest { settings, ..image::request(env, planned, &[])? })?;
        let [request] = &requests[..] else {
            return Err(Error::usage("--no-engine makes one image", "pass one platform at a time"));
        };
        let (runtime, stop, started) = (env.runtime()?, env.stop.clone(), Instant::now());
        let (sender, mut events) = mpsc::unbounded_channel();
        let (engine_env, policy) = (env.engine(), env.retry_policy);
        let from = self.from.as_deref();
        let replacement = Replacement { request, from, env: &engine_env, policy, events: sender };
        let mut printer = Printer::new(env, self.progress == Style::Json, ());
        let done = runtime.block_on(async {
            let mut run = std::pin::pin!(replacement.run(&stop));
            loop {
                tokio::select! {
                    biased;
                    Some(event) = events.recv() => printer.event(&event),
                    done = &mut run => break done,
                }
            }
        });
        while let Ok(event) = events.try_recv() {
            printer.event(&event);
        }
        // The threads of name resolution cannot be interrupted.
        runtime.shutdown_background();
        let Replaced { images, sent } = done?;
        let seconds = started.elapsed().as_secs_f64();
        printer.note(format!("sent {} in {seconds:.1} s", size(sent)));
        images.into_iter().for_each(|image| printer.pushed(image));
        Ok(())
    }

    /// Prints which steps would run again, and why.
    fn explain(&self, env: &mut Env, planned: &Planned, settings: Settings) -> Result<(), Error> {
        let requests = self.requests(&BuildRequest { settings, ..image::request(env, planned, &[])? })?;
        for request in requests {
            let name = &request.tags[0];
            let again = request.again(&env.engine())?;
            if self.progress == Style::Json {
                for Again { step, cause, seconds, .. } in again.unwrap_or_default() {
                    let event = BuildEvent::RunsAgain { step, cause, seconds };
                    env.out.line(&json!(event).to_string())?;
                }
                continue;
            }
            match again.as_deref() {
                None => {
                    env.out.line(&format!("{name}: no build of this name is recorded on this machine"))?
                }
                Some([]) => env.out.line(&format!("{name}: no step before the source runs again"))?,
                Some(again) => {
                    for Again { step, cause, seconds, .. } in again {
                        env.out.line(&runs_again(step, cause, *seconds))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// One build for each platform: a name refers to an image of one platform.
    fn requests(&self, request: &BuildRequest) -> Result<Vec<BuildRequest>, Error> {
        let (pull, no_cache) = (!self.no_pull, self.no_cache);
        let request = |platform, tags| BuildRequest { platform, tags, pull, no_cache, ..request.clone() };
        match self.platform.as_slice() {
            [] => Ok(vec![request(None, self.tags.clone())]),
            [platform] => Ok(vec![request(Some(image::platform(platform)?), self.tags.clone())]),
            several => {
                let platforms = several.iter().map(|platform| image::platform(platform));
                let build = |platform: String| request(Some(platform.clone()), self.tags_for(&platform));
                platforms.map(|platform| platform.map(build)).collect()
            }
        }
    }

    fn tags_for(&self, platform: &str) -> Vec<String> {
        let suffix = platform.replace('/', "-");
        let tag =
            |tag: &String| match tag.rsplit_once('/').map_or(tag.as_str(), |(_, name)| name).contains(':') {
                true => format!("{tag}-{suffix}"),
                false => format!("{tag}:{suffix}"),
            };
        self.tags.iter().map(tag).collect()
    }
}

/// The request to push `image` as `name`.
fn target(image: &str, name: &str, silence: Duration) -> Result<PushRequest, Error> {
    PushRequest::of_name(image, name, silence).map_err(|why| {
        let message = format!("cannot push `{}`: {why}", visible_line(name));
        Error::usage(
            message,
            "name the image as REGISTRY/REPOSITORY:TAG, such as registry.example/team/agent:1",
        )
    })
}

/// Pushes the image under each of its names.
async fn push(
    engine: &Engine,
    built: &Built,
    silence: Duration,
    printer: &mut Printer<'_>,
) -> Result<(), Error> {
    let stop = printer.env.stop.clone();
    let mut reported = Vec::new();
    for name in &built.tags {
        let request = target(&built.id, name, silence)?;
        let Pushed { repository, digest } =
            engine.push(&request, |event| printer.event(&event), &stop).await?;
        let image = format!("{repository}@{digest}");
        // Two tags of one repository.
        if !reported.contains(&image) {
            printer.pushed(image.clone());
            reported.push(image);
        }
    }
    Ok(())
}

fn print_built(env: &mut Env, built: &Built, is_json: bool) -> Result<(), Error> {
    let line = match is_json {
        true => json!({ "event": "built", "id": built.id, "tags": built.tags }).to_string(),
        false => format!("{} {}", built.id, built.tags.join(" ")),
    };
    Ok(env.out.line(&line)?)
}
