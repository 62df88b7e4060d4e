//! Plan → [`Setup`]: the server and its databases in containers.

use indexmap::IndexMap;
use sha2::{Digest, Sha256};

use crate::back::plan::{Health, Note, Plan, Port, Service, ServiceImage, Setup, Variable, VolumeMount};
use crate::server::product::State;
use crate::server::setup::{self, Key};

/// Maximum length of the directory name within a project name, in characters.
const MAX_NAME: usize = 40;

/// Options of the command line and the environment. There is no `Debug`, since `env` can hold secrets.
#[derive(Clone)]
pub struct SetupOptions {
    /// Name of the compose project.
    pub name: String,
    /// Port of the server on this machine.
    pub port: u16,
    /// Port of the debugger on this machine; without it there is no debugger.
    pub debugger_port: Option<u16>,
    /// URL of the server for the debugger's page; by default the port of the server on this machine.
    pub debugger_base_url: Option<String>,
    /// Whether the user has a database, so that the setup has none.
    pub has_database: bool,
    /// Image to run instead of building one.
    pub image: Option<String>,
    /// Values of `env`, if it is an object.
    pub env: IndexMap<String, String>,
    /// Names in the .env file that `env` names, and whether each has a value.
    pub env_file_names: IndexMap<String, bool>,
}

/// The project name for `directory`, an absolute path in parts: the directory's name in the form that compose requires, and
/// a few digits of a hash of the path, so that directories of the same name are different projects.
pub fn project_name(directory: &[String]) -> String {
    let own = directory.last().map(|name| name.to_lowercase()).unwrap_or_default();
    let own: String = own.chars().filter(|c| is_name_letter(*c)).collect();
    let own: String = own.trim_start_matches(['-', '_']).chars().take(MAX_NAME).collect();
    let own = if own.is_empty() { "agent" } else { &own };
    let digest = Sha256::digest(directory.join("/"));
    let digits = hex::encode(&digest[..3]);
    format!("{own}-{digits}")
}

/// Whether compose accepts `name` as a project name.
pub fn is_project_name(name: &str) -> bool {
    name.chars().all(is_name_letter) && !name.is_empty() && !name.starts_with(['-', '_'])
}

fn is_name_letter(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_'
}

/// The setup for the server of `plan`.
pub fn setup(plan: &Plan, options: &SetupOptions) -> Setup {
    let mut services: Vec<Service> = databases(plan, options).map(|data| beside(plan, data)).collect();
    let databases = services.iter().map(|service| service.name.clone()).collect();
    let fixed = fixed(plan, options);
    let notes = notes(&fixed, options);
    let server = server(plan, options, fixed, databases);
    let (migrations, server) = with_migrations(plan, server);
    services.extend(migrations);
    services.push(server);
    services.extend(options.debugger_port.map(|port| debugger(plan, port, options)));
    let volumes = services.iter().flat_map(|service| &service.mounts).map(|mount| mount.volume.clone());
    let volumes = volumes.collect();
    Setup { name: options.name.clone(), services, volumes, notes }
}

/// The databases of the server.
fn databases(plan: &Plan, options: &SetupOptions) -> impl Iterator<Item = &'static setup::Service> {
    let all = match plan.server.product.state {
        State::Databases { .. } => setup::DATABASES,
        State::Directory { .. } => &[],
    };
    let is_used = |service: &&setup::Service| !options.has_database || service.name != setup::POSTGRES.name;
    all.iter().filter(is_used)
}

/// A service other than the server.
fn beside(plan: &Plan, data: &setup::Service) -> Service {
    let image = plan.images.get(data.image).map_or(data.image, String::as_str).to_owned();
    let (volume, target) = setup::DATA;
    let has_data = data.name == setup::POSTGRES.name;
    Service {
        name: data.name.to_owned(),
        is_server: false,
        image: ServiceImage::Named { name: image },
        command: (!data.command.is_empty()).then(|| owned(data.command)),
        environment: data
            .environment
            .iter()
            .map(|&(name, value)| (name.to_owned(), default(name, value)))
            .collect(),
        env_file: None,
        ports: Vec::new(),
        mounts: has_data
            .then(|| VolumeMount { volume: volume.to_owned(), target: target.to_owned() })
            .into_iter()
            .collect(),
        health: (!data.health.is_empty()).then(|| health(owned(data.health), data.start_period)),
        after: Vec::new(),
        ends: false,
        packages: None,
    }
}

fn server(plan: &Plan, options: &SetupOptions, fixed: Variables, after: Vec<String>) -> Service {
    let mut environment = fixed;
    for key in plan.server.product.keys.iter().filter(|key| !is_given(key, options)) {
        let names = owned(key.found_by);
        environment.insert(key.variable.to_owned(), Variable::From { names, is_needed: false });
    }
    for (name, value) in &options.env {
        environment.entry(name.clone()).or_insert_with(|| text(value));
    }
    let image = match &options.image {
        Some(name) => ServiceImage::Named { name: name.clone() },
        // The name that compose would choose.
        None => ServiceImage::Built { name: format!("{}-{}", options.name, setup::SERVER) },
    };
    Service {
        name: setup::SERVER.to_owned(),
        is_server: true,
        image,
        command: None,
        environment,
        env_file: plan.env.file.clone(),
        ports: vec![Port { host: options.port, container: plan.server.port }],
        mounts: state(plan).into_iter().collect(),
        health: Some(health(plan.server.healthcheck.clone(), setup::SERVER_START_PERIOD)),
        after,
        ends: false,
        packages: None,
    }
}

fn debugger(plan: &Plan, port: u16, options: &SetupOptions) -> Service {
    let own = format!("http://127.0.0.1:{}", options.port);
    let url = options.debugger_base_url.as_deref().unwrap_or(&own);
    let mut service = beside(plan, &setup::DEBUGGER);
    service.environment.insert(setup::DEBUGGER_BASE_URL.to_owned(), text(url));
    service.ports.push(Port { host: port, container: setup::DEBUGGER_PORT });
    service
}

/// The service that migrates the database once, and the server that waits for it.
fn with_migrations(plan: &Plan, server: Service) -> (Option<Service>, Service) {
    let State::Databases { migrations: Some(command) } = plan.server.product.state else {
        return (None, server);
    };
    let migrations = Service {
        name: setup::MIGRATIONS.to_owned(),
        command: Some(owned(command)),
        ports: Vec::new(),
        health: Some(health(Vec::new(), 0)),
        ends: true,
        packages: packages(plan, &server.image),
        ..server.clone()
    };
    (Some(migrations), Service { after: vec![setup::MIGRATIONS.to_owned()], ..server })
}

/// Digest of the server's packages in an image that is built; another image can have any.
fn packages(plan: &Plan, image: &ServiceImage) -> Option<String> {
    let installation = plan.server.product.installation.as_ref()?;
    matches!(image, ServiceImage::Built { .. }).then(|| installation.digest())
}

/// The volume with the server's state.
fn state(plan: &Plan) -> Option<VolumeMount> {
    match plan.server.product.state {
        State::Databases { .. } => None,
        State::Directory { volume, path } => {
            Some(VolumeMount { volume: volume.to_owned(), target: path.to_owned() })
        }
    }
}

type Variables = IndexMap<String, Variable>;

/// Variables that the setup sets: the addresses of the other services; and the port, and other names of the address of the
/// database, where `env` has them.
fn fixed(plan: &Plan, options: &SetupOptions) -> Variables {
    let product = plan.server.product;
    let mut fixed = Variables::new();
    if product.has_replicas() {
        // All releases read the first, those that agentcli installs also the last, which takes precedence.
        let [first, last] = setup::DATABASE_VARIABLES;
        let own = if product.installation.is_some() { last } else { first };
        let names =
            setup::DATABASE_VARIABLES.into_iter().filter(|name| *name == own || is_named(name, options));
        fixed.extend(names.map(|name| (name.to_owned(), database(options))));
        let (name, uri) = setup::REDIS_URI;
        fixed.insert(name.to_owned(), text(uri));
    }
    if is_named(setup::PORT_VARIABLE, options) {
        fixed.insert(setup::PORT_VARIABLE.to_owned(), text(&plan.server.port.to_string()));
    }
    fixed
}

/// The address of the database.
fn database(options: &SetupOptions) -> Variable {
    if options.has_database {
        return Variable::From { names: vec![setup::OWN_DATABASE.to_owned()], is_needed: true };
    }
    let ([before, after], (name, default)) = (setup::DATABASE_URI.map(str::to_owned), setup::PASSWORD);
    Variable::Default { before, name: name.to_owned(), default: default.to_owned(), after }
}

/// Whether `env` has a variable.
fn is_named(name: &str, options: &SetupOptions) -> bool {
    options.env.contains_key(name) || options.env_file_names.contains_key(name)
}

fn notes(fixed: &Variables, options: &SetupOptions) -> Vec<Note> {
    let names = options.env.keys().chain(options.env_file_names.keys());
    let fixed = names.filter(|name| fixed.contains_key(*name));
    let why = |name: &String| match setup::DATABASE_VARIABLES.contains(&name.as_str()) {
        true if options.has_database => "--postgres-uri takes precedence",
        true => "the setup has its own database; use --postgres-uri for another",
        false => "the setup sets it",
    };
    let message = |name: &String| format!("ignoring `{name}` of `env`: {}", why(name));
    fixed.map(|name| Note { key: "/env".to_owned(), message: message(name) }).collect()
}

/// Whether the user's `env` has the key. An empty value does not count.
fn is_given(key: &Key, options: &SetupOptions) -> bool {
    let is_set = |name: &str| {
        options.env.get(name).is_some_and(|value| !value.is_empty())
            || options.env_file_names.get(name) == Some(&true)
    };
    is_set(key.variable) || key.legacy.is_some_and(is_set)
}

fn health(command: Vec<String>, start_period: u32) -> Health {
    Health {
        command,
        interval: setup::INTERVAL,
        timeout: setup::TIMEOUT,
        retries: setup::RETRIES,
        start_period,
        start_interval: setup::START_INTERVAL,
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// A value that the user of a compose file can set by a variable of its own name.
fn default(name: &str, value: &str) -> Variable {
    let (before, after) = (String::new(), String::new());
    Variable::Default { before, name: name.to_owned(), default: value.to_owned(), after }
}

fn text(text: &str) -> Variable {
    Variable::Text { text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(directory: &str) -> String {
        let parts: Vec<String> = directory.split('/').map(str::to_owned).collect();
        project_name(&parts)
    }

    #[test]
    fn project_names_are_valid_for_compose() {
        for (directory, expected) in [
            ("home/My Agent.v2", "myagentv2"),
            ("home/--_x", "x"),
            ("home/Größe", "gre"),
            ("home/代理", "agent"),
            ("", "agent"),
        ] {
            let name = name(directory);
            assert!(is_project_name(&name), "{name}");
            let own = name.rsplit_once('-').map(|(own, digits)| (own.to_owned(), digits.len()));
            assert_eq!(own, Some((expected.to_owned(), 6)), "{directory}");
        }
        assert_ne!(name("one/agent"), name("other/agent"));
        for bad in ["", "-a", "_a", "A", "a.b", "a b", "ä"] {
            assert!(!is_project_name(bad), "{bad}");
        }
    }
}
