//! `agentcli sbom`

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::cli::agent_lock;
use crate::cli::compile::{PlanOptions, Planned};
use crate::cli::console::{note, visible_line};
use crate::cli::env::Env;
use crate::cli::printer::Printer;
use crate::cli::registry::access;
use crate::cli::runtime::Runtime;
use crate::cli::source_date::source_date;
use crate::cli::{image, image_name, setup};
use crate::compiler::locks;
use crate::compiler::server::files;
use crate::engine::{self, Engine, ImageDetails};
use crate::error::Error;
use crate::live::relay;
use crate::project;
use crate::registry::Attachment;
use crate::sbom::{self, Bill, Component, Format, Image, Metadata};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli sbom                                the last build of ./agent.json
  agentcli sbom my-agent:1                     any local image
  agentcli sbom my-agent:1 -c agent.json       with the hashes of the lock files
  agentcli sbom registry.example/agent --push  attached to the image in its registry")]
pub(crate) struct Sbom {
    /// Local image, or a configuration file to take the image of its last build [default: that of --config]
    #[arg(value_name = "IMAGE")]
    target: Option<String>,

    /// Format of the document
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    format: Format,

    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Attach the document to the image in its registry, with the credentials of `docker login`
    #[arg(long)]
    push: bool,

    #[command(flatten)]
    options: PlanOptions,
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::CycloneDx, Self::Spdx]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::CycloneDx => PossibleValue::new("cyclonedx-json").help("CycloneDX 1.6"),
            Self::Spdx => PossibleValue::new("spdx-json").help("SPDX 2.3"),
        })
    }
}

impl Sbom {
    pub(super) fn run(mut self, env: &mut Env) -> Result<(), Error> {
        let time = source_date(env)?;
        let is_file = |text: &String| env.directory.join(text).is_file();
        if let Some(path) = self.target.take_if(|text| is_file(text))
            && self.options.base.config.config.replace(path.into()).is_some()
        {
            return Err(Error::misused("the configuration is given twice"));
        }
        if let Some(Err(why)) = self.target.as_deref().map(image_name::parse) {
            let shown = visible_line(self.target.as_deref().unwrap_or_default());
            let hint = "name an image, or a configuration file that exists";
            return Err(Error::usage(format!("`{shown}` is neither an image nor a file: {why}"), hint));
        }
        let needs_plan = self.target.is_none() || self.options.base.config.config.is_some();
        let planned =
            if needs_plan { Some(self.options.plan_image(env, agent_lock::ByDefault::InCi)?) } else { None };
        let runtime = env.runtime()?;
        let engine = setup::engine(env, &runtime)?;
        let name = match (&self.target, &planned) {
            (Some(name), _) => name.clone(),
            (None, Some(planned)) => last_build(env, &engine, planned)?,
            (None, None) => return Err(Error::Internal("no image and no configuration".to_owned())),
        };
        let source = Source { env, engine: &engine, runtime: &runtime };
        let image = source.details(&name)?;
        let mut components = source.components(&name, &image)?;
        let (pinned, server) = planned.as_ref().map(|it| self.pinned(it)).unwrap_or_default();
        sbom::attribute(&mut components, &pinned, server);
        if let Some(planned) = &planned {
            source.mark_base(planned, &image, &mut components)?;
        }
        if components.is_empty() {
            note(env, &format!("`{name}` has no packages of Python, JavaScript, dpkg or apk"));
        }
        let about = Image {
            name: name.clone(),
            id: image.id.clone(),
            platform: image.platform.clone(),
            created: image.created,
        };
        let text = Bill { image: about, components, time }.write(self.format);
        if let Some(path) = &self.output {
            project::write_atomically(&env.directory.join(path), text.as_bytes())?;
            env.print(&format!("wrote {}", visible_line(&path.to_string_lossy())));
        }
        if self.push {
            return self.attach(env, &runtime, &name, &image, text);
        }
        if self.output.is_none() {
            env.out.write(&text)?;
            env.out.flush()?;
        }
        Ok(())
    }

    /// The packages of the lock files, and the name of the server.
    fn pinned(&self, planned: &Planned) -> (Vec<locks::Pinned>, &'static str) {
        let server = &planned.plan.server;
        let (installed, no_lock) = (files::files(server.product, server.release), self.options.no_lock());
        let pinned = locks::pinned(&planned.config, &planned.project.files, &installed, no_lock);
        (pinned, server.product.name)
    }

    /// Attaches the document to the image in its registry.
    fn attach(
        &self,
        env: &mut Env,
        runtime: &Runtime,
        name: &str,
        image: &ImageDetails,
        text: String,
    ) -> Result<(), Error> {
        let (engine_env, stop) = (env.engine(), env.stop.clone());
        let (access, events) = access(env, &engine_env);
        let media_type = self.format.media_type();
        let attachment =
            Attachment { name, image: Some(image), media_type, annotations: &[], content: text.into() };
        let mut printer = Printer::new(env, false, ());
        let attached = runtime.block_on(relay(&mut printer, events, attachment.push(&access, &stop)))?;
        printer.pushed(attached);
        Ok(())
    }
}

/// Reads images of an engine.
struct Source<'a> {
    env: &'a Env,
    engine: &'a Engine,
    runtime: &'a Runtime,
}

impl Source<'_> {
    fn details(&self, name: &str) -> Result<ImageDetails, Error> {
        let details = self.env.stop.unless_asked(self.engine.image_details(name));
        let details = self.runtime.block_on(details)??;
        details.ok_or_else(|| engine::Error::NoImage { image: name.to_owned() }.into())
    }

    /// The packages of an image. Its files are read twice if some are links to files that are not known before.
    fn components(&self, name: &str, image: &ImageDetails) -> Result<Vec<Component>, Error> {
        let first = self.metadata(name, image, Metadata::default())?;
        let metadata = if first.links.is_empty() { first } else { self.metadata(name, image, first)? };
        Ok(sbom::components(&metadata))
    }

    fn metadata(&self, name: &str, image: &ImageDetails, before: Metadata) -> Result<Metadata, Error> {
        let read = |files| sbom::read(files, before);
        let read = self.runtime.block_on(self.engine.read_files(&image.id, &self.env.stop, read))?;
        Ok(read.map_err(|source| sbom::Error::Archive { image: name.to_owned(), source })?)
    }

    /// Marks the packages of the base images that the engine has.
    fn mark_base(
        &self,
        planned: &Planned,
        image: &ImageDetails,
        components: &mut [Component],
    ) -> Result<(), Error> {
        for name in image::request(self.env, planned)?.images {
            let base = self.engine.image_details(&name);
            let base = self.runtime.block_on(self.env.stop.unless_asked(base))??;
            if let Some(base) = base.filter(|base| image.is_on(base)) {
                sbom::mark_base(components, &self.components(&name, &base)?, &name);
            }
        }
        Ok(())
    }
}

/// The first name of the last build of a configuration.
fn last_build(env: &Env, engine: &Engine, planned: &Planned) -> Result<String, Error> {
    let request = image::request(env, planned)?;
    engine.last_build(&request).ok_or_else(|| {
        let name = &planned.plan.config.name;
        Error::usage(
            format!("no build of `{name}` with this engine is recorded on this machine"),
            "build it with `agentcli build -t NAME`, or name its image: `agentcli sbom IMAGE -c FILE`",
        )
    })
}
