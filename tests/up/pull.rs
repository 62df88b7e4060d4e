//! Images from a registry that wants a password, into a setup of small services: the names of the real ones are those of
//! a registry that a test cannot stand in for.

use std::process::Command;
use std::time::Duration;

use agentcli::compiler::back::plan::{Port, Service, ServiceImage, Setup, Watch};
use agentcli::engine::{
    BuildEvent, BuildReporter, BuildRequest, Engine, EngineEnv, Error, Login, PushRequest,
};
use agentcli::live::{Change, Event, Reporter, Stop, Urls};
use agentcli::up::{self, Hooks, Mode, Options, Session};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use indexmap::IndexMap;
use tempfile::TempDir;

use super::host;
use crate::engine::{docker, request};
use crate::harness::free_port;
use crate::registry::{PASSWORD, Registry, USER};

/// A server of a few megabytes, of what the image of the debugger has.
const DOCKERFILE: &str = r#"
FROM langchain/langgraph-debugger AS all
RUN mkdir -p /out/www && echo true >/out/www/ok && cd /out && cp --parents /usr/bin/busybox $(ldd /usr/bin/busybox | grep -o '/[^ ]*') .
FROM scratch
COPY --from=all /out /
CMD ["/usr/bin/busybox", "httpd", "-f", "-p", "8000", "-h", "/www"]
"#;

/// Remembers what happened.
#[derive(Default)]
struct Seen(Vec<Event>);

impl Reporter for Seen {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

impl BuildReporter for Seen {
    fn building(&mut self, _: &BuildEvent) {}

    fn built(&mut self, _: Option<&Error>) {}
}

impl Hooks for Seen {
    fn replan(&mut self) -> Result<Session, String> {
        Err("nothing is planned again".to_owned())
    }
}

impl Seen {
    fn changes(&self, service: &str) -> Vec<Change> {
        let of = |event: &Event| match event {
            Event::Service { service: of, change } if of == service => Some(*change),
            _ => None,
        };
        self.0.iter().filter_map(of).collect()
    }

    fn pulled(&self) -> Vec<&str> {
        let of = |event| match event {
            &Event::Pulling { ref image, current: 0, total: 0 } => Some(image.as_str()),
            _ => None,
        };
        self.0.iter().filter_map(of).collect()
    }
}

/// A registry, an engine that may pull from it, and a project; nothing is left of them.
struct World {
    registry: Registry,
    config: TempDir,
    project: String,
    port: u16,
}

impl World {
    fn new() -> Self {
        let (registry, config) = (Registry::start(), TempDir::new().unwrap());
        let auth = STANDARD.encode(format!("{USER}:{PASSWORD}"));
        let text = format!(r#"{{"auths":{{"{}":{{"auth":"{auth}"}}}}}}"#, registry.address);
        std::fs::write(config.path().join("config.json"), text).unwrap();
        let port = free_port();
        Self { registry, config, project: format!("agentcli-pull-{}-{port}", std::process::id()), port }
    }

    async fn engine(&self) -> Engine {
        let config = Some(self.config.path().to_owned());
        Engine::connect(&EngineEnv { host: Some(host()), config, ..EngineEnv::default() }).await.unwrap()
    }

    fn name(&self, service: &str) -> String {
        format!("{}/{service}:1", self.registry.address)
    }

    /// Builds an image of its own; returns its id.
    async fn build(&self, name: &str, number: u32) -> String {
        let source = TempDir::new().unwrap();
        let dockerfile = format!("{DOCKERFILE}LABEL number={number} project={}\n", self.project);
        let build = BuildRequest { tags: vec![name.to_owned()], ..request(source.path(), &dockerfile) };
        self.engine().await.build(build, |_| {}).await.unwrap().id
    }

    /// Puts an image into the registry that is nowhere else.
    async fn publish(&self, service: &str, number: u32) {
        let name = format!("{}-{service}:{number}", self.project);
        self.build(&name, number).await;
        let push = PushRequest {
            image: name.clone(),
            repository: format!("{}/{service}", self.registry.address),
            tag: "1".to_owned(),
            login: Some(Login { user: USER.to_owned(), password: PASSWORD.to_owned() }),
            silence: Duration::from_secs(60),
        };
        self.engine().await.push(&push, |_| {}, &Stop::default()).await.unwrap();
        docker(&host(), &["rmi", &name]);
    }

    fn session(&self) -> Session {
        let service = |name: &str, ports| Service {
            name: name.to_owned(),
            is_server: false,
            image: ServiceImage::Named { name: self.name(name) },
            command: None,
            environment: IndexMap::new(),
            env_file: None,
            ports,
            mounts: Vec::new(),
            health: None,
            after: Vec::new(),
            ends: false,
            packages: None,
        };
        let api = format!("http://127.0.0.1:{}", self.port);
        let ports = vec![Port { host: self.port, container: 8000 }];
        Session {
            directory: self.config.path().to_owned(),
            config: self.config.path().join("agent.json"),
            setup: Setup {
                name: self.project.clone(),
                services: vec![service("cache", Vec::new()), service("server", ports)],
                volumes: Vec::new(),
                notes: Vec::new(),
            },
            server: "server".to_owned(),
            build: None,
            file: Vec::new(),
            given: Default::default(),
            watch: Watch { root: ".".to_owned(), ignore: Vec::new(), files: Vec::new() },
            addresses: Default::default(),
            urls: Urls {
                origin: api.clone(),
                ok: format!("{api}/ok"),
                docs: None,
                studio: api.clone(),
                public: None,
                page: None,
                debugger: None,
                api,
            },
        }
    }

    async fn up(&self, pull: bool) -> Seen {
        let options = Options {
            mode: Mode::Detached,
            pull,
            recreate: false,
            wait_timeout: Duration::from_secs(120),
            all_logs: false,
        };
        let mut seen = Seen::default();
        up::run(&self.engine().await, self.session(), &options, &mut seen, &Stop::default()).await.unwrap();
        seen
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let docker = |arguments: &[&str]| {
            let output = Command::new("docker").args(["-H", &host()]).args(arguments).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        for service in ["cache", "server"] {
            docker(&["rm", "-f", &format!("{}-{service}-1", self.project)]);
            let repository = format!("{}/{service}", self.registry.address);
            let format = "{{.Repository}}@{{.Digest}}";
            let left = docker(&["images", "--digests", "--format", format, &repository]);
            docker(&["rmi", "-f", &self.name(service)]);
            left.lines().for_each(|name| _ = docker(&["rmi", "-f", name]));
        }
        docker(&["network", "rm", &format!("{}_default", self.project)]);
    }
}

#[tokio::test]
async fn newer_images_are_taken_from_their_registry() {
    let world = World::new();
    for service in ["cache", "server"] {
        world.publish(service, 1).await;
    }
    let up = world.up(true).await;
    assert_eq!(up.pulled(), [world.name("cache"), world.name("server")]);
    assert_eq!((up.changes("cache"), up.changes("server")), (vec![Change::Created], vec![Change::Created]));

    // What is newer there is taken where that is asked for; an image of the user's own stays what it is.
    for service in ["cache", "server"] {
        world.publish(service, 2).await;
    }
    let up = world.up(false).await;
    assert_eq!((up.pulled(), up.changes("cache")), (Vec::new(), vec![Change::Unchanged]));
    let up = world.up(true).await;
    assert_eq!(up.pulled(), [world.name("cache")]);
    assert_eq!(
        (up.changes("cache"), up.changes("server")),
        (vec![Change::Recreated], vec![Change::Unchanged])
    );
    let container = format!("{}-cache-1", world.project);
    let number = docker(&host(), &["inspect", "-f", "{{.Config.Labels.number}}", &container]);
    assert_eq!(number, "2\n");
}

/// It was built elsewhere, and may be nowhere else.
#[tokio::test]
async fn an_image_that_lost_its_name_stays_unless_it_was_built_here() {
    let world = World::new();
    let first = world.build(&world.name("cache"), 1).await;
    world.build(&world.name("server"), 3).await;
    world.up(false).await;
    world.build(&world.name("cache"), 2).await;
    assert_eq!(world.up(false).await.changes("cache"), vec![Change::Recreated]);
    let id = docker(&host(), &["image", "inspect", "-f", "{{.Id}} {{.RepoTags}}", &first]);
    docker(&host(), &["rmi", &first]);
    assert_eq!(id.trim(), format!("{first} []"));
}
