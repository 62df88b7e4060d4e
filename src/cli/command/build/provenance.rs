//! `agentcli build --provenance`: attaches to a pushed image how it was built.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::cli::compile::Planned;
use crate::cli::console::note;
use crate::cli::env::Env;
use crate::cli::git::Commit;
use crate::cli::image;
use crate::cli::printer::Printer;
use crate::cli::registry::access;
use crate::cli::runtime::Runtime;
use crate::compiler::manifests::image_name::ImageName;
use crate::engine::{self, BuildRequest};
use crate::error::Error;
use crate::live::{Reporter as _, relay};
use crate::registry::{Attachment, base_digests};
use crate::sbom::{Dependency, Provenance};

/// The part of the statements that all images of a run share.
pub(super) struct Definition {
    /// The path of the configuration in the context, its digest, and the server.
    parameters: Map<String, Value>,
    commit: Option<Commit>,
}

impl Definition {
    /// Describes a project whose context is that of `request`. Notes why the statements name no commit, if they do not.
    pub(super) fn new(
        env: &mut Env,
        runtime: &Runtime,
        planned: &Planned,
        request: &BuildRequest,
    ) -> Result<Self, Error> {
        let plan = &planned.plan;
        let configuration = json!({ "path": image::configuration_path(plan), "sha256": plan.config.sha256 });
        let server = plan.server.product.name.into();
        let parameters =
            Map::from_iter([("configuration".to_owned(), configuration), ("server".to_owned(), server)]);
        let listing = request.context.list().map_err(engine::Error::Context)?;
        let commit = env.stop.unless_asked(Commit::of(&request.context.root, &listing));
        let commit = match runtime.block_on(commit)? {
            Ok(commit) => Some(commit),
            Err(reason) => {
                note(env, &format!("the provenance names no commit: {reason}"));
                None
            }
        };
        Ok(Self { parameters, commit })
    }

    /// Attaches the statement to each of the pushed `images`, names with digests, that `request` made; without an engine from
    /// the image `former`.
    pub(super) fn attach(
        &self,
        printer: &mut Printer<'_>,
        runtime: &Runtime,
        request: &BuildRequest,
        images: &[String],
        former: Option<&str>,
    ) -> Result<(), Error> {
        let (engine_env, stop) = (printer.env.engine(), printer.env.stop.clone());
        // All names have the same layers.
        let Some(first) = images.first() else { return Ok(()) };
        let (reach, events) = access(printer.env, &engine_env);
        let bases = base_digests(&reach, first, &request.images, &stop);
        let digests = runtime.block_on(relay(printer, events, bases))?;
        note_uncertain(printer, &request.images, &digests);
        let dependencies = self.dependencies(request, &digests, former);
        let external = self.external(request, former.is_some());
        for (at, image) in images.iter().enumerate() {
            // Two tags of one repository.
            if images[..at].contains(image) {
                continue;
            }
            let Some((name, digest)) = image.split_once('@') else { continue };
            let provenance = Provenance {
                name,
                digest,
                external: external.clone(),
                internal: internal(request),
                dependencies: dependencies.clone(),
            };
            let (reach, events) = access(printer.env, &engine_env);
            let attachment = Attachment {
                name: image,
                image: None,
                media_type: Provenance::MEDIA_TYPE,
                annotations: &[("in-toto.io/predicate-type", Provenance::PREDICATE)],
                content: provenance.write().into(),
            };
            let attached = runtime.block_on(relay(printer, events, attachment.push(&reach, &stop)))?;
            printer.note(format!("attached the provenance of {image} as {attached}"));
        }
        Ok(())
    }

    /// Parameters under the user's control. Values of labels are in the image, those of build arguments and secrets may be secret.
    fn external(&self, request: &BuildRequest, is_without_engine: bool) -> Map<String, Value> {
        let settings = &request.settings;
        let secrets = &settings.secrets;
        let options = json!({
            "add-host": settings.hosts,
            "build-arg": settings.arguments.keys().collect::<Vec<_>>(),
            "label": settings.labels,
            "network": settings.network,
            "no-cache": request.no_cache,
            "no-engine": is_without_engine,
            "platform": request.platform,
            "secret": secrets.values.keys().collect::<Vec<_>>(),
            "source-date-epoch": settings.time,
            "ssh": secrets.agents.keys().collect::<Vec<_>>(),
        });
        let mut external = self.parameters.clone();
        external.insert("options".to_owned(), options);
        external
    }

    fn dependencies(
        &self,
        request: &BuildRequest,
        digests: &[Option<String>],
        former: Option<&str>,
    ) -> Vec<Dependency> {
        let bases = request.images.iter().zip(digests);
        let bases = bases.map(|(name, digest)| dependency("base image", name, digest.clone()));
        let former = former.map(|name| dependency("former image", name, None));
        let commit = self.commit.iter().cloned();
        let commit = commit.map(|Commit { id, url }| Dependency::Commit { id, url });
        commit.chain(bases).chain(former).collect()
    }
}

/// Says which images have no digest in the statement.
fn note_uncertain(printer: &mut Printer<'_>, images: &[String], digests: &[Option<String>]) {
    for (image, _) in images.iter().zip(digests).filter(|(_, digest)| digest.is_none()) {
        printer.note(format!(
            "the provenance has no digest of `{image}`: its registry does not have the layers under this name; \
             `--locked` names it by its digest"
        ));
    }
}

/// Parameters that agentcli sets: the digest of the Dockerfile, which has all steps.
fn internal(request: &BuildRequest) -> Map<String, Value> {
    let file = request.context.extra.iter().find(|(path, _)| *path == request.dockerfile);
    let digest = file.map(|(_, text)| json!({ "sha256": hex::encode(Sha256::digest(text)) }));
    digest.map(|digest| ("dockerfile".to_owned(), digest)).into_iter().collect()
}

/// The image `name`; its digest is that of the name, or else `digest`.
fn dependency(role: &'static str, name: &str, digest: Option<String>) -> Dependency {
    let parsed = ImageName::parse(name).unwrap_or(ImageName { name, tag: None, digest: None });
    let digest = parsed.digest.map(str::to_owned).or(digest);
    Dependency::Image { role, name: parsed.name.to_owned(), tag: parsed.tag.map(str::to_owned), digest }
}
