//! `uv.lock`, held to `uv export`: the same packages, versions, files and directories. The workspaces are locked by uv.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use agentcli::compiler::manifests::marker::{Environment, MACHINES};
use agentcli::compiler::manifests::uv_lock::{self, Request};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tempfile::TempDir;

use crate::harness::{free_port, python, until};

/// Builds a package with one module.
const BUILD: &str = "[build-system]\nrequires = [\"hatchling\"]\nbuild-backend = \"hatchling.build\"\n";

/// Requirement, without hashes, to its hashes.
type Installed = BTreeMap<String, BTreeSet<String>>;

/// A workspace that uv locks.
struct Workspace(TempDir);

impl Workspace {
    /// A workspace whose root is no package, with these members and their manifests, and `settings` of uv.
    fn new(settings: &str, members: &[(&str, &str)]) -> Self {
        let workspace = Self(TempDir::new().unwrap());
        let root = format!(
            "[project]\nname = \"root\"\nversion = \"0\"\nrequires-python = \">=3.11\"\n\
             [tool.uv]\npackage = false\n{settings}\n[tool.uv.workspace]\nmembers = [\"packages/*\"]\n"
        );
        workspace.write("pyproject.toml", &root);
        for (name, manifest) in members {
            let project =
                format!("[project]\nname = \"{name}\"\nversion = \"1.0\"\nrequires-python = \">=3.11\"\n");
            workspace
                .write(&format!("packages/{name}/pyproject.toml"), &format!("{project}{manifest}\n{BUILD}"));
        }
        workspace
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn uv(&self, arguments: &[&str]) -> String {
        run(Command::new(python().with_file_name("uv")).args(arguments).current_dir(self.0.path()))
    }

    fn locked(self) -> Self {
        self.uv(&["lock", "--quiet"]);
        self
    }

    /// The packages that the closure of `package` installs.
    fn ours(&self, request: &Request<'_>, machine: &str) -> Installed {
        let lock = uv_lock::read(&fs::read_to_string(self.0.path().join("uv.lock")).unwrap()).unwrap();
        let closure = lock.closure(request).unwrap().into_iter().filter(|it| it.machines.contains(&machine));
        let entry = |selected: uv_lock::Selected| match &selected.package.source {
            uv_lock::Source::Virtual(_) => None,
            uv_lock::Source::Directory(path) => Some((path.clone(), BTreeSet::new())),
            _ => {
                let requirement = selected.requirement(request.python, str::to_owned);
                let requirement = requirement.split(" ; ").next().unwrap().to_owned();
                let archive = requirement.split_once(" @ file:").map(|(_, path)| path.to_owned());
                let hashes = selected.files(request.python).filter_map(|file| file.hash.clone()).collect();
                Some((archive.unwrap_or(requirement), hashes))
            }
        };
        closure.filter_map(entry).collect()
    }

    /// What `uv export` lists for the same.
    fn theirs(&self, request: &Request<'_>, machine: &str) -> Installed {
        let mut arguments =
            vec!["export", "--frozen", "--quiet", "--no-header", "--no-annotate", "--no-default-groups"];
        arguments.extend(["--package", request.package]);
        request.extras.iter().for_each(|extra| arguments.extend(["--extra", extra]));
        request.groups.iter().for_each(|group| arguments.extend(["--group", group]));
        let environment = Environment::linux(request.python, machine).unwrap();
        let text = self.uv(&arguments).replace("\\\n", " ");
        let entry = |line: &str| {
            let mut words = line.split(" --hash=");
            let requirement = words.next().unwrap().trim();
            let hashes = words.map(|hash| hash.trim().to_owned()).collect();
            let (requirement, marker) =
                requirement.split_once(" ; ").unwrap_or((requirement, "os_name == 'posix'"));
            let requirement = requirement.trim().trim_start_matches("-e ").trim_start_matches("./");
            environment.holds(marker, &[]).unwrap().then(|| (requirement.to_owned(), hashes))
        };
        text.lines().filter(|line| !line.trim().is_empty()).filter_map(entry).collect()
    }

    /// Compares both for each Python version and machine. The files are those of uv that fit Linux.
    fn compare(&self, package: &str, extras: &[&str], groups: &[&str]) -> Installed {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let mut all = Installed::new();
        for python in ["3.11", "3.13"] {
            let request = Request { package, extras: owned(extras), groups: owned(groups), python };
            for machine in MACHINES {
                let (ours, theirs) = (self.ours(&request, machine), self.theirs(&request, machine));
                let names = |all: &Installed| all.keys().cloned().collect::<BTreeSet<_>>();
                assert_eq!(names(&ours), names(&theirs), "{request:?} {machine}");
                for (name, hashes) in &ours {
                    assert!(hashes.is_subset(&theirs[name]), "{name}: {hashes:?} {:?}", theirs[name]);
                    assert_eq!(hashes.is_empty(), theirs[name].is_empty(), "{name}");
                }
                all.extend(ours);
            }
        }
        all
    }
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{err}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// Builds a wheel of `name`, with one module, in `directory`; returns its file name.
fn wheel(name: &str, directory: &Path) -> String {
    let project = TempDir::new().unwrap();
    let manifest =
        format!("[project]\nname = \"{name}\"\nversion = \"1.0\"\nrequires-python = \">=3.8\"\n{BUILD}");
    fs::write(project.path().join("pyproject.toml"), manifest).unwrap();
    fs::create_dir(project.path().join(name)).unwrap();
    fs::write(project.path().join(name).join("__init__.py"), "").unwrap();
    let uv = python().with_file_name("uv");
    run(Command::new(uv)
        .args(["build", "--quiet", "--wheel", "--out-dir"])
        .arg(directory)
        .current_dir(project.path()));
    format!("{name}-1.0-py3-none-any.whl")
}

#[test]
fn members_that_name_each_other() {
    let source = |name: &str| format!("\n[tool.uv.sources]\n{name} = {{ workspace = true }}");
    let workspace = Workspace::new(
        "",
        &[
            ("app", &format!("dependencies = [\"lib\", \"idna\"]{}", source("lib"))),
            ("lib", &format!("dependencies = [\"base\"]{}", source("base"))),
            (
                "base",
                "dependencies = [\"iniconfig; sys_platform == 'linux'\", \"colorama; sys_platform == 'win32'\"]",
            ),
            ("other", "dependencies = [\"toml\"]"),
        ],
    );
    let all = workspace.locked().compare("app", &[], &[]);
    assert!(all.contains_key("packages/base") && !all.contains_key("packages/other"), "{all:?}");
}

#[test]
fn extras_of_members_and_of_the_target() {
    let workspace = Workspace::new(
        "",
        &[
            (
                "app",
                "dependencies = [\"lib[tables]\"]\noptional-dependencies = { web = [\"h11\"], all = [\"app[web]\", \"idna\"] }\n\
             [tool.uv.sources]\nlib = { workspace = true }",
            ),
            (
                "lib",
                "optional-dependencies = { tables = [\"tabulate\", \"deep; python_version >= '3.12'\"], lines = [\"toml\"] }\n[tool.uv.sources]\ndeep = { workspace = true }",
            ),
            ("deep", "dependencies = [\"iniconfig\"]"),
        ],
    );
    let workspace = workspace.locked();
    for extras in [&[][..], &["web"], &["all"], &["web", "all"]] {
        workspace.compare("app", extras, &[]);
    }
}

#[test]
fn dependency_groups() {
    let workspace = Workspace::new(
        "",
        &[(
            "app",
            "dependencies = [\"idna\"]\n[dependency-groups]\ndev = [\"toml\"]\nlint = [{ include-group = \"dev\" }, \"iniconfig\"]",
        )],
    );
    let workspace = workspace.locked();
    for groups in [&[][..], &["dev"], &["lint"]] {
        workspace.compare("app", &[], groups);
    }
}

#[test]
fn repositories() {
    let repository = TempDir::new().unwrap();
    fs::create_dir(repository.path().join("inner")).unwrap();
    let manifest =
        format!("[project]\nname = \"inner\"\nversion = \"1.0\"\ndependencies = [\"idna\"]\n{BUILD}");
    fs::write(repository.path().join("inner/pyproject.toml"), manifest).unwrap();
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "."],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x"],
    ] {
        run(Command::new("git").args(arguments).current_dir(repository.path()));
    }
    let manifest = format!(
        "dependencies = [\"inner\"]\n[tool.uv.sources]\ninner = {{ git = \"file://{}\", subdirectory = \"inner\" }}",
        repository.path().display()
    );
    let all = Workspace::new("", &[("app", &manifest)]).locked().compare("app", &[], &[]);
    assert!(
        all.keys().any(|it| it.starts_with("inner @ git+file:") && it.ends_with("#subdirectory=inner")),
        "{all:?}"
    );
}

#[test]
fn archives_and_directories() {
    let workspace = Workspace::new(
        "",
        &[(
            "app",
            "dependencies = [\"vendored\", \"aside\", \"flat\"]\n[tool.uv.sources]\n\
         vendored = { path = \"../../wheels/vendored-1.0-py3-none-any.whl\" }\n\
         aside = { path = \"../../aside\", editable = true }\nflat = { path = \"../../flat\" }",
        )],
    );
    fs::create_dir(workspace.0.path().join("wheels")).unwrap();
    wheel("vendored", &workspace.0.path().join("wheels"));
    let manifest = |name: &str| {
        format!("[project]\nname = \"{name}\"\nversion = \"1.0\"\ndependencies = [\"idna\"]\n{BUILD}")
    };
    workspace.write("aside/pyproject.toml", &manifest("aside"));
    workspace.write("flat/pyproject.toml", &manifest("flat"));
    let all = workspace.locked().compare("app", &[], &[]);
    assert!(all.contains_key("wheels/vendored-1.0-py3-none-any.whl"), "{all:?}");
}

/// A package index with one wheel, until it is dropped.
struct Index(Child, TempDir, String);

impl Index {
    fn of(name: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let folder = directory.path().join("simple").join(name);
        fs::create_dir_all(&folder).unwrap();
        let file = wheel(name, &folder);
        fs::write(folder.join("index.html"), format!("<a href=\"{file}\">{file}</a>")).unwrap();
        let port = free_port();
        let mut server = Command::new(python());
        server.args(["-m", "http.server", "--bind", "127.0.0.1", &port.to_string()]);
        let server =
            server.current_dir(directory.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let url = format!("http://127.0.0.1:{port}/simple");
        let is_there = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        until(is_there, || "the index does not start".to_owned());
        Self(server, directory, url)
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
        assert!(self.1.path().exists());
    }
}

#[test]
fn urls_and_other_indexes() {
    let index = Index::of("idna");
    let settings = format!("[[tool.uv.index]]\nname = \"private\"\nurl = \"{}\"\nexplicit = true", index.2);
    let url = format!("{}/idna/idna-1.0-py3-none-any.whl", index.2);
    let workspace = Workspace::new(
        &settings,
        &[
            (
                "app",
                "dependencies = [\"idna\", \"iniconfig\"]\n[tool.uv.sources]\nidna = { index = \"private\" }",
            ),
            ("direct", &format!("optional-dependencies = {{ x = [\"idna @ {url}\"] }}")),
        ],
    );
    // Two sources of one package conflict unless they are never installed together.
    let conflict = "\n[tool.uv]\nconflicts = [[{ package = \"app\" }, { package = \"direct\", extra = \"x\" }]]\npackage = false";
    let root = fs::read_to_string(workspace.0.path().join("pyproject.toml")).unwrap();
    workspace.write("pyproject.toml", &root.replace("\n[tool.uv]\npackage = false", conflict));
    let workspace = workspace.locked();
    assert!(workspace.compare("app", &[], &[]).contains_key("idna==1.0"));
    let all = workspace.compare("direct", &["x"], &[]);
    assert!(all.keys().any(|it| it.starts_with("idna @ http://127.0.0.1")), "{all:?}");
}

#[test]
fn forks_by_marker_and_conflicting_extras() {
    let workspace = Workspace::new(
        "conflicts = [[{ package = \"app\", extra = \"old\" }, { package = \"app\", extra = \"new\" }]]",
        &[(
            "app",
            "dependencies = [\"tabulate<0.9; platform_machine == 'aarch64'\", \"tabulate>=0.9; platform_machine != 'aarch64'\", \"toml<0.10; python_version < '3.12'\", \"toml>=0.10; python_version >= '3.12'\"]\n\
         optional-dependencies = { old = [\"idna<3\"], new = [\"idna>=3\"] }",
        )],
    );
    let workspace = workspace.locked();
    for extras in [&[][..], &["old"], &["new"]] {
        workspace.compare("app", extras, &[]);
    }
}

#[test]
fn overrides_constraints_and_environments() {
    let settings = "override-dependencies = [\"idna==3.6\"]\nconstraint-dependencies = [\"toml<0.10\"]\nenvironments = [\"sys_platform == 'linux'\"]";
    let workspace =
        Workspace::new(settings, &[("app", "dependencies = [\"idna>=3.7\", \"toml\", \"tqdm\"]")]);
    let all = workspace.locked().compare("app", &[], &[]);
    assert!(all.contains_key("idna==3.6"), "{all:?}");
}

#[test]
fn dynamic_versions_and_virtual_members() {
    let workspace = Workspace::new(
        "",
        &[(
            "app",
            "dependencies = [\"scripts\", \"idna\"]\n[tool.uv.sources]\nscripts = { workspace = true }",
        )],
    );
    let scripts = "[project]\nname = \"scripts\"\nversion = \"1\"\ndependencies = [\"toml\"]\n[tool.uv]\npackage = false\n";
    workspace.write("packages/scripts/pyproject.toml", scripts);
    workspace.locked().compare("app", &[], &[]);
}

#[test]
fn a_project_that_uv_creates() {
    let workspace = Workspace(TempDir::new().unwrap());
    workspace.uv(&["init", "--quiet", "--package", "--name", "app", "--python", "3.11", "."]);
    workspace.uv(&["add", "--quiet", "--no-sync", "idna"]);
    workspace.uv(&["add", "--quiet", "--no-sync", "--optional", "web", "httpx"]);
    workspace.compare("app", &["web"], &[]);
}

#[test]
fn a_project_of_more_than_a_hundred_packages() {
    let manifest = "dependencies = [\"jupyter\", \"fastapi[standard]\", \"boto3\", \"langchain-community\"]";
    let all = Workspace::new("", &[("app", manifest)]).locked().compare("app", &[], &[]);
    assert!(all.len() > 100, "{}", all.len());
}

/// Requirements of one member on the others: the index of the other, whether with its extra, a marker, and whether only
/// with the own extra.
type Edges = Vec<(usize, bool, usize, bool)>;

const CONDITIONS: &[&str] = &[
    "",
    "; python_version < '3.12'",
    "; python_full_version >= '3.12.1'",
    "; platform_machine == 'x86_64'",
    "; sys_platform == 'win32' or platform_machine == 'aarch64'",
    "; platform_machine != 'x86_64' and python_version >= '3.12'",
];

/// A workspace of members that require each other.
fn random(members: &[Edges]) -> Workspace {
    let manifests: Vec<(String, String)> = members.iter().enumerate().map(|(own, edges)| {
        let list = |is_optional: bool| {
            let edges = edges.iter().filter(|edge| edge.3 == is_optional && edge.0 % members.len() != own);
            let text = |edge: &(usize, bool, usize, bool)| {
                let extra = if edge.1 { "[more]" } else { "" };
                format!("\"m{}{extra}{}\"", edge.0 % members.len(), CONDITIONS[edge.2])
            };
            edges.map(text).collect::<Vec<_>>().join(", ")
        };
        let sources = (0..members.len()).map(|it| format!("m{it} = {{ workspace = true }}\n")).collect::<String>();
        let manifest = format!(
            "dependencies = [{}]\noptional-dependencies = {{ more = [{}] }}\n[tool.uv.sources]\n{sources}",
            list(false),
            list(true)
        );
        (format!("m{own}"), manifest)
    }).collect();
    let manifests: Vec<(&str, &str)> =
        manifests.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    Workspace::new("", &manifests)
}

#[test]
fn random_workspaces() {
    let edges = prop::collection::vec((0..6_usize, any::<bool>(), 0..CONDITIONS.len(), any::<bool>()), 0..4);
    let strategy = prop::collection::vec(edges, 2..6);
    let config = Config { cases: 12, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&strategy, |members| {
            let workspace = random(&members).locked();
            workspace.compare("m0", &[], &[]);
            workspace.compare("m0", &["more"], &[]);
            Ok(())
        })
        .unwrap();
}
