//! `agentcli lock`

use std::path::{Path, PathBuf};

use crate::cli::agent_lock;
use crate::cli::check;
use crate::cli::compile::BaseOptions;
use crate::cli::console::{note, visible_line};
use crate::cli::env::Env;
use crate::cli::printer::Printer;
use crate::cli::registry::access;
use crate::compiler::Unused;
use crate::compiler::agent_lock::{AgentLock, LockedImage, NAME, Wanted};
use crate::compiler::manifests::image_name::{ImageName, is_sha256, without_digest};
use crate::compiler::words::listed;
use crate::error::Error;
use crate::live::relay;
use crate::project::{self, with_slashes};
use crate::registry::locked_image;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli lock                        write ./agent.lock, or add what it lacks
  agentcli lock --upgrade              with the images that the tags name now
  agentcli lock --upgrade redis        only this image
  agentcli lock --check                fail if it is not up to date, without network access
  agentcli build -t my-agent --locked  build with these images")]
pub(crate) struct Lock {
    /// Configuration file [default: the value of --config]
    #[arg(value_name = "CONFIG", conflicts_with = "config")]
    file: Option<PathBuf>,

    /// Write nothing, and exit with 1 if the file is not up to date; without network access
    #[arg(long, conflicts_with = "upgrade")]
    check: bool,

    /// Replace the digests of all images, or of one, by those that the registry has now
    #[arg(long, value_name = "NAME", num_args = 0..=1)]
    upgrade: Option<Option<String>>,

    /// Leave out the images of PostgreSQL and Redis, which only `up`, `compose` and `manifests` use
    #[arg(long)]
    no_services: bool,

    #[command(flatten)]
    base: BaseOptions,
}

impl Lock {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let config = self.file.clone().unwrap_or_else(|| self.base.config.path(env));
        let options = self.base.options(env)?;
        let unused = Unused { keys: &["/env"], ..Unused::default() };
        let (_, compiled, plan) = check::compile(env, &config, &options, unused)?;
        self.base.server.note(env, options.server);
        let wanted = Wanted::new(&compiled);
        let before = agent_lock::read(env, &config)?;
        if self.check {
            let hint = || "run the same command without --check".to_owned();
            return agent_lock::check(before.as_ref(), &config, &wanted, |_| !self.no_services, hint);
        }
        check_digest(&wanted.base)?;
        self.check_upgrade(env, &wanted)?;
        if plan.has_lines_from_outside() {
            let text = format!(
                "images and files that `dockerfile_lines` take from elsewhere are not in {NAME}: name images with \
                 their digest there"
            );
            note(env, &text);
        }
        let lock = AgentLock::new(&wanted, self.images(env, before.as_ref(), &wanted)?);
        self.save(env, &config, before.as_ref(), &lock)
    }

    /// The images that the file is to have.
    fn wanted<'w>(&self, wanted: &'w Wanted) -> impl Iterator<Item = &'w String> {
        wanted.images().filter(|name| !self.no_services || **name == wanted.base)
    }

    /// Checks that --upgrade names an image.
    fn check_upgrade(&self, env: &Env, wanted: &Wanted) -> Result<(), Error> {
        let Some(Some(name)) = &self.upgrade else { return Ok(()) };
        if self.wanted(wanted).any(|image| is_called(image, name)) {
            return Ok(());
        }
        let shown = visible_line(name);
        let hint = if env.directory.join(name).is_file() {
            format!("name the configuration first: `agentcli lock {shown} --upgrade`")
        } else {
            format!("name one of {}", listed(self.wanted(wanted).map(String::as_str)))
        };
        Err(Error::usage(format!("--upgrade: {NAME} has no image `{shown}`"), hint))
    }

    /// All images: those of the file that stay, and the others from their registries.
    fn images(
        &self,
        env: &mut Env,
        before: Option<&AgentLock>,
        wanted: &Wanted,
    ) -> Result<Vec<LockedImage>, Error> {
        let is_upgraded = |image: &str| match &self.upgrade {
            None => false,
            Some(None) => true,
            Some(Some(name)) => is_called(image, name),
        };
        let mut images = Vec::new();
        let mut missing = Vec::new();
        for name in self.wanted(wanted) {
            match before.and_then(|lock| lock.image(name)).filter(|_| !is_upgraded(name)) {
                Some(image) => images.push(image.clone()),
                None => missing.push(name),
            }
        }
        if missing.is_empty() {
            return Ok(images);
        }
        let runtime = env.runtime()?;
        let stop = env.stop.clone();
        let engine_env = env.engine();
        for name in missing {
            let (access, events) = access(env, &engine_env);
            let mut printer = Printer::new(env, false, ());
            let find = locked_image(&access, name, &stop);
            let found = runtime.block_on(relay(&mut printer, events, find));
            match found {
                Ok(image) => images.push(image),
                Err(error) => {
                    // The threads of name resolution cannot be interrupted.
                    runtime.shutdown_background();
                    return Err(error.into());
                }
            }
        }
        Ok(images)
    }

    /// Writes the file if it changes, and prints what changed.
    fn save(
        &self,
        env: &mut Env,
        config: &Path,
        before: Option<&AgentLock>,
        lock: &AgentLock,
    ) -> Result<(), Error> {
        let path = config.with_file_name(NAME);
        if before == Some(lock) {
            env.print(&format!("{} is up to date", with_slashes(&path)));
            return Ok(());
        }
        project::write_atomically(&env.directory.join(&path), lock.write().as_bytes())?;
        let former = before.map(AgentLock::images).unwrap_or_default();
        for image in lock.images().iter().filter(|image| !former.contains(image)) {
            env.print(&format!("locked {} at {}", image.name, image.digest));
        }
        for image in former.iter().filter(|image| lock.image(&image.name).is_none()) {
            env.print(&format!("removed {}", image.name));
        }
        env.print(&format!("wrote {}", visible_line(&with_slashes(&path))));
        Ok(())
    }
}

/// Refuses a digest of another algorithm than the one that registries compute.
fn check_digest(image: &str) -> Result<(), Error> {
    match ImageName::parse(image).ok().and_then(|name| name.digest) {
        Some(digest) if !is_sha256(digest) => Err(Error::usage(
            format!("cannot lock `{}`: its digest is not of SHA-256", visible_line(image)),
            "name it with its `sha256:` digest, or with a tag",
        )),
        _ => Ok(()),
    }
}

/// Whether `name` is that of the image, with or without its tag and the repositories above it.
fn is_called(image: &str, name: &str) -> bool {
    let parsed = ImageName::parse(image);
    let names = parsed.map(|it| [it.name, it.repository()]).unwrap_or_default();
    name == image || name == without_digest(image) || names.contains(&name)
}
