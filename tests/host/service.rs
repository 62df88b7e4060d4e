//! A service in this process, for one test, and a client that asks it anything.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, Output};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use agentcli::api::Vocabulary;
use agentcli_host::runner::Runner;
use agentcli_host::{DEFAULT_TENANT, Limits, Options, Repositories, Service, Store};
use reqwest::Method;
use reqwest::header::HeaderMap;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::description;
use super::stand_in::StandIn;
pub(crate) use crate::harness::PATIENCE;
use crate::harness::TestEnv;

/// The key of every service of the tests.
pub(crate) const KEY: &str = "key-of-the-tests-0123456789";

/// A service that ends when it is dropped.
pub(crate) struct Host {
    address: SocketAddr,
    /// Where its deployments are reached.
    #[cfg(feature = "system-tests")]
    proxy: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    vocabulary: Vocabulary,
    /// Removed after the service.
    data: TempDir,
}

/// What a test may change of a service.
pub(crate) struct Knobs {
    /// The data directory.
    pub(crate) data: PathBuf,
    pub(crate) runner: StandIn,
    options: Options,
}

impl Deref for Knobs {
    type Target = Options;

    fn deref(&self) -> &Options {
        &self.options
    }
}

impl DerefMut for Knobs {
    fn deref_mut(&mut self) -> &mut Options {
        &mut self.options
    }
}

impl Knobs {
    fn new(data: &Path) -> Self {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            data: data.to_owned(),
            runner: StandIn::new(Duration::from_millis(5)),
            options: Options {
                listen: any,
                proxy: any,
                tls: None,
                vocabulary: Vocabulary::Specification,
                is_self_hosted: false,
                registry: None,
                repositories: Repositories::default(),
                webhooks: Vec::new(),
                templates: None,
                listeners: Vec::new(),
                limits: Limits::default(),
                notices: Arc::new(|_| ()),
            },
        }
    }
}

impl Answer {
    /// The value of a header; empty where there is none.
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// What it answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: HeaderMap,
    pub(crate) text: String,
    /// Null where it is no JSON.
    pub(crate) json: Value,
}

impl Host {
    /// Starts one that is quick and does nothing wrong, but for what `change` says.
    pub(crate) fn start(change: impl FnOnce(&mut Knobs)) -> Self {
        Self::start_in(TempDir::new().unwrap(), change)
    }

    /// The same with a data directory that another one may have left.
    pub(crate) fn start_in(data: TempDir, change: impl FnOnce(&mut Knobs)) -> Self {
        let mut knobs = Knobs::new(data.path());
        change(&mut knobs);
        let Knobs { runner, options, .. } = knobs;
        Self::serve(data, options, |_| runner)
    }

    /// Starts one that runs deployments on a real engine.
    #[cfg(feature = "system-tests")]
    pub(crate) fn on_engine(engine: &str) -> Self {
        use agentcli::engine::EngineEnv;
        use agentcli_host::AllowedImages;
        use agentcli_host::runner::{self, Databases, EngineRunner};
        let data = TempDir::new().unwrap();
        let Knobs { options, .. } = Knobs::new(data.path());
        let builds = data.path().join("build");
        let env = EngineEnv { host: Some(engine.to_owned()), ..EngineEnv::default() };
        Self::serve(data, options, |store| {
            let databases = Databases::new(None, None, &store.database_key()).unwrap();
            let host = store.host_id().unwrap();
            let options = runner::Options {
                engine: env,
                host,
                pull: false,
                allowed_images: AllowedImages::default(),
                environment: Vec::new(),
                builds,
                repository_limit: 1 << 30,
                databases,
                limits: runner::ContainerLimits::default(),
                server: Default::default(),
            };
            EngineRunner::new(options).unwrap()
        })
    }

    fn serve<R: Runner>(
        data: TempDir,
        options: Options,
        runner: impl FnOnce(&Store) -> R + Send + 'static,
    ) -> Self {
        let directory = data.path().to_owned();
        let vocabulary = options.vocabulary;
        let (end, ended) = oneshot::channel::<()>();
        let (ready, address) = mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let store = Store::open(&directory).unwrap();
                store.add_key(DEFAULT_TENANT, KEY).await.unwrap();
                let runner = Arc::new(runner(&store));
                let service = Service::bind(options, Arc::new(store), runner).await.unwrap();
                ready.send((service.address(), service.proxy_address())).unwrap();
                service.serve(async { drop(ended.await) }).await;
            });
        });
        let (address, proxy) = address.recv_timeout(PATIENCE).expect("the service does not start");
        #[cfg(not(feature = "system-tests"))]
        let _ = proxy;
        Self {
            address,
            #[cfg(feature = "system-tests")]
            proxy,
            end: Some(end),
            thread: Some(thread),
            vocabulary,
            data,
        }
    }

    /// Its data directory.
    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }

    /// Sets quotas of the tenant of [`KEY`], such as `deployments=1`.
    pub(crate) fn set_quotas(&self, quotas: &str) {
        let run = TestEnv::inside(self.data()).run(&format!("host tenants set default {quotas} --data ."));
        assert_eq!((run.code, &*run.out), (0, ""), "{}", run.err);
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its deployments are reached.
    #[cfg(feature = "system-tests")]
    pub(crate) fn proxy(&self) -> SocketAddr {
        self.proxy
    }

    /// Its ID in labels.
    #[cfg(feature = "system-tests")]
    pub(crate) fn id(&self) -> String {
        Store::attach(self.data()).unwrap().host_id().unwrap()
    }

    /// The same as the address, for `--host-url`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Asks with the key.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let body = body.map(|body| ("application/json", body.to_string().into_bytes()));
        self.send(method, path, &[("X-Api-Key", KEY)], body).unwrap()
    }

    /// Asks and takes the record from an answer of this status.
    pub(crate) fn expect(&self, status: u16, method: &str, path: &str, body: Option<&Value>) -> Value {
        let answer = self.ask(method, path, body);
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text);
        answer.json
    }

    /// Asks anything: with these headers, and this type and body. The answer is as the description of the service says.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<(&str, Vec<u8>)>,
    ) -> reqwest::Result<Answer> {
        let url = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.url()) };
        let answer = send(method, &url, headers, body)?;
        if let Some(path) = url.strip_prefix(&self.url()) {
            description::check(self.vocabulary, method, path, &answer);
        }
        Ok(answer)
    }

    /// Asks for the record at `path` until it is as it should be.
    pub(crate) fn until(&self, path: &str, is_done: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let record = self.expect(200, "GET", path, None);
            if is_done(&record) {
                return record;
            }
            assert!(Instant::now() < deadline, "{path} stays {record}");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Host {
    /// Ends it; what it leaves.
    pub(crate) fn stop(mut self) -> TempDir {
        self.end();
        std::mem::replace(&mut self.data, TempDir::new().unwrap())
    }

    /// Ends it, and leaves what it made.
    pub(crate) fn end(&mut self) {
        drop(self.end.take());
        let Some(thread) = self.thread.take() else { return };
        let deadline = Instant::now() + PATIENCE;
        while !thread.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        if !thread::panicking() {
            assert!(thread.is_finished(), "the service does not end");
            assert!(thread.join().is_ok(), "the service panicked");
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sends a request with these headers, and a body with its type.
pub(crate) fn send(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: Option<(&str, Vec<u8>)>,
) -> reqwest::Result<Answer> {
    rustls::crypto::ring::default_provider().install_default().ok();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = client.request(method, url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some((kind, body)) = body {
            request = request.header("Content-Type", kind).body(body);
        }
        let response = request.send().await?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let text = response.text().await?;
        let json = serde_json::from_str(&text).unwrap_or_default();
        Ok(Answer { status, headers, text, json })
    })
}

/// Waits until a process ends; what it said where that was not read.
pub(super) fn ended(child: Child, patience: Duration) -> Output {
    let id = Pid::from_child(&child);
    let (sender, outputs) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()).ok());
    let output = outputs.recv_timeout(patience).unwrap_or_else(|_| {
        kill_process(id, Signal::KILL).ok();
        panic!("process {id:?} does not end");
    });
    output.unwrap()
}
