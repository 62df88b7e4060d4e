//! `agentcli dev`

use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Host;

use crate::cli::check::{self, ConfigOption};
use crate::cli::collector;
use crate::cli::compile;
use crate::cli::databases::DatabaseOptions;
use crate::cli::env::Env;
use crate::cli::printer::Printer;
use crate::cli::variables;
use crate::compiler::discover;
use crate::compiler::front::dialect::CONFIGURATIONS;
use crate::compiler::server::product::{LICENSED, MEMORY, PRODUCTS, Product};
use crate::compiler::server::{CORS_ORIGINS, CORS_SETTINGS, local};
use crate::compiler::tree::Tree;
use crate::compiler::words::listed;
use crate::compiler::{self, Unused};
use crate::dev::{self, Debugger, Hooks, Options, Port, Selection, Session, Surroundings, Tls};
use crate::error::Error;
use crate::project::{DiskFiles, Project};

/// The parts that only images use: the server on this machine follows symbolic links, reads files outside of the dependencies
/// and of the build context, and has a version, a Python and a Node.js of its own.
pub(super) const UNUSED: Unused<'_> = Unused {
    rules: &[
        "dependency-is-link",
        "ignored-file",
        "incompatible-python",
        "invalid-dockerignore",
        "reference-outside-dependencies",
        "serde-needs-newer-server",
        "untested-node",
        "untested-python",
    ],
    warned: &["refused-node", "unsupported-syntax"],
    keys: &[
        "/_INTERNAL_docker_tag",
        "/api_version",
        "/base_image",
        "/dockerfile_lines",
        "/image_distro",
        "/keep_pkg_tools",
    ],
};

/// Timeout of an interpreter that is inspected: those of slow disks take seconds.
const INSPECTION: Duration = Duration::from_secs(30);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli dev                                    run ./agent.json, with a page at http://127.0.0.1:2024
  agentcli dev ./agent.py:graph                   run this graph, without a configuration
  agentcli dev --port 8080 --no-browser           fail if port 8080 is taken
  agentcli dev --debug-port 5678 --wait-for-client
  agentcli dev --json | jq                        print events as JSON Lines")]
pub(crate) struct Dev {
    /// Graph to serve without a configuration, such as ./agent.py:graph
    #[arg(value_name = "PATH:NAME", conflicts_with = "config")]
    graph: Option<String>,

    #[command(flatten)]
    config: ConfigOption,

    /// Address to listen on
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    host: String,

    /// Port to listen on [default: 2024 or the next free one]
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,

    /// Name under which other programs ask for the server, such as host.docker.internal; may be repeated
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    allow_host: Vec<String>,

    /// Files whose changes do not restart the server, beside those that git ignores: a pattern of .dockerignore from the directory of the configuration, or a name at any depth; may be repeated
    #[arg(long, value_name = "GLOB", value_parser = glob, conflicts_with = "no_reload", hide_short_help = true)]
    reload_exclude: Vec<String>,

    /// Do not restart on changes
    #[arg(long)]
    no_reload: bool,

    /// Do not keep a second process ready, which makes restarts quicker
    #[arg(long, hide_short_help = true)]
    no_standby: bool,

    /// Number of concurrent runs
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    n_jobs_per_worker: u32,

    /// Port for a debugger to attach to (debugpy, or the Node.js inspector)
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    debug_port: Option<u16>,

    /// Address for the debugger to listen on; whoever can reach it can run any code
    #[arg(
        long,
        value_name = "HOST",
        default_value = "127.0.0.1",
        requires = "debug_port",
        hide_short_help = true
    )]
    debug_host: String,

    /// Wait for a debugger before starting the server
    #[arg(long, requires = "debug_port", hide_short_help = true)]
    wait_for_client: bool,

    /// Do not open the browser
    #[arg(long)]
    no_browser: bool,

    /// URL of the studio to link to
    #[arg(long, value_name = "URL", default_value = local::STUDIO.0, hide_short_help = true)]
    studio_url: String,

    /// Allow blocking calls in asynchronous Python code
    #[arg(long, hide_short_help = true)]
    allow_blocking: bool,

    /// Make the server public through a Cloudflare tunnel
    #[arg(long, conflicts_with = "ssl_certfile")]
    tunnel: bool,

    /// Server to run: memory, with its state in files here, or pg, with PostgreSQL and Redis
    #[arg(long, value_name = "SERVER", default_value = MEMORY.name, value_parser = server)]
    server: &'static Product,

    #[command(flatten)]
    databases: DatabaseOptions,

    /// Python interpreter [default: the active or the project's virtual environment, or pyenv's, uv's or the PATH's]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,

    /// Install the newest versions, not those of the lock files beside local dependencies
    #[arg(long, hide_short_help = true)]
    no_lock: bool,

    /// Do not install missing packages
    #[arg(long, hide_short_help = true)]
    no_install: bool,

    /// Has no effect: nothing is asked
    #[arg(short, long, hide = true)]
    yes: bool,

    /// TLS certificate, in PEM format
    #[arg(long, value_name = "FILE", requires = "ssl_keyfile", hide_short_help = true)]
    ssl_certfile: Option<PathBuf>,

    /// Private key of the TLS certificate, in PEM format
    #[arg(long, value_name = "FILE", requires = "ssl_certfile", hide_short_help = true)]
    ssl_keyfile: Option<PathBuf>,

    /// Log level of the server
    #[arg(long, value_name = "LEVEL", value_parser = LOG_LEVELS, default_value = "warning", ignore_case = true, hide_short_help = true)]
    server_log_level: String,

    /// Timeout for the server to start, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    start_timeout: u64,

    /// Send traces of Python graphs to an OpenTelemetry collector, and nowhere else [default URL: http://127.0.0.1:4318]
    #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true, value_parser = collector::address)]
    #[arg(default_missing_value = collector::DEFAULT)]
    otlp: Option<String>,

    /// Print events as JSON Lines
    #[arg(long)]
    json: bool,
}

/// A server of `dev`. The one in memory is the same for all images.
fn server(name: &str) -> Result<&'static Product, String> {
    let here = PRODUCTS.iter().filter(|product| product.installation.is_some());
    match Product::named(name) {
        Some(product) if product.with_databases().is_some() => Ok(product),
        Some(product) if product.installation.is_some() => Ok(&LICENSED),
        Some(_) => Err("it runs only in its image: use `agentcli up`".to_owned()),
        None => Err(format!("there are {}", listed(here.map(|product| product.name)))),
    }
}

/// A name of the server in URLs.
fn host_name(text: &str) -> Result<String, String> {
    match Host::parse(text) {
        Ok(Host::Domain(_)) => Ok(text.to_owned()),
        Ok(_) => Err("IP addresses are always allowed".to_owned()),
        Err(_) => Err("it is not a host name: pass it without a scheme, port and path".to_owned()),
    }
}

/// A line of a .dockerignore that ignores something.
fn glob(text: &str) -> Result<String, String> {
    match text.trim_matches('/') {
        "" => Err("it is empty".to_owned()),
        path if path.starts_with(['!', '#']) => Err("it may not begin with ! or #".to_owned()),
        path => Ok(path.to_owned()),
    }
}

/// Patterns of files below a directory, as lines of a .dockerignore at a root that is that directory or above it.
fn below(directory: &Path, root: &str, globs: &[String]) -> Vec<String> {
    let root = directory.join(root);
    let root = root.canonicalize().unwrap_or(root);
    let inside = directory.strip_prefix(&root).unwrap_or(Path::new(""));
    let line = |glob: &String| {
        let place = if glob.contains('/') { inside.to_owned() } else { inside.join("**") };
        place.join(glob).display().to_string()
    };
    globs.iter().map(line).collect()
}

/// Log levels of the server, which has them in upper case.
const LOG_LEVELS: [&str; 5] = ["debug", "info", "warning", "error", "critical"];

/// Reads sessions: at the start, and again after each change.
struct Reader<'a> {
    dev: &'a Dev,
    /// The variables with the addresses of the databases.
    databases: Vec<(String, Option<String>)>,
}

impl Hooks for Printer<'_, Reader<'_>> {
    fn replan(&mut self) -> Option<Session> {
        let session = self.context.session(self.env).ok()?;
        self.env.end_round();
        Some(session)
    }
}

impl Reader<'_> {
    /// Reads, checks and plans the project. The directory is canonical, so that paths match those in the server's output.
    fn session(&self, env: &mut Env) -> Result<Session, Error> {
        let Dev { graph, config, no_lock, server, .. } = self.dev;
        let options = compiler::Options { no_lock: *no_lock, is_local: true, server, ..Default::default() };
        let (project, config, mut plan) = match graph {
            None => {
                let path = config.path(env);
                check::compile(env, &path, &options, UNUSED)?
            }
            Some(graph) => {
                let path = Path::new(CONFIGURATIONS[0]);
                let loaded = Project::with_content(&env.directory, path, without_configuration(env, graph)?);
                check::compile_loaded(env, path, loaded, &options, UNUSED)?
            }
        };
        let directory = compile::directory_of(&env.directory.join(&project.path));
        let directory = directory.canonicalize().unwrap_or(directory);
        let excluded = below(&directory, &plan.local.watch.root, &self.dev.reload_exclude);
        plan.local.watch.ignore.extend(excluded);
        let values = variables::values(env, &project, &config, false);
        let env = values.into_iter().chain(self.databases.clone()).chain(self.dev.traces());
        Ok(Session { directory, plan, env: env.collect() })
    }
}

/// The configuration that `init` would write for the graph `PATH:NAME` here.
fn without_configuration(env: &Env, reference: &str) -> Result<Vec<u8>, Error> {
    let files = Tree::new(DiskFiles::new(&env.directory));
    let graph = discover::named(reference, &files).ok_or_else(|| {
        Error::usage(
            format!("`{reference}` names no graph"),
            "write the file and the name, such as `./agent.py:graph`",
        )
    })?;
    let (text, _) = discover::configuration(&[graph], &files);
    let checked = check::check_written(&env.directory, Path::new(CONFIGURATIONS[0]), text);
    Ok(checked.source.text.into_bytes())
}

impl Dev {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let mut reader = Reader { dev: &self, databases: Vec::new() };
        let mut session = reader.session(env)?;
        if self.server.with_databases().is_some() {
            reader.databases = self.databases.variables(env, self.server, &session.directory)?;
            session.env.extend(reader.databases.clone());
        }
        let options = self.options(env)?;
        let opens_browser = !self.no_browser && env.out.is_terminal;
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let mut printer = Printer::new(env, self.json, reader);
        printer.opens_browser = opens_browser;
        runtime.block_on(dev::run(session, &options, &mut printer, &stop))?;
        Ok(())
    }

    /// The variables that send traces to the collector.
    fn traces(&self) -> Vec<(String, Option<String>)> {
        let all = self.otlp.iter().flat_map(|address| collector::variables(address));
        all.map(|(name, value)| (name, Some(value))).collect()
    }

    fn options(&self, env: &Env) -> Result<Options, Error> {
        Ok(Options {
            host: self.host.clone(),
            port: self.port.map_or(Port::From(local::PORT), Port::Exactly),
            allowed_hosts: self.allow_host.clone(),
            reload: !self.no_reload,
            standby: !self.no_standby,
            jobs: self.n_jobs_per_worker,
            debugger: self.debug_port.map(|port| Debugger {
                host: self.debug_host.clone(),
                port,
                waits: self.wait_for_client,
            }),
            allow_blocking: self.allow_blocking,
            tunnel: self.tunnel,
            installs: !self.no_install,
            tls: self.tls(env)?,
            log_level: self.server_log_level.to_uppercase(),
            colour: env.err.is_coloured,
            start_timeout: Duration::from_secs(self.start_timeout),
            studio: self.studio_url.trim_end_matches('/').to_owned(),
            selection: Selection {
                python: self.python.as_ref().map(|path| env.directory.join(path)),
                surroundings: surroundings(env),
                timeout: INSPECTION,
                verbose: env.verbose,
            },
        })
    }

    fn tls(&self, env: &Env) -> Result<Option<Tls>, Error> {
        let existing = |path: &PathBuf| match env.directory.join(path) {
            path if path.is_file() => Ok(path),
            _ => Err(Error::misused(format!("there is no file `{}`", path.display()))),
        };
        match (&self.ssl_certfile, &self.ssl_keyfile) {
            (Some(certificate), Some(key)) => {
                Ok(Some(Tls { certificate: existing(certificate)?, key: existing(key)? }))
            }
            _ => Ok(None),
        }
    }
}

pub(super) fn surroundings(env: &Env) -> Surroundings {
    let home = env.variable("HOME").map(|home| PathBuf::from(home).join(".pyenv"));
    Surroundings {
        path: env.variable("PATH").unwrap_or_default(),
        server: local::MOUNT_PREFIX
            .iter()
            .chain(&[CORS_SETTINGS, CORS_ORIGINS])
            .filter_map(|&name| Some((name.to_owned(), env.variable(name)?)))
            .collect(),
        virtual_env: env.variable("VIRTUAL_ENV"),
        pyenv_version: env.variable("PYENV_VERSION"),
        pyenv_root: env.variable("PYENV_ROOT").map(PathBuf::from).or(home).filter(|root| root.is_dir()),
    }
}
