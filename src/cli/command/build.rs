//! `agentcli build`

use std::time::{Duration, Instant};

use serde_json::json;

use super::dockerfile::warn_if_stale;
use crate::cli::agent_lock::{self, ci_job};
use crate::cli::build_options::BuildOptions;
use crate::cli::compile::PlanOptions;
use crate::cli::console::{self, visible_line};
use crate::cli::env::Env;
use crate::cli::printer::Printer;
use crate::cli::progress::{Style, runs_again, size};
use crate::cli::registry::access;
use crate::cli::runtime::Runtime;
use crate::cli::setup;
use crate::cli::{image, image_name};
use crate::compiler::back::emit::dockerfile;
use crate::engine::{
    Again, BuildEvent, BuildReporter as _, BuildRequest, Built, Engine, PushRequest, Pushed,
};
use crate::error::Error;
use crate::live::{Reporter as _, relay};
use crate::registry::{Replaced, Replacement, push_index, settle};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli build -t my-agent                       build ./agent.json
  agentcli build -t my-agent:1 -t my-agent:latest  with two names
  agentcli build -t my-agent --no-pull             with the local base image
  agentcli build -t registry.example/agent --push  and push it
  agentcli build -t registry.example/agent --push --cache-from registry.example/agent --cache-to inline
                                                   with the layers of the image that is there")]
pub(crate) struct Build {
    /// Name of the image, as NAME or NAME:TAG (repeatable)
    #[arg(short, long = "tag", value_name = "TAG", value_parser = image_name::parse, required = true)]
    tags: Vec<String>,

    /// Explain which steps before the source would run again since the last build, without building
    #[arg(long, conflicts_with = "push")]
    why: bool,

    /// Push the image under each of its names, with the credentials of `docker login`
    #[arg(long)]
    push: bool,

    /// Replace the source in the image of the registry, without a container engine; the default where there is none
    #[arg(long, requires = "push", conflicts_with_all = ["cache_from", "cache_to"], hide_short_help = true)]
    no_engine: bool,

    /// Image to start from without an engine [default: the one of the name, of the tag latest, or of another tag that fits]
    #[arg(long, value_name = "IMAGE", value_parser = image_name::parse, requires = "no_engine", hide_short_help = true)]
    from: Option<String>,

    /// Comma-separated target platforms; with several, the images are named TAG-OS-ARCH here, and pushed as one under TAG
    #[arg(long, value_name = "PLATFORM", value_delimiter = ',')]
    platform: Vec<String>,

    /// Do not use the build cache
    #[arg(long)]
    no_cache: bool,

    #[command(flatten)]
    build: BuildOptions,

    #[command(flatten)]
    options: PlanOptions,

    /// Format of the progress output
    #[arg(long, value_name = "STYLE", value_enum, default_value_t, hide_short_help = true)]
    progress: Style,
}

/// For jobs of CI services, which mostly start without any layer.
const CI_HINT: &str = "a fresh runner runs each step again; `--cache-from IMAGE --cache-to inline` takes the layers of an \
                       image that an earlier job pushed";

impl Build {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        if self.push {
            self.tags.iter().try_for_each(|name| target("", name, Duration::ZERO).map(drop))?;
        }
        let planned = self.options.plan_image(env, agent_lock::ByDefault::InCi)?;
        let platforms = self.platform.iter().map(|platform| image_name::platform(platform));
        let platforms = platforms.collect::<Result<Vec<_>, _>>()?;
        platforms.iter().try_for_each(|platform| planned.check_platform(platform))?;
        warn_if_stale(env, &planned, &dockerfile::dockerfile(&planned.plan));
        let settings = self.build.read(env, &planned.plan, true)?;
        let uses_cache = settings.uses_cache();
        let requests =
            self.requests(&BuildRequest { settings, ..image::request(env, &planned)? }, &platforms);
        if self.why {
            return self.explain(env, &requests);
        }
        let runtime = env.runtime()?;
        if self.no_engine {
            return self.replace(env, runtime, &requests);
        }
        if self.push && !uses_cache && ci_job(env).is_some() {
            console::note(env, CI_HINT);
        }
        let may_replace = self.push && requests.len() == 1 && !uses_cache;
        let engine = match setup::engine(env, &runtime) {
            Err(Error::Engine(error)) if may_replace && error.is_absent() => {
                console::note(env, &format!("{error}: replacing the source in the image of the registry"));
                return self.replace(env, runtime, &requests);
            }
            engine => engine?,
        };
        let silence = env.retry_policy.push;
        let mut printer = Printer::new(env, self.is_json(), ());
        (printer.style, printer.source) = (self.progress, Some(planned.project.source));
        let mut pushed: Vec<Vec<String>> = Vec::new();
        for request in requests {
            let built = build(&engine, request.clone(), &runtime, &mut printer)?;
            print_built(printer.env, &built, self.is_json())?;
            if self.push {
                let images = runtime.block_on(push(&engine, &request, &built, silence, &mut printer))?;
                pushed.push(images);
            }
        }
        if pushed.len() > 1 {
            self.push_indexes(&mut printer, &runtime, &pushed)?;
        }
        Ok(())
    }

    /// Makes the images of all platforms one under each name. `pushed` has the images of each platform, by name.
    fn push_indexes(
        &self,
        printer: &mut Printer<'_>,
        runtime: &Runtime,
        pushed: &[Vec<String>],
    ) -> Result<(), Error> {
        let (engine_env, stop) = (printer.env.engine(), printer.env.stop.clone());
        for (at, name) in self.tags.iter().enumerate() {
            let digests: Vec<String> = pushed.iter().map(|of_platform| digest_in(&of_platform[at])).collect();
            let (access, events) = access(printer.env, &engine_env);
            let index = push_index(&access, name, &digests, &stop);
            let image = runtime.block_on(relay(printer, events, index))?;
            printer.pushed(image);
        }
        Ok(())
    }

    /// Makes the image from one in the registry.
    fn replace(&self, env: &mut Env, runtime: Runtime, requests: &[BuildRequest]) -> Result<(), Error> {
        let [request] = requests else {
            return Err(Error::usage("--no-engine makes one image", "pass one platform at a time"));
        };
        let stop = env.stop.clone();
        let started = Instant::now();
        let engine_env = env.engine();
        let (access, events) = access(env, &engine_env);
        let replacement = Replacement { request, from: self.from.as_deref(), access };
        let mut printer = Printer::new(env, self.is_json(), ());
        let done = runtime.block_on(relay(&mut printer, events, replacement.run(&stop)));
        let done = done.map_err(Error::from).map(|Replaced { images, sent }| {
            let seconds = started.elapsed().as_secs_f64();
            printer.note(format!("sent {} in {seconds:.1} s", size(sent)));
            images.into_iter().for_each(|image| printer.pushed(image));
        });
        // The threads of name resolution cannot be interrupted.
        runtime.shutdown_background();
        done
    }

    /// Prints which steps would run again, and why.
    fn explain(&self, env: &mut Env, requests: &[BuildRequest]) -> Result<(), Error> {
        for request in requests {
            let name = &request.tags[0];
            let again = request.again(&env.engine())?;
            if self.is_json() {
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

    fn is_json(&self) -> bool {
        self.progress == Style::Json
    }

    /// One build for each platform: a name refers to an image of one platform.
    fn requests(&self, request: &BuildRequest, platforms: &[String]) -> Vec<BuildRequest> {
        let (pull, no_cache) = (self.build.pulls(), self.no_cache);
        let request = |platform, tags| BuildRequest { platform, tags, pull, no_cache, ..request.clone() };
        match platforms {
            [] => vec![request(None, self.tags.clone())],
            [platform] => vec![request(Some(platform.clone()), self.tags.clone())],
            several => {
                let build = |platform: &String| request(Some(platform.clone()), self.tags_for(platform));
                several.iter().map(build).collect()
            }
        }
    }

    fn tags_for(&self, platform: &str) -> Vec<String> {
        let suffix = platform.replace('/', "-");
        let tag = |tag: &String| {
            if tag.rsplit_once('/').map_or(tag.as_str(), |(_, name)| name).contains(':') {
                format!("{tag}-{suffix}")
            } else {
                format!("{tag}:{suffix}")
            }
        };
        self.tags.iter().map(tag).collect()
    }
}

/// Builds an image, and shows the progress.
fn build(
    engine: &Engine,
    request: BuildRequest,
    runtime: &Runtime,
    printer: &mut Printer<'_>,
) -> Result<Built, Error> {
    let stop = printer.env.stop.clone();
    let building = engine.build(request, |event| printer.building(&event));
    let built = runtime.block_on(stop.unless_asked(building));
    printer.built(built.as_ref().ok().and_then(|built| built.as_ref().err()));
    Ok(built??)
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

/// The digest in the name of an image.
fn digest_in(image: &str) -> String {
    image.rsplit_once('@').map_or(image, |(_, digest)| digest).to_owned()
}

/// Pushes the image under each of its names; returns the repository and the digest there for each.
async fn push(
    engine: &Engine,
    build: &BuildRequest,
    built: &Built,
    silence: Duration,
    printer: &mut Printer<'_>,
) -> Result<Vec<String>, Error> {
    let stop = printer.env.stop.clone();
    let settles = engine.settles(build).await?;
    let mut images: Vec<String> = Vec::new();
    for name in &built.tags {
        let request = target(&built.id, name, silence)?;
        let Pushed { repository, mut digest } =
            engine.push(&request, |event| printer.event(&event), &stop).await?;
        if settles {
            let (engine_env, image) =
                (printer.env.engine(), format!("{repository}:{}@{digest}", request.tag));
            let (access, events) = access(printer.env, &engine_env);
            digest = relay(printer, events, settle(&access, &image, build, &stop)).await?;
        }
        let image = format!("{repository}@{digest}");
        // Two tags of one repository.
        if !images.contains(&image) {
            printer.pushed(image.clone());
        }
        images.push(image);
    }
    Ok(images)
}

fn print_built(env: &mut Env, built: &Built, is_json: bool) -> Result<(), Error> {
    let line = if is_json {
        json!({ "event": "built", "id": built.id, "tags": built.tags }).to_string()
    } else {
        format!("{} {}", built.id, built.tags.join(" "))
    };
    Ok(env.out.line(&line)?)
}
