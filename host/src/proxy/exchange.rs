//! One request: its way to a backend, and the response back.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::attempt::{Failure, Outgoing};
use super::backend::Open;
use super::body::{Counted, Guard, Permit, ResponseBody};
use super::headers::{self, Client};
use super::options::Options;
use super::refusal::Refusal;
use super::routes::{Choice, Routes, Table};
use super::usage::{Held, Visit};
use crate::net::host_name::HostName;

/// The most responses that a request may lose on new connections before it is given up: each may have killed a server.
const MAX_LOST: usize = 2;

/// Answers the requests of one connection.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) routes: Arc<Routes>,
    pub(super) options: Arc<Options>,
    /// The address of the client.
    pub(super) peer: SocketAddr,
    /// The scheme of the connection, `http` or `https`.
    pub(super) scheme: &'static str,
    /// Counts the connection, even after an upgrade.
    pub(super) permit: Permit,
}

impl Service {
    async fn forward(&self, mut request: Request<Incoming>) -> Result<Response<ResponseBody>, Refusal> {
        if request.method() == Method::CONNECT {
            return Err(Refusal::Connect);
        }
        let upgrade = headers::upgrade(request.headers()).map(|_| hyper::upgrade::on(&mut request));
        let (parts, body) = request.into_parts();
        let (name, host) = HostName::of(&parts)?;
        let visit = self.routes.visit(&name, self.options.requests)?;
        let client = Client { address: self.peer.ip().to_canonical(), scheme: self.scheme, host };
        let search = Search {
            routes: &self.routes,
            options: &self.options,
            name: &name,
            visit: &visit,
            deadline: Instant::now() + self.options.hold,
            changes: self.routes.changes(),
            failed: Vec::new(),
            held: None,
        };
        let (response, open) = search.run(Outgoing::new(parts, body, &client)).await?;
        let guard = Guard::new(open, visit, self.permit.clone());
        respond(response, guard, upgrade)
    }
}

impl hyper::service::Service<Request<Incoming>> for Service {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let service = self.clone();
        Box::pin(
            async move { Ok(service.forward(request).await.unwrap_or_else(|refusal| refusal.response())) },
        )
    }
}

/// The search for a backend that responds.
struct Search<'a> {
    routes: &'a Routes,
    options: &'a Options,
    name: &'a HostName,
    visit: &'a Visit,
    deadline: Instant,
    changes: watch::Receiver<Table>,
    /// Backends that failed since the last pause.
    failed: Vec<SocketAddr>,
    held: Option<Held>,
}

impl Search<'_> {
    async fn run(mut self, mut outgoing: Outgoing) -> Result<(Response<Incoming>, Open), Refusal> {
        let mut lost = 0;
        loop {
            self.changes.mark_unchanged();
            let open = match self.routes.choose(self.name, &self.failed) {
                Choice::Backend(open) => open,
                Choice::Hold(reason) => {
                    self.hold(reason).await?;
                    continue;
                }
                Choice::UnknownHost => return Err(Refusal::UnknownHost(self.name.clone())),
            };
            // A request that is being served is not held.
            self.held = None;
            match outgoing.send(open.backend(), self.options.connect).await {
                Ok(response) => return Ok((response, open)),
                Err(Failure::Refused(refusal)) => return Err(refusal),
                Err(Failure::Stale) => {}
                Err(Failure::Unreachable) => self.failed.push(open.backend().address()),
                Err(Failure::Lost) => {
                    lost += 1;
                    if lost == MAX_LOST {
                        return Err(Refusal::NoResponse);
                    }
                    self.failed.push(open.backend().address());
                }
            }
        }
    }

    /// Waits for a change of the table or, after failed connections, for a moment.
    async fn hold(&mut self, reason: String) -> Result<(), Refusal> {
        if self.held.is_none() {
            let max = self.options.held;
            let held = self.visit.hold(max);
            self.held = Some(held.ok_or_else(|| Refusal::TooManyHeld { max, reason: reason.clone() })?);
        }
        if Instant::now() >= self.deadline {
            return Err(Refusal::Unavailable { after: self.options.hold, reason });
        }
        let pause = (!self.failed.is_empty()).then(|| Instant::now() + self.options.reconnect);
        let until = pause.map_or(self.deadline, |pause| pause.min(self.deadline));
        // The next choice tells what became of it.
        timeout_at(until, self.changes.changed()).await.ok();
        self.failed.clear();
        Ok(())
    }
}

/// Passes the response on, and connects both sides after an upgrade.
fn respond(
    mut response: Response<Incoming>,
    guard: Guard,
    upgrade: Option<OnUpgrade>,
) -> Result<Response<ResponseBody>, Refusal> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let protocol = headers::upgrade(response.headers());
        let client = upgrade.filter(|_| protocol.is_some()).ok_or(Refusal::InvalidResponse)?;
        tokio::spawn(tunnel(client, hyper::upgrade::on(&mut response), guard));
        headers::to_client(response.headers_mut(), protocol);
        return Ok(response.map(|_| Either::Right(Full::default())));
    }
    headers::to_client(response.headers_mut(), None);
    *response.version_mut() = Version::HTTP_11;
    Ok(response.map(|body| Either::Left(Counted::new(body, guard))))
}

/// Copies between client and backend until both have closed, or the requests of the backend are cut off.
async fn tunnel(client: OnUpgrade, backend: OnUpgrade, guard: Guard) {
    let cut = guard.open.backend().cut();
    let copy = async {
        let mut client = TokioIo::new(client.await?);
        let mut backend = TokioIo::new(backend.await?);
        // Either side may close at any time.
        tokio::io::copy_bidirectional(&mut client, &mut backend).await.ok();
        Ok::<_, hyper::Error>(())
    };
    tokio::select! {
        _ = copy => {}
        () = cut => {}
    }
}
