//! Building an image.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::pin::pin;
use std::thread;
use std::time::{Duration, Instant};

use bollard::models::{BuildInfo, BuildInfoAux};
use bollard::query_parameters::{BuildImageOptions, BuilderVersion};
use bollard::{Docker, body_try_stream};
use futures_util::{Stream, StreamExt as _, stream};
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot};
use tokio::time;
use url::form_urlencoded;

use super::call::whole;
use super::connect::{Engine, root_cause};
use super::credentials::{Config, Credentials};
use super::error::Error;
use super::events::BuildEvent;
use super::fresh::{Before, Files, Freshness};
use super::inputs::{Inputs, copied_before_the_source};
use super::label::{self, SourceRecord};
use super::progress::{BuildKit, Buildah, MAX_STEPS, Steps};
use super::recorder::Recorder;
use super::reference::registry;
use super::request::{BuildRequest, Built, INLINE_CACHE, Settings, TIME, unused};
use super::session::Services;
use crate::context::{self, Listing};
use crate::live::Reporter;

/// Shows builds beside other events.
pub trait BuildReporter: Reporter {
    /// A build advanced.
    fn building(&mut self, event: &BuildEvent);

    /// A build ended, with this error if it failed.
    fn built(&mut self, failed: Option<&Error>);
}

/// Number of the largest paths of the context that are reported.
const LARGEST: usize = 5;

/// Interval at which it is looked how long steps have been running.
const TICK: Duration = Duration::from_secs(1);

/// The output of BuildKit with no file later than the image. The type `moby`, the default, cannot do that.
const TIMES_REWRITTEN: &str = r#"[{"Type":"image","Attrs":{"rewrite-timestamp":"true"}}]"#;

/// A parameter of the request.
type Extra = (&'static str, String);

/// Number of reports that are buffered.
const WAITING: usize = 64;

/// A report of the build thread.
pub(super) enum Report {
    Context(context::Error),
    Engine(Box<BuildInfo>),
    Failed(bollard::errors::Error),
    /// The engine could not be asked what the build needs to know.
    Unready(Error),
    /// Secrets are not supported, for this reason.
    NoSecrets(String),
    Warning(String),
}

impl Engine {
    /// Builds the image, unless it is up to date, and reports progress to `events`. If a registry cannot be reached, base
    /// images that are here are used, with a warning. Dropping the future stops the build on the engine.
    ///
    /// # Errors
    ///
    /// The context cannot be read, a base image cannot be pulled, a step fails, or the engine refuses or disconnects.
    pub async fn build(
        &self,
        request: BuildRequest,
        mut events: impl FnMut(BuildEvent),
    ) -> Result<Built, Error> {
        let built = self.build_once(request.clone(), &mut events).await;
        match built {
            Err(error)
                if request.pull && error.is_unreachable_registry() && self.has_all(&request.images).await =>
            {
                events(BuildEvent::Warning { message: format!("{error}; using the local image") });
                self.build_once(BuildRequest { pull: false, ..request }, events).await
            }
            built => built,
        }
    }

    async fn build_once(
        &self,
        mut request: BuildRequest,
        events: impl FnMut(BuildEvent),
    ) -> Result<Built, Error> {
        let mut steps = Steps::new(&request.steps, events);
        if request.settings.uses_cache() && self.is_podman().await? {
            let message =
                "Podman shares no layers with other machines: --cache-from and --cache-to have no effect";
            steps.report(BuildEvent::Warning { message: message.to_owned() });
            (request.settings.cache_from, request.settings.inline_cache) = Default::default();
        }
        let mut listing = request.context.list()?;
        // The record of an image has to be of what is sent.
        listing.hold(copied_before_the_source(&request.steps))?;
        let (files, bytes) = (listing.files(), listing.bytes());
        let freshness = Freshness::new(self, &request);
        let before = match &freshness {
            Some(freshness) => freshness.before_build(&listing, !request.no_cache).await,
            None => Before::default(),
        };
        if let Some(built) = before.built {
            steps.report(BuildEvent::UpToDate { files, bytes });
            return Ok(built);
        }
        steps.report(BuildEvent::Context { files, bytes, largest: listing.largest(LARGEST) });
        let inputs = Inputs::new(&request, &listing)?;
        if request.source().is_ok() {
            let record = SourceRecord::of(&inputs).text();
            request.settings.labels.entry(label::LABEL.to_owned()).or_insert(record);
        }
        let history = Recorder::new(self, &request, inputs);
        history.iter().flat_map(Recorder::again).for_each(|event| steps.report(event));
        let tags = request.tags.clone();
        let (sent, digest) = freshness.is_some().then(oneshot::channel).unzip();
        let (reports, stop) = self.start(request, listing, sent);
        let outcome = follow(reports, &self.endpoint.host, &mut steps).await;
        // The thread closes its connections, which cancels the build if it is still running.
        drop(stop);
        let built = Built { id: outcome?, tags };
        if let Some(history) = history {
            let unexpected = history.record(steps.instructions_done());
            unexpected.into_iter().for_each(|event| steps.report(event));
        }
        let files = digest.and_then(|mut digest| digest.try_recv().ok());
        if let (Some(freshness), Some(files)) = (freshness, files) {
            freshness.record(before, &files, &built).await;
        }
        Ok(built)
    }

    /// Starts the build on a thread with its own runtime. Dropping that runtime ends the tasks that bollard spawns, such as
    /// the BuildKit session, which would otherwise live as long as the caller's runtime.
    fn start(
        &self,
        request: BuildRequest,
        listing: Listing,
        sent: Option<oneshot::Sender<Files>>,
    ) -> (mpsc::Receiver<Report>, oneshot::Sender<()>) {
        let (sender, reports) = mpsc::channel(WAITING);
        let (stop, stopped) = oneshot::channel();
        let engine = self.clone();
        thread::spawn(move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(async {
                tokio::select! {
                    () = engine.drive(request, listing, sent, sender) => {}
                    _ = stopped => {}
                }
            }),
            Err(error) => _ = sender.blocking_send(Report::Failed(error.into())),
        });
        (reports, stop)
    }

    async fn drive(
        &self,
        request: BuildRequest,
        listing: Listing,
        sent: Option<oneshot::Sender<Files>>,
        reports: mpsc::Sender<Report>,
    ) {
        for id in request.unused_secrets() {
            let _ = reports.send(Report::Warning(unused(id))).await;
        }
        let credentials = match self.credentials(&request, &reports).await {
            Ok(credentials) => credentials,
            Err(error) => {
                let _ = reports
                    .send(Report::Warning(format!("{error}; pulling base images without credentials")))
                    .await;
                Credentials::default()
            }
        };
        let (failed, mut failure) = mpsc::channel(1);
        let pieces = pieces(listing, sent, failed);
        let session = session_id();
        let header = credentials.header();
        let services = Services::new(credentials, request.settings.secrets.clone());
        if let Some(images) = &request.settings.sources {
            let served = services.with_context(pieces).serve(self, &session).await;
            let report = match served {
                Ok(()) => self.solve(&request, images, &session, &reports).await,
                Err(error) => Err(bollard::errors::Error::DockerStreamError { error }),
            };
            let report = report.unwrap_or_else(|error| {
                failure.try_recv().map_or_else(|_| Report::Failed(error), Report::Context)
            });
            reports.send(report).await.ok();
            return;
        }
        let body = body_try_stream(pieces);
        let (docker, allowance) = self.streaming();
        let times = match self.times(&request, &reports).await {
            Ok(times) => times,
            Err(error) => {
                let _ = reports.send(Report::Unready(error)).await;
                return;
            }
        };
        let docker = with_extras(docker, &request, times, header);
        // Podman has no sessions.
        if let Err(reason) = services.serve(self, &session).await
            && !request.settings.secrets.is_empty()
        {
            let _ = reports.send(Report::NoSecrets(reason)).await;
            return;
        }
        let answers = docker.build_image(options(&request, session), None, Some(body));
        let mut answers = pin!(allowance.of_each(whole(answers)));
        while let Some(answer) = answers.next().await {
            let report = match answer {
                Ok(info) => Report::Engine(Box::new(info)),
                // If the context cannot be read, the engine reports only that the request is incomplete.
                Err(error) => failure.try_recv().map_or_else(|_| Report::Failed(error), Report::Context),
            };
            if reports.send(report).await.is_err() {
                return;
            }
        }
    }

    /// Whether a push of the image of `request` is to get the digest that it has without an engine: the same inputs make the same
    /// image, in which no record names the layer of the source by its former digest.
    ///
    /// # Errors
    ///
    /// The engine does not answer.
    pub async fn settles(&self, request: &BuildRequest) -> Result<bool, Error> {
        let may =
            request.settings.time.is_some() && !request.settings.inline_cache && request.source().is_ok();
        Ok(may && (self.is_podman().await? || self.has_containerd_store().await?))
    }

    /// The parameter that makes the engine set the times of files to that of the image, if it has one.
    async fn times(
        &self,
        request: &BuildRequest,
        reports: &mpsc::Sender<Report>,
    ) -> Result<Option<Extra>, Error> {
        let Some(time) = request.settings.time else { return Ok(None) };
        if self.is_podman().await? {
            return Ok(Some(("timestamp", time.to_string())));
        }
        if self.has_containerd_store().await? {
            return Ok(Some(("outputs", TIMES_REWRITTEN.to_owned())));
        }
        let message = format!(
            "{TIME} does not set the times of files with this engine, so the digest of the image differs each time: Docker \
             with the containerd image store and Podman set them"
        );
        let _ = reports.send(Report::Warning(message)).await;
        Ok(None)
    }

    /// The credentials for the base images. Credential helpers may be slow, so they are not run for local images unless
    /// `pull` is set.
    async fn credentials(
        &self,
        request: &BuildRequest,
        reports: &mpsc::Sender<Report>,
    ) -> Result<Credentials, Error> {
        let config = Config::read(&self.env)?;
        let mut registries = BTreeSet::new();
        for image in request.images.iter().chain(&request.settings.cache_from) {
            let registry = registry(image);
            let may_skip = config.helper(&registry).is_some() && !request.pull;
            if !(may_skip && matches!(self.inspect_image(image).await, Ok(Some(_)))) {
                registries.insert(registry);
            }
        }
        let warn = |text| _ = reports.try_send(Report::Warning(text));
        Ok(config.credentials(registries, &self.env, warn).await)
    }
}

/// Turns reports into events until the build has ended; returns the ID of the image.
async fn follow(
    mut reports: mpsc::Receiver<Report>,
    host: &str,
    steps: &mut Steps<impl FnMut(BuildEvent)>,
) -> Result<String, Error> {
    let mut image = None;
    let (mut buildkit, mut buildah) = (BuildKit::default(), Buildah::default());
    let mut ticks = time::interval(TICK);
    loop {
        let report = tokio::select! {
            report = reports.recv() => report,
            _ = ticks.tick() => {
                steps.running(Instant::now());
                continue;
            }
        };
        let Some(report) = report else { break };
        match report {
            Report::Context(error) => return Err(error.into()),
            Report::Warning(message) => steps.report(BuildEvent::Warning { message }),
            Report::NoSecrets(reason) => return Err(Error::NoSecrets { host: host.to_owned(), reason }),
            Report::Failed(error) => return Err(explain(error, host, &mut buildah, steps)),
            Report::Unready(error) => return Err(error),
            Report::Engine(info) => {
                match info.aux {
                    Some(BuildInfoAux::BuildKit(report)) => buildkit.report(report, steps),
                    Some(BuildInfoAux::Default(id)) => image = id.id.or(image),
                    None => {}
                }
                if let Some(text) = info.stream {
                    buildah.output(&text, steps);
                }
                if steps.are_too_many() {
                    let reason = format!("it reported more than {MAX_STEPS} steps");
                    return Err(Error::Lost { host: host.to_owned(), reason });
                }
            }
        }
    }
    buildah.finish(steps);
    let reason = "it reported no image ID".to_owned();
    image.ok_or_else(|| Error::Lost { host: host.to_owned(), reason })
}

fn explain(
    error: bollard::errors::Error,
    host: &str,
    buildah: &mut Buildah,
    steps: &mut Steps<impl FnMut(BuildEvent)>,
) -> Error {
    use bollard::errors::Error as Bollard;
    match error {
        Bollard::DockerStreamError { error } => {
            buildah.fail(&error, steps);
            steps.error(&error)
        }
        Bollard::DockerResponseServerError { message, .. } => steps.error(&message),
        other => Error::Lost { host: host.to_owned(), reason: root_cause(&other) },
    }
}

/// The archive of the context as a request body. If it cannot be read, `failed` gets the error; `sent` gets its digest.
fn pieces(
    listing: Listing,
    sent: Option<oneshot::Sender<Files>>,
    failed: mpsc::Sender<context::Error>,
) -> impl Stream<Item = io::Result<bytes::Bytes>> + Send + 'static {
    let mut archive = listing.stream();
    let mut digest = sent.map(|sent| (Sha256::new(), sent));
    let mut seen = move |piece: Option<&bytes::Bytes>| match (piece, &mut digest) {
        (Some(piece), Some((hasher, _))) => hasher.update(piece),
        (None, digest) => {
            digest.take().map(|(hasher, sent)| sent.send(hasher.finalize().into()));
        }
        (Some(_), None) => {}
    };
    let report_failure = move |error| {
        let _ = failed.try_send(error);
        io::Error::other("cannot read the build context")
    };
    stream::poll_fn(move |task| {
        archive.poll_next(task).map(|piece| {
            let piece = piece.map(|piece| piece.map_err(&report_failure)).transpose();
            piece.inspect(|piece| seen(piece.as_ref())).transpose()
        })
    })
}

/// The build arguments.
pub(super) fn arguments(settings: &Settings) -> BTreeMap<String, String> {
    let mut arguments = settings.arguments.clone();
    arguments.extend(settings.time.map(|time| (TIME.to_owned(), time.to_string())));
    if settings.inline_cache {
        arguments.insert(INLINE_CACHE.to_owned(), "1".to_owned());
    }
    arguments
}

fn options(request: &BuildRequest, session: String) -> BuildImageOptions {
    let Settings { labels, network, cache_from, .. } = &request.settings;
    let pairs = |map: &BTreeMap<String, String>| (!map.is_empty()).then(|| map.clone().into_iter().collect());
    BuildImageOptions {
        buildargs: pairs(&arguments(&request.settings)),
        cachefrom: Some(cache_from.clone()).filter(|images| !images.is_empty()),
        dockerfile: request.dockerfile.clone(),
        labels: pairs(labels),
        networkmode: network.clone(),
        nocache: request.no_cache,
        platform: request.platform.clone().unwrap_or_default(),
        pull: request.pull.then(|| "1".to_owned()),
        rm: true,
        session: Some(session),
        t: request.tags.first().cloned(),
        // For BuildKit, bollard would serve a session of its own, without secrets.
        version: BuilderVersion::BuilderV1,
        ..BuildImageOptions::default()
    }
}

/// Adds what bollard does not support: BuildKit without bollard's session, further tags, several hosts, times, and credentials in
/// a header, which Podman reads instead of asking in the session.
fn with_extras(
    docker: Docker,
    request: &BuildRequest,
    times: Option<Extra>,
    credentials: Option<String>,
) -> Docker {
    let tags = request.tags.iter().skip(1).map(|tag| ("t", tag));
    let hosts = request.settings.hosts.iter().map(|host| ("extrahosts", host));
    let mut more = form_urlencoded::Serializer::new(String::new());
    let more = more.extend_pairs(tags.chain(hosts)).extend_pairs(times).finish();
    docker.with_request_modifier(move |mut request| {
        if request.uri().path() == "/build" {
            let uri = request.uri().to_string().replacen("version=1", "version=2", 1);
            if let Ok(uri) = format!("{uri}&{more}").parse() {
                *request.uri_mut() = uri;
            }
            if let Some(Ok(value)) = credentials.as_ref().map(|value| value.parse()) {
                request.headers_mut().insert("x-registry-config", value);
            }
        }
        request
    })
}

/// A unique name for the session.
pub(super) fn session_id() -> String {
    format!("agentcli{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..))
}
