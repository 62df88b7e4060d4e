//! Decisions of the compiler, one at a time, where a whole golden would hide them.

mod context;
mod javascript;

use std::rc::Rc;

use agentcli::compiler::back::emit::dockerfile::{dockerfile, dockerignore};
use agentcli::compiler::back::emit::heading::MARK;
use agentcli::compiler::back::lower::lower;
use agentcli::compiler::back::plan::{Install, Installer, Node, NodeInstall, Plan};
use agentcli::compiler::files::{Entry, FileKind, Files, MemoryFiles};
use agentcli::compiler::manifests::dockerignore::Ignore;
use agentcli::compiler::server::product::MEMORY;
use agentcli::compiler::tree::Tree;
use agentcli::compiler::{Options, analyze, analyze_for};

use super::properties;

const PYTHON: (&str, &str) = ("agent.py", "graph = object()");
const TYPESCRIPT: (&str, &str) = ("graph.ts", "export const graph = {};");
const GRAPHS: &str = r#""graphs": {"agent": "./agent.py:graph"}"#;
const JS_GRAPHS: &str = r#""graphs": {"agent": "./graph.ts:graph"}"#;
const SETUPTOOLS: &str =
    "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n";

/// A tree in memory whose configuration lies deeper than its root.
pub(super) struct Nested(pub(super) MemoryFiles);

impl Nested {
    const AT: &str = "apps/agent";

    fn real(path: &str) -> String {
        agentcli::compiler::paths::join(Self::AT, path)
    }
}

impl Files for Nested {
    fn kind(&self, path: &str) -> Option<FileKind> {
        self.0.kind(&Self::real(path))
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        self.0.bytes(&Self::real(path))
    }

    fn entries(&self, path: &str) -> Option<Rc<[Entry]>> {
        self.0.entries(&Self::real(path))
    }

    fn link(&self, path: &str) -> Option<(String, String)> {
        self.0.link(&Self::real(path))
    }

    fn directory(&self) -> Vec<String> {
        ["home", "repo", "apps", "agent"].map(str::to_owned).to_vec()
    }
}

pub(super) fn plan_with(config: &str, files: &Tree, options: &Options) -> Plan {
    let config = format!("{{{config}}}");
    let analysis = analyze("agent.json", &config, files);
    assert!(analysis.is_usable(), "{config}: {:#?}", analysis.diagnostics);
    let plan = lower(&analysis.config, files, "agent.json", options);
    properties::check(&plan).unwrap();
    plan
}

pub(super) fn plan(config: &str, files: &[(&str, &str)]) -> Plan {
    plan_with(config, &Tree::new(MemoryFiles::new(files.iter().copied())), &Options::default())
}

/// A Python project of `.` and these members and files.
fn python(members: &str, files: &[(&str, &str)]) -> Plan {
    let manifest = if files.iter().any(|(name, _)| *name == "pyproject.toml") {
        None
    } else {
        Some(("requirements.txt", ""))
    };
    let files: Vec<_> = files.iter().copied().chain([PYTHON]).chain(manifest).collect();
    plan(&format!(r#""dependencies": ["."], {GRAPHS}{members}"#), &files)
}

/// A JavaScript project of these members and files.
fn javascript(members: &str, files: &[(&str, &str)]) -> Plan {
    let files: Vec<_> = files.iter().copied().chain([TYPESCRIPT]).collect();
    plan(&format!("{JS_GRAPHS}{members}"), &files)
}

/// The facts of an image in words, one a line, in the order in which they are built.
pub(super) fn facts(plan: &Plan) -> String {
    let image = &plan.image;
    let mut lines = vec![format!("image {}", plan.server.image)];
    lines.extend(image.secret_files.iter().map(|file| format!("secret {file}")));
    lines.extend(image.lines.iter().map(|line| format!("line {line}")));
    if let Some(python) = &image.python {
        lines.extend(python.manifests.iter().map(|file| format!("copy {file}")));
        lines.extend(python.placeholders.iter().map(|file| format!("touch {file}")));
        lines.extend(python.locks.iter().map(|lock| format!("lock {} {:?}", lock.file, lock.format)));
        lines.extend(python.installs.iter().map(|it| format!("install{}", words(it))));
        lines.extend(python.import_path.iter().map(|it| format!("path {it}")));
        lines.push(format!(
            "without {}{}",
            python.removed_tools.join(" "),
            if python.removes_uv { " uv" } else { "" }
        ));
    }
    let node = image.node.clone().unwrap_or_default();
    let npm = |it: &NodeInstall| format!("npm {}: {}", it.directory, it.command);
    let early = node.install.iter().filter(|it| !it.late);
    lines.extend(early.clone().flat_map(|it| &it.manifests).map(|file| format!("copy {file}")));
    lines.extend(early.map(npm));
    lines.push("source".to_owned());
    lines.extend(image.python.iter().flat_map(|it| &it.late).map(|it| format!("install{}", words(it))));
    lines.extend(node.install.iter().filter(|it| it.late).map(npm));
    let Node { install_command, build_command, .. } = node;
    lines.extend(install_command.map(|it| format!("npm {}: {}", it.directory, it.command)));
    lines.extend(build_command.map(|command| format!("npm {}: {command}", plan.server.directory)));
    lines.join("\n") + "\n"
}

fn words(install: &Install) -> String {
    let Install { directory, packages, files, requirements, alone, without_sources } = install;
    let part =
        |option: &str, all: &[String]| all.iter().map(|it| format!(" {option}{it}")).collect::<String>();
    let directory = directory.iter().map(|directory| format!(" in {directory}:")).collect::<String>();
    let options = [(*alone, " alone"), (*without_sources, " without sources")];
    let options: String = options.iter().filter(|(is_set, _)| *is_set).map(|(_, word)| *word).collect();
    format!("{directory}{options}{}{}{}", part("-r ", files), part("-e ", packages), part("", requirements))
}

#[track_caller]
pub(super) fn has(plan: &Plan, wanted: &str) {
    assert!(facts(plan).contains(wanted), "no {wanted:?} in\n{}", facts(plan));
}

#[track_caller]
pub(super) fn has_not(plan: &Plan, unwanted: &str) {
    assert!(!facts(plan).contains(unwanted), "{unwanted:?} in\n{}", facts(plan));
}

/// Whether `one` stands before `other`.
#[track_caller]
pub(super) fn in_order(plan: &Plan, one: &str, other: &str) {
    let text = facts(plan);
    let at = |wanted: &str| text.find(wanted).unwrap_or_else(|| panic!("no {wanted:?} in\n{text}"));
    assert!(at(one) < at(other), "{one:?} behind {other:?} in\n{text}");
}

pub(super) fn sees(plan: &Plan, path: &str) -> bool {
    !Ignore::parse(&dockerignore(plan)).unwrap().excludes(path)
}

#[test]
fn image_tags() {
    for (config, image) in [
        ("", "langchain/langgraph-api:3.11"),
        (r#", "python_version": "3.13", "api_version": "0.8""#, "langchain/langgraph-api:0.8-py3.13"),
        (
            r#", "api_version": "0.8", "image_distro": "bookworm""#,
            "langchain/langgraph-api:0.8-py3.11-bookworm",
        ),
        (r#", "base_image": "reg.example:5000/a/b""#, "reg.example:5000/a/b:3.11"),
        (r#", "base_image": "reg.example:5000/a/b:1""#, "reg.example:5000/a/b:1"),
        (r#", "base_image": "x/langgraph-server:0.2-py3.11""#, "x/langgraph-server:0.2-py3.11"),
        (r#", "base_image": "my/langgraph-server-extras:7""#, "my/langgraph-server-extras:7"),
        (
            r#", "base_image": "a/b@sha256:0123456789012345678901234567890123456789012345678901234567890123""#,
            "a/b@sha256:0123456789012345678901234567890123456789012345678901234567890123",
        ),
    ] {
        let plan = python(config, &[]);
        assert_eq!(plan.server.image, image);
        has(&plan, &format!("image {image}\n"));
    }
    assert_eq!(javascript(r#", "node_version": 22"#, &[]).server.image, "langchain/langgraphjs-api:22");
    // The versions in an image whose tag is given are not known.
    let tagged = python(r#", "base_image": "a/b:1", "python_version": "3.12", "node_version": "22""#, &[]);
    assert_eq!((tagged.server.python, tagged.server.node.as_deref()), (None, Some("22")));
    assert_eq!(tagged.local.python.unwrap().version.as_deref(), Some("3.12"));
    assert_eq!(javascript(r#", "base_image": "a/b:1", "node_version": "22""#, &[]).server.node, None);
    let mixed = plan(
        &format!(r#""dependencies": ["."], {GRAPHS}, "node_version": "20""#),
        &[PYTHON, ("requirements.txt", "")],
    );
    assert_eq!(
        (mixed.server.image.as_str(), mixed.server.node.as_deref()),
        ("langchain/langgraph-api:3.11", Some("20"))
    );
}

#[test]
fn installers() {
    for (members, expected) in [
        ("", Installer::Uv),
        (r#", "pip_installer": "auto""#, Installer::Uv),
        (r#", "pip_installer": "uv""#, Installer::Uv),
        (r#", "pip_installer": "pip""#, Installer::Pip),
        (r#", "pip_config_file": "./pip.conf""#, Installer::Pip),
    ] {
        let plan = python(members, &[("pip.conf", "")]);
        assert_eq!(plan.image.python.as_ref().unwrap().installer, expected, "{members}");
        let words = ["uv pip install", "python3 -m pip install"];
        let has = words.map(|words| dockerfile(&plan).contains(words));
        assert_eq!(has, [expected == Installer::Uv, expected == Installer::Pip], "{members}");
    }
}

#[test]
fn requirements_on_local_packages_are_not_asked_for() {
    let lib = |name: &str| format!("{SETUPTOOLS}[project]\nname = '{name}'\nversion = '1'\n");
    let app = lib("app") + "dependencies = ['My_Lib>=1', 'other-lib', 'httpx']\n";
    let (one, other) = (lib("my-lib"), "[metadata]\nname = other_lib\n");
    let files = [
        PYTHON,
        ("pyproject.toml", &app),
        ("libs/one/pyproject.toml", &one),
        ("libs/other/setup.cfg", other),
    ];
    let plan = plan(&format!(r#""dependencies": [".", "./libs/one", "./libs/other"], {GRAPHS}"#), &files);
    // One package needs its source, so all wait for it.
    let packages = "-e . -e libs/one -e libs/other";
    in_order(&plan, "source", packages);
    assert_eq!(plan.notes.len(), 1, "{:?}", plan.notes);
}

/// The requirements of an extra are installed with those of the package that asks for it.
#[test]
fn extras_of_local_packages() {
    let lib = format!(
        "{SETUPTOOLS}[project]\nname = 'lib'\nversion = '1'\n[project.optional-dependencies]\nx = ['rich']\n"
    );
    let app = format!(
        "{SETUPTOOLS}[project]\nname = 'app'\ndynamic = ['version']\ndependencies = ['lib[x]', 'httpx']\n"
    );
    let files = [PYTHON, ("pyproject.toml", app.as_str()), ("lib/pyproject.toml", &lib)];
    let plan = plan(&format!(r#""dependencies": [".", "./lib"], {GRAPHS}"#), &files);
    in_order(&plan, "source", "install -e . -e ./lib\n");
}

/// Their requirements are there before, and just the installer is left to be removed.
#[test]
fn packages_that_need_their_source() {
    let package = |name: &str, needs: &str, more: &str| {
        format!("{SETUPTOOLS}[project]\nname = '{name}'\nversion = '1'\ndependencies = [{needs}]\n{more}")
    };
    let a = package("a", "'httpx'", "");
    let b = package("b", "'numpy'", "[[tool.setuptools.ext-modules]]\nname = 'c._c'\nsources = ['c.c']\n");
    let files =
        [PYTHON, ("a/pyproject.toml", a.as_str()), ("b/pyproject.toml", &b), ("requirements.txt", "")];
    let entries = format!(r#""dependencies": [".", "./a", "./b"], {GRAPHS}"#);
    let plan = plan(&entries, &files);
    has(&plan, "install -r requirements.txt -r a/pyproject.toml -r b/pyproject.toml\n");
    in_order(&plan, "source", "install -e ./a -e ./b\n");
    has_not(&plan, "touch");
    let notes: Vec<(&str, &str)> =
        plan.notes.iter().map(|note| (note.key.as_str(), note.message.as_str())).collect();
    let expected = "each edit of the source installs `b` again: \
                    [tool.setuptools.ext-modules] makes its build run or copy something";
    assert_eq!(notes, [("/dependencies/2", expected)]);
}

#[test]
fn skeletons_have_no_placeholders_for_ignored_code() {
    let manifest = format!("{SETUPTOOLS}[project]\nname = 'a'\nversion = '1'\nreadme = 'README.md'\n");
    let files = [
        PYTHON,
        ("pyproject.toml", manifest.as_str()),
        ("README.md", ""),
        ("pkg/__init__.py", ""),
        ("hidden/__init__.py", ""),
        (".dockerignore", "hidden\n*.md\n"),
    ];
    let plan = plan(&format!(r#""dependencies": ["."], {GRAPHS}"#), &files);
    has(&plan, "touch README.md");
    has(&plan, "touch pkg/__init__.py");
    has_not(&plan, "hidden/__init__.py");
}

/// Flit's own metadata has no version: that is in the code.
#[test]
fn old_flit_metadata() {
    let manifest = "[build-system]\nrequires = ['flit_core']\nbuild-backend = 'flit_core.buildapi'\n\
                    [tool.flit.metadata]\nmodule = 'agent'\nauthor = 'x'\nrequires = ['httpx']\n";
    let plan = python("", &[("pyproject.toml", manifest)]);
    in_order(&plan, "source", "install -e .");
    assert!(plan.notes[0].message.ends_with("Flit reads its version from its code"), "{:?}", plan.notes);
}

/// Where a requirement or the user's lines may replace them, and nowhere else.
#[test]
fn replaced_packages_of_the_server_are_restored() {
    let manifest =
        |needs: &str| format!("{SETUPTOOLS}[project]\nname = 'a'\nversion = '1'\ndependencies = [{needs}]\n");
    for (members, needs, expected) in [
        ("", "'httpx'", 0),
        ("", "'langgraph-api'", 1),
        ("", "'langgraph_runtime_inmem>=0.1'", 1),
        (r#", "pip_installer": "pip""#, "'langgraph-api<1'", 1),
        (r#", "dockerfile_lines": ["RUN pip install httpx"]"#, "'httpx'", 1),
    ] {
        let plan = python(members, &[("pyproject.toml", &manifest(needs))]);
        assert_eq!(dockerfile(&plan).matches("--no-deps -e /api").count(), expected, "{}", dockerfile(&plan));
    }
    let files = [("requirements.txt", "-r more.txt"), ("more.txt", "langgraph-api==0.1\n")];
    let plan = plan(&format!(r#""dependencies": ["."], {GRAPHS}"#), &[&files[..], &[PYTHON]].concat());
    assert!(plan.image.python.unwrap().replaces_server);
}

/// In the image and for `dev`, whatever the directories are called.
#[test]
fn the_import_path_has_the_order_of_the_dependencies() {
    let files = [
        PYTHON,
        ("b/words.py", ""),
        ("a/words.py", ""),
        ("it's/flat/__init__.py", ""),
        ("a/__init__.py", ""),
        ("b/requirements.txt", ""),
    ];
    let entries = r#"["./b", ".", "./it's/flat", "./a"]"#;
    let plan = plan(&format!(r#""dependencies": {entries}, {GRAPHS}"#), &files);
    assert_eq!(
        plan.image.python.as_ref().unwrap().import_path,
        ["/deps/app/b", "/deps/app", "/deps/app/it's"]
    );
    assert_eq!(plan.local.python.unwrap().path, ["b", ".", "it's"]);
}

#[test]
fn sources_of_uv() {
    let manifest = |sources: &str| {
        format!(
            "{SETUPTOOLS}[project]\nname = 'app'\nversion = '1'\ndependencies = ['torch>=2', 'lib', 'httpx']\n[tool.uv.sources]\n{sources}"
        )
    };
    let paths = manifest("lib = { path = '../lib', editable = true }\n");
    let plan = python("", &[("pyproject.toml", &paths), ("../lib/setup.py", "")]);
    has(&plan, "install without sources -e ./project -e ./lib\n");
    // A package from another index is left to the installation of the local package, which knows where that is.
    let index = manifest(
        "Torch = [{ index = 'cpu', marker = 'os_name == \"posix\"' }]\nlib = { git = 'https://h/lib' }\n",
    );
    let plan = python("", &[("pyproject.toml", &index)]);
    has(&plan, "install -e .\n");
    assert!(plan.notes.is_empty());
    let dynamic = index.replace("version = '1'", "dynamic = ['version']");
    let plan = python("", &[("pyproject.toml", &dynamic)]);
    in_order(&plan, "source", "install -e .\n");
    // pip does not know of other indexes, and a note says so.
    let plan = python(r#", "pip_installer": "pip""#, &[("pyproject.toml", &index)]);
    has(&plan, "lib @ git+https://h/lib");
    let note = "`torch` is taken from the default package index";
    assert!(plan.notes.iter().any(|it| it.message.contains(note)), "{:?}", plan.notes);
}

#[test]
fn kept_package_tools() {
    for (kept, removed, removes_uv) in [
        ("", "pip setuptools wheel", true),
        (r#", "keep_pkg_tools": false"#, "pip setuptools wheel", true),
        (r#", "keep_pkg_tools": []"#, "pip setuptools wheel", true),
        (r#", "keep_pkg_tools": true"#, "", false),
        (r#", "keep_pkg_tools": ["wheel", "pip", "setuptools"]"#, "", false),
        (r#", "keep_pkg_tools": ["pip"]"#, "setuptools wheel", false),
    ] {
        let python = python(kept, &[]).image.python.unwrap();
        assert_eq!(
            (python.removed_tools.join(" "), python.removes_uv),
            (removed.to_owned(), removes_uv),
            "{kept}"
        );
    }
}

#[test]
fn words_of_the_server() {
    let webhooks =
        r#", "webhooks": {"url": {"require_https": true}, "headers": {"X": "${{ env.AGENT_WEBHOOK_X }}"}}"#;
    let plan = python(&format!(r#", "checkpointer": {{"backend": "docdb"}}{webhooks}"#), &[]);
    let contract = |name: &str| plan.contract[name].to_string();
    assert_eq!(contract("LANGGRAPH_CHECKPOINTER"), r#"{"backend":"mongo"}"#);
    assert_eq!(
        contract("LANGGRAPH_WEBHOOKS"),
        r#"{"url":{"require_https":true},"headers":{"X":"${{ env.AGENT_WEBHOOK_X }}"},"env_prefix":"AGENT_WEBHOOK_"}"#
    );
}

/// The plan for the server `memory`.
fn in_memory(members: &str) -> Plan {
    let config = format!(r#"{{"dependencies": ["."], {GRAPHS}{members}}}"#);
    let files = Tree::new(MemoryFiles::new([PYTHON, ("requirements.txt", "")]));
    let analysis =
        analyze_for(&Options { server: &MEMORY, ..Options::default() }, "agent.json", &config, &files);
    assert!(analysis.is_usable(), "{config}: {:#?}", analysis.diagnostics);
    lower(&analysis.config, &files, "agent.json", &Options::default())
}

#[test]
fn a_server_without_an_image_is_installed_first_and_runs_as_a_user() {
    let plan = in_memory(r#", "python_version": "3.12", "dockerfile_lines": ["RUN true"]"#);
    let text = dockerfile(&plan);
    let find = |part: &str| text.find(part).unwrap_or_else(|| panic!("no `{part}` in\n{text}"));
    assert!(find("FROM python:3.12-slim\n") < find("--require-hashes"));
    assert!(find("--require-hashes") < find("RUN true"));
    assert!(find("source") < find("USER 10001:10001"));
    assert_eq!(serde_json::to_value(&plan).unwrap()["server"]["name"], "memory");
}

#[test]
fn the_base_image_of_such_a_server_is_a_python_of_its_version_and_distribution() {
    for (members, expected) in [
        ("", "python:3.11-slim"),
        (r#", "python_version": "3.13-bookworm""#, "python:3.13-slim-bookworm"),
        (r#", "image_distro": "debian", "api_version": "0.16.7""#, "python:3.11-slim"),
        (r#", "base_image": "registry.example/python""#, "registry.example/python:3.11-slim"),
        (r#", "base_image": "registry.example/python:3.12-own""#, "registry.example/python:3.12-own"),
    ] {
        assert_eq!(in_memory(members).server.image, expected, "{members}");
    }
}

/// The files lie beside the Dockerfile, wherever that is.
#[test]
fn the_files_of_such_a_server_are_copied_at_once() {
    let mut plan = in_memory("");
    for name in ["Dockerfile", "deploy/Other"] {
        plan.move_generated_files(name);
        let directory = format!("{name}.server");
        let text = dockerfile(&plan);
        assert!(text.contains(&format!("\nCOPY {directory}/ /api/\n")), "{text}");
        assert!(dockerignore(&plan).ends_with(&format!("\n!{directory}\n")));
        let files = plan.generated_files();
        for name in
            ["README.md", "constraints.txt", "healthcheck.py", "requirements.txt", "serve.py", "server.json"]
        {
            assert!(files.iter().any(|file| file.path == format!("{directory}/{name}")), "{name}");
        }
        let sorted = files.is_sorted_by(|one, other| one.path < other.path);
        assert!(sorted && files[0].text.starts_with(MARK));
    }
}

/// The server of a JavaScript project is the release that works with its graph library.
#[test]
fn such_a_server_runs_javascript_with_the_release_for_its_library() {
    for (library, release) in [("1.4.18", "1.5.1"), ("1.1.0", "2.0.0"), ("0.2.40", "2.0.0")] {
        let package = format!(r#"{{"dependencies": {{"@langchain/langgraph": "{library}"}}}}"#);
        let files = Tree::new(MemoryFiles::new([TYPESCRIPT, ("package.json", &package)]));
        let options = Options { server: &MEMORY, ..Options::default() };
        let config = format!("{{{JS_GRAPHS}}}");
        let analysis = analyze_for(&options, "agent.json", &config, &files);
        assert!(analysis.is_usable(), "{:#?}", analysis.diagnostics);
        let plan = lower(&analysis.config, &files, "agent.json", &Options::default());
        let text = dockerfile(&plan);
        assert!(
            text.contains("FROM node:20-slim\n") && text.ends_with("CMD [\"node\",\"/api/serve.mjs\"]\n"),
            "{text}"
        );
        assert!(!text.contains("build.mts"), "{text}");
        assert_eq!(serde_json::to_value(&plan.server).unwrap()["release"], release, "{library}");
        let lock = plan
            .generated_files()
            .into_iter()
            .find(|file| file.path == "Dockerfile.server/package-lock.json");
        let lock = lock.unwrap();
        let lock: serde_json::Value = serde_json::from_str(&lock.text).unwrap();
        let installed = &lock["packages"]["node_modules/@langchain/langgraph-api"]["version"];
        assert_eq!(installed, release);
    }
}
