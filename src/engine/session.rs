//! The session of a build: a connection over which BuildKit asks for registry credentials, secrets and SSH agents.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use bollard_buildkit_proto::health::health_check_response::ServingStatus;
use bollard_buildkit_proto::health::health_server::{Health, HealthServer};
use bollard_buildkit_proto::health::{
    HealthCheckRequest, HealthCheckResponse, HealthListRequest, HealthListResponse,
};
use bollard_buildkit_proto::moby::buildkit::secrets::v1::secrets_server::{self, SecretsServer};
use bollard_buildkit_proto::moby::buildkit::secrets::v1::{GetSecretRequest, GetSecretResponse};
use bollard_buildkit_proto::moby::filesync::v1::auth_server::{Auth, AuthServer};
use bollard_buildkit_proto::moby::filesync::v1::{
    CredentialsRequest, CredentialsResponse, FetchTokenRequest, FetchTokenResponse, GetTokenAuthorityRequest,
    GetTokenAuthorityResponse, VerifyTokenAuthorityRequest, VerifyTokenAuthorityResponse,
};
use bollard_buildkit_proto::moby::sshforward::v1::ssh_server::{Ssh, SshServer};
use bollard_buildkit_proto::moby::sshforward::v1::{BytesMessage, CheckAgentRequest, CheckAgentResponse};
use bollard_buildkit_proto::moby::upload::v1 as upload;
use bollard_buildkit_proto::moby::upload::v1::upload_server::{Upload, UploadServer};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use hyper::StatusCode;
use hyper::header::{CONNECTION, HOST, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, split};
use tonic::service::Routes;
use tonic::{Request, Response, Status, Streaming, async_trait};

use super::connect::Engine;
use super::credentials::Credentials;
use super::local;

/// The methods that BuildKit may call.
const METHODS: &[&str] = &[
    "/moby.filesync.v1.Auth/Credentials",
    "/moby.buildkit.secrets.v1.Secrets/GetSecret",
    "/moby.sshforward.v1.SSH/CheckAgent",
    "/moby.sshforward.v1.SSH/ForwardAgent",
    "/moby.upload.v1.Upload/Pull",
];

/// The field of a request's metadata that names an upload.
const UPLOAD: &str = "urlpath";

/// Maximum size of a piece of an upload, in bytes.
const PIECE: usize = 1 << 20;

/// The field of a request's metadata that names the SSH agent.
const SSH_ID: &str = "buildkit.ssh.id";

/// Size of a buffer for messages of an SSH agent, in bytes.
const BUFFER: usize = 16 * 1024;

/// Secrets and SSH agents that the steps of a build can mount. They are neither in the image nor in the build cache. There
/// is no `Debug`: the values are secret.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Values by ID.
    pub values: BTreeMap<String, Vec<u8>>,
    /// Sockets of SSH agents by ID.
    pub agents: BTreeMap<String, PathBuf>,
}

impl Secrets {
    /// The ID of the SSH agent of `RUN --mount=type=ssh` without one.
    pub const DEFAULT_AGENT: &str = "default";

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.agents.is_empty()
    }
}

/// An archive that BuildKit asks for.
type Archive = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// The services of a session.
#[derive(Clone)]
pub(super) struct Services {
    credentials: Arc<Credentials>,
    secrets: Arc<Secrets>,
    /// The build context, until it is asked for.
    context: Arc<Mutex<Option<Archive>>>,
}

impl Services {
    pub(super) fn new(credentials: Credentials, secrets: Secrets) -> Self {
        Self { credentials: Arc::new(credentials), secrets: Arc::new(secrets), context: Arc::default() }
    }

    /// The same with the build context, as an upload with the ID of the session.
    pub(super) fn with_context(
        self,
        context: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Self {
        Self { context: Arc::new(Mutex::new(Some(Box::pin(context)))), ..self }
    }

    /// Opens a session called `id` and serves it until the runtime ends. An error is a lowercase fragment.
    pub(super) async fn serve(self, engine: &Engine, id: &str) -> Result<(), String> {
        let connection = upgrade(engine, "/session", Some(id)).await?;
        let routes = Routes::new(HealthServer::new(self.clone()))
            .add_service(AuthServer::new(self.clone()))
            .add_service(SecretsServer::new(self.clone()))
            .add_service(UploadServer::new(self.clone()))
            .add_service(SshServer::new(self));
        let service = TowerToHyperService::new(routes.prepare());
        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        tokio::spawn(server.serve_connection(connection, service));
        Ok(())
    }
}

/// A connection to BuildKit over HTTP/2, on which the engine sends the requests if it is that of a session.
pub(super) async fn upgrade(engine: &Engine, path: &str, session: Option<&str>) -> Result<Upgraded, String> {
    let stream = engine.endpoint.stream().await.map_err(|error| error.to_string())?;
    let text = |error: hyper::Error| error.to_string();
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(text)?;
    tokio::spawn(connection.with_upgrades());
    let mut request = hyper::Request::post(path)
        .header(HOST, "docker")
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "h2c");
    if let Some(id) = session {
        request = request.header("X-Docker-Expose-Session-Uuid", id);
        for method in METHODS {
            request = request.header("X-Docker-Expose-Session-Grpc-Method", *method);
        }
    }
    let request = request.body(String::new()).map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(text)?;
    match response.status() {
        StatusCode::SWITCHING_PROTOCOLS => hyper::upgrade::on(response).await.map_err(text),
        status => Err(format!("the engine has no sessions of BuildKit (status {})", status.as_u16())),
    }
}

#[async_trait]
impl Health for Services {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(HealthCheckResponse { status: ServingStatus::Serving.into() }))
    }

    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("watch"))
    }

    async fn list(&self, _: Request<HealthListRequest>) -> Result<Response<HealthListResponse>, Status> {
        Err(Status::unimplemented("list"))
    }
}

/// The engine gets tokens of registries itself, from the credentials.
#[async_trait]
impl Auth for Services {
    async fn credentials(
        &self,
        request: Request<CredentialsRequest>,
    ) -> Result<Response<CredentialsResponse>, Status> {
        let (username, secret) = self.credentials.of_host(&request.get_ref().host).unwrap_or_default();
        Ok(Response::new(CredentialsResponse { username, secret }))
    }

    async fn fetch_token(
        &self,
        _: Request<FetchTokenRequest>,
    ) -> Result<Response<FetchTokenResponse>, Status> {
        Err(Status::unimplemented("fetch_token"))
    }

    async fn get_token_authority(
        &self,
        _: Request<GetTokenAuthorityRequest>,
    ) -> Result<Response<GetTokenAuthorityResponse>, Status> {
        Err(Status::unimplemented("get_token_authority"))
    }

    async fn verify_token_authority(
        &self,
        _: Request<VerifyTokenAuthorityRequest>,
    ) -> Result<Response<VerifyTokenAuthorityResponse>, Status> {
        Err(Status::unimplemented("verify_token_authority"))
    }
}

#[async_trait]
impl secrets_server::Secrets for Services {
    async fn get_secret(
        &self,
        request: Request<GetSecretRequest>,
    ) -> Result<Response<GetSecretResponse>, Status> {
        let id = &request.get_ref().id;
        let value = self.secrets.values.get(id).cloned();
        let data = value.ok_or_else(|| Status::not_found(format!("no --secret has the ID `{id}`")))?;
        Ok(Response::new(GetSecretResponse { data }))
    }
}

#[async_trait]
impl Ssh for Services {
    type ForwardAgentStream = Pin<Box<dyn Stream<Item = Result<BytesMessage, Status>> + Send>>;

    async fn check_agent(
        &self,
        request: Request<CheckAgentRequest>,
    ) -> Result<Response<CheckAgentResponse>, Status> {
        self.agent(&request.get_ref().id)?;
        Ok(Response::new(CheckAgentResponse {}))
    }

    async fn forward_agent(
        &self,
        request: Request<Streaming<BytesMessage>>,
    ) -> Result<Response<Self::ForwardAgentStream>, Status> {
        let id = request.metadata().get(SSH_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
        let (answers, mut requests) = split(local::connect(self.agent(id)?).await?);
        let mut messages = request.into_inner();
        tokio::spawn(async move {
            while let Some(Ok(message)) = messages.next().await {
                if requests.write_all(&message.data).await.is_err() {
                    return;
                }
            }
        });
        let received = stream::unfold(answers, |mut answers| async {
            let mut data = vec![0; BUFFER];
            let length = answers.read(&mut data).await.ok().filter(|length| *length > 0)?;
            data.truncate(length);
            Some((Ok(BytesMessage { data }), answers))
        });
        Ok(Response::new(Box::pin(received)))
    }
}

#[async_trait]
impl Upload for Services {
    type PullStream = Pin<Box<dyn Stream<Item = Result<upload::BytesMessage, Status>> + Send>>;

    /// The build context, once: its URL in the policy of the build names the session.
    async fn pull(
        &self,
        request: Request<Streaming<upload::BytesMessage>>,
    ) -> Result<Response<Self::PullStream>, Status> {
        let name = request.metadata().get(UPLOAD).and_then(|name| name.to_str().ok()).unwrap_or_default();
        let mut context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        let context = context.take().ok_or_else(|| Status::not_found(format!("no upload is `{name}`")))?;
        let pieces = context.flat_map(|piece| {
            let messages: Vec<_> = match piece {
                Ok(bytes) => {
                    bytes.chunks(PIECE).map(|data| Ok(upload::BytesMessage { data: data.to_vec() })).collect()
                }
                Err(error) => vec![Err(Status::aborted(error.to_string()))],
            };
            stream::iter(messages)
        });
        Ok(Response::new(Box::pin(pieces)))
    }
}

impl Services {
    /// The socket of an SSH agent.
    fn agent(&self, id: &str) -> Result<&Path, Status> {
        let id = if id.is_empty() { Secrets::DEFAULT_AGENT } else { id };
        let agent = self.secrets.agents.get(id).map(PathBuf::as_path);
        agent.ok_or_else(|| Status::not_found(format!("no --ssh has the ID `{id}`")))
    }
}
