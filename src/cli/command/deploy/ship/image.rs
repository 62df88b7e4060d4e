//! As an image: built here, pushed to where the service says.

use std::ffi::OsString;

use super::event::Event;
use super::source::{CREDENTIALS, NOTHING};
use super::{From, Shipment, Way};
use crate::api::wire::{Deployment, Source};
use crate::cli::image::{self, Wanted};
use crate::cli::name::slug;
use crate::cli::progress::Style;
use crate::engine::{self, Engine, EngineEnv, Login, PushRequest};
use crate::error::Error;

/// What services run.
const PLATFORM: &str = "linux/amd64";

/// The tag that an image is pushed with where the user gives none.
const TAG: &str = "latest";

impl Shipment<'_> {
    /// How the project gets to the service.
    pub(super) async fn way(&mut self, before: Option<&Deployment>) -> Result<Way, Error> {
        let ship = self.ship;
        if let Some(before) = before.filter(|it| it.source == Source::ExternalContainer) {
            return Err(Error::Usage {
                message: format!(
                    "`{}` runs images of a registry of your own; nothing is sent to it",
                    before.name
                ),
                hint: Some(format!(
                    "push the image there, and name it with `agentcli deploy update {} --image IMAGE@DIGEST`",
                    before.id
                )),
            });
        }
        match ship.revision_source {
            Some(From::Codehost) if before.is_none() => {
                return Err(Error::Usage {
                    message: "there is no such deployment, and none is made from a repository here"
                        .to_owned(),
                    hint: Some(
                        "`agentcli deploy list` shows what there is; --deployment-id names one".to_owned(),
                    ),
                });
            }
            Some(From::Codehost) => return Ok(Way::Repository),
            Some(From::InternalSource) => return Ok(Way::Source),
            None if ship.remote => return Ok(Way::Source),
            Some(From::InternalContainer) | None => {}
        }
        let may_be_remote = !ship.no_remote && ship.image.is_none() && ship.revision_source.is_none();
        // The service's registry takes images of deployments that were made from an image, and of no others.
        if let Some(before) = before.filter(|it| it.source != Source::InternalContainer) {
            if !may_be_remote {
                return Err(Error::Usage {
                    message: format!(
                        "`{}` was made from {}, and takes no images",
                        before.name, before.source
                    ),
                    hint: Some("let the service build it: --remote".to_owned()),
                });
            }
            let message =
                format!("`{}` was made from {}; the service builds the image", before.name, before.source);
            self.say(Event::Note { message });
            return Ok(Way::Source);
        }
        let lookup = |name: &str| (self.env.variables)(name).map(OsString::from);
        let surroundings = EngineEnv::new(lookup);
        match self.stop.unless_asked(Engine::connect(&surroundings)).await? {
            Ok(engine) => Ok(Way::Image(Box::new(engine))),
            Err(error @ (engine::Error::NoEngine { .. } | engine::Error::Unreachable { .. }))
                if may_be_remote =>
            {
                self.say(Event::Note { message: format!("{error}; the service builds the image") });
                Ok(Way::Source)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The name or id of the image to push, built where it is not given.
    pub(super) async fn image(&mut self, engine: &Engine, name: &str) -> Result<String, Error> {
        if let Some(image) = &self.ship.image {
            return Ok(image.clone());
        }
        let tags = match self.ship.tags.is_empty() {
            // Names of deployments that were made elsewhere may be of any form.
            true => vec![format!("agentcli-deploy/{}", slug(name))],
            false => self.ship.tags.clone(),
        };
        let wanted = Wanted {
            tags,
            platform: Some(self.platform()),
            pull: !self.ship.no_pull,
            no_cache: self.ship.no_cache,
            ignore: if self.ship.include_credentials { NOTHING } else { CREDENTIALS },
        };
        let style = if self.ship.json { Style::Json } else { Style::Auto };
        let built = image::build(self.env, engine, &self.planned, wanted, style).await?;
        self.say(Event::Built { id: built.id.clone(), tags: built.tags });
        Ok(built.id)
    }

    /// Pushes `image`, and says where it is then: with its digest.
    pub(super) async fn push(
        &mut self,
        engine: &Engine,
        deployment: &Deployment,
        image: String,
    ) -> Result<String, Error> {
        let token = self.ask(self.client.push_token(&deployment.id)).await?;
        let repository = token.repository_url.as_ref().unwrap_or(&token.registry_url);
        let request = PushRequest {
            image,
            repository: without_scheme(repository).to_owned(),
            tag: self.tag().to_owned(),
            login: Some(Login {
                user: token.username().to_owned(),
                password: token.token.expose().to_owned(),
            }),
            silence: self.env.patience.push,
        };
        let mut push = self.voice.push();
        let env = &mut *self.env;
        let pushed = engine.push(&request, |event| push.show(env, event), &self.stop).await;
        push.end();
        let pushed = pushed?;
        let uri = format!("{}@{}", pushed.repository, pushed.digest);
        self.say(Event::Pushed { image: uri.clone() });
        Ok(uri)
    }

    /// The platform to build for.
    pub(super) fn platform(&self) -> String {
        self.ship.platform.clone().unwrap_or_else(|| PLATFORM.to_owned())
    }

    /// The tag of the first name that the user gave.
    fn tag(&self) -> &str {
        let name =
            self.ship.tags.first().map_or("", |tag| tag.rsplit_once('/').map_or(&**tag, |(_, name)| name));
        name.split_once(':').map_or(TAG, |(_, tag)| tag)
    }
}

/// `registry.example/x` of `https://registry.example/x/`
fn without_scheme(address: &str) -> &str {
    address.split_once("://").map_or(address, |(_, rest)| rest).trim_end_matches('/')
}
