//! Decisions of the compiler, one at a time, where a whole golden would hide them.

mod context;
mod javascript;

use std::rc::Rc;

use agentcli::compiler::back::emit::dockerfile::{dockerfile, dockerignore};
use agentcli::compiler::back::emit::heading::MARK;
use agentcli::compiler::back::lower::lower;
use agentcli::compiler::back::plan::{Action, Plan};
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
    let plan = lower(&analysis.config, analysis.packages.as_ref(), files, "agent.json", options);
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

/// The Dockerfile on one line, without the wraps.
pub(super) fn text(plan: &Plan) -> String {
    dockerfile(plan).replace(" \\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
pub(super) fn has(plan: &Plan, wanted: &str) {
    assert!(text(plan).contains(wanted), "no {wanted:?} in\n{}", dockerfile(plan));
}

#[track_caller]
pub(super) fn has_not(plan: &Plan, unwanted: &str) {
    assert!(!text(plan).contains(unwanted), "{unwanted:?} in\n{}", dockerfile(plan));
}

/// Whether `one` stands before `other`.
#[track_caller]
pub(super) fn in_order(plan: &Plan, one: &str, other: &str) {
    let text = text(plan);
    let at = |wanted: &str| text.find(wanted).unwrap_or_else(|| panic!("no {wanted:?} in {text}"));
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
        has(&plan, &format!("FROM {image}\n").replace('\n', " "));
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
    for (members, wanted, unwanted) in [
        ("", "uv pip install --system -c /api/constraints.txt", "python3 -m pip"),
        (r#", "pip_installer": "auto""#, "uv pip install", "python3 -m pip"),
        (r#", "pip_installer": "uv""#, "uv pip install", "python3 -m pip"),
        (
            r#", "pip_installer": "pip""#,
            "python3 -m pip install --no-compile -c /api/constraints.txt",
            "uv pip install",
        ),
        (
            r#", "pip_config_file": "./pip.conf""#,
            "PIP_CONFIG_FILE=/run/agentcli/pip.conf python3 -m pip",
            "uv pip install",
        ),
    ] {
        let plan = python(members, &[("pip.conf", "")]);
        has(&plan, wanted);
        has_not(&plan, unwanted);
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
    has(&plan, "install --system -c /api/constraints.txt httpx &&");
    // One package needs its source, so all wait for it.
    let packages = "-e /deps/app -e /deps/app/libs/one -e /deps/app/libs/other";
    in_order(&plan, "COPY . /deps/app/", &format!("-c /api/constraints.txt {packages} &&"));
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
    in_order(&plan, "-c /api/constraints.txt rich httpx", "COPY . /deps/app/");
    in_order(&plan, "COPY . /deps/app/", "--no-deps -e /deps/app -e /deps/app/lib &&");
}

/// Their requirements are there before, and just the installer is left to be removed.
#[test]
fn packages_that_need_their_source() {
    let package = |name: &str, needs: &str, more: &str| {
        format!("{SETUPTOOLS}[project]\nname = '{name}'\nversion = '1'\ndependencies = [{needs}]\n{more}")
    };
    let a = package("a", "'b', 'httpx'", "");
    let b = package("b", "'numpy'", "[[tool.setuptools.ext-modules]]\nname = 'c._c'\nsources = ['c.c']\n");
    let files =
        [PYTHON, ("a/pyproject.toml", a.as_str()), ("b/pyproject.toml", &b), ("requirements.txt", "")];
    let entries = format!(r#""dependencies": [".", "./a", "./b"], {GRAPHS}"#);
    let plan = plan(&entries, &files);
    has(&plan, "-c /api/constraints.txt httpx numpy ");
    let installed = "--system --no-deps -e /deps/app/a -e /deps/app/b && find /usr ";
    in_order(&plan, "COPY . /deps/app/", installed);
    in_order(&plan, "(uv pip uninstall --system pip", "COPY . /deps/app/");
    let pip = format!(r#"{entries}, "pip_installer": "pip""#);
    in_order(&self::plan(&pip, &files), "COPY . /deps/app/", "(uv pip uninstall --system --no-cache pip");
    has_not(&plan, "touch /deps/app");
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
    has(&plan, "/README.md");
    has(&plan, "/pkg/__init__.py");
    has_not(&plan, "hidden/__init__.py");
}

/// Flit's own metadata has no version: that is in the code.
#[test]
fn old_flit_metadata() {
    let manifest = "[build-system]\nrequires = ['flit_core']\nbuild-backend = 'flit_core.buildapi'\n\
                    [tool.flit.metadata]\nmodule = 'agent'\nauthor = 'x'\nrequires = ['httpx']\n";
    let plan = python("", &[("pyproject.toml", manifest)]);
    has(&plan, "-c /api/constraints.txt httpx &&");
    in_order(&plan, "COPY . /deps/app/", "--no-deps -e /deps/app &&");
    assert!(plan.notes[0].message.ends_with("Flit reads its version from its code"), "{:?}", plan.notes);
}

/// Wherever they can be replaced, and nowhere else.
#[test]
fn replaced_packages_of_the_server_are_restored() {
    let restored = |members: &str, files: &[(&str, &str)], expected: usize, check: &str| {
        let text = text(&python(members, files));
        let restoration = format!(" ({check} || (mkdir -p /api/langgraph_api ");
        assert_eq!(text.matches(&restoration).count(), expected, "{text}");
        assert_eq!(text.matches("--no-deps -e /api))").count(), expected, "{text}");
    };
    let uv = "uv pip freeze --system | grep -qx -e '-e file:///api'";
    let early = format!("{SETUPTOOLS}[project]\nname = 'a'\nversion = '1'\ndependencies = ['httpx']\n");
    restored("", &[("pyproject.toml", &early)], 1, uv);
    let pip = "python3 -m pip freeze | grep -qx -e '-e /api'";
    restored(r#", "pip_installer": "pip""#, &[("pyproject.toml", &early)], 1, pip);
    let nothing = early.replace("['httpx']", "[]");
    restored("", &[("pyproject.toml", &nothing)], 0, uv);
    restored(r#", "dockerfile_lines": ["RUN pip install httpx"]"#, &[("pyproject.toml", &nothing)], 1, uv);
    // Local requirements are installed once more after the copy.
    let late = [("pyproject.toml", early.as_str()), ("lib/a.whl", ""), ("requirements.txt", "./lib/a.whl")];
    restored("", &late, 1, uv);
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
    let write = r"&& printf '%s\n' /deps/app/b /deps/app '/deps/app/it'\''s' >";
    has(&plan, write);
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
    has(&plan, "-e /deps/app/project -e /deps/app/lib --no-sources");
    // A package from another index is left to the installation of the local package, which knows where that is.
    let index = manifest(
        "Torch = [{ index = 'cpu', marker = 'os_name == \"posix\"' }]\nlib = { git = 'https://h/lib' }\n",
    );
    let plan = python("", &[("pyproject.toml", &index)]);
    has(&plan, "-c /api/constraints.txt 'lib @ git+https://h/lib' httpx &&");
    has(&plan, "-c /api/constraints.txt -r /run/agentcli/packages/1.txt &&");
    has_not(&plan, "--no-sources");
    assert!(plan.notes.is_empty());
    let dynamic = index.replace("version = '1'", "dynamic = ['version']");
    let plan = python("", &[("pyproject.toml", &dynamic)]);
    in_order(&plan, "COPY . /deps/app/", "-c /api/constraints.txt -e /deps/app &&");
    // pip does not know of other indexes, and a note says so.
    let plan = python(r#", "pip_installer": "pip""#, &[("pyproject.toml", &index)]);
    has(&plan, "'torch>=2' 'lib @ git+https://h/lib' httpx");
    let note = "`torch` is taken from the default package index";
    assert!(plan.notes.iter().any(|it| it.message.contains(note)), "{:?}", plan.notes);
}

#[test]
fn packages_are_built_in_a_stage() {
    let manifest = format!("{SETUPTOOLS}[project]\nname = 'a'\nversion = '1'\n");
    let files = [("pyproject.toml", manifest.as_str()), ("src/a/__init__.py", "")];
    let staged = python("", &files);
    in_order(&staged, "AS skeletons COPY pyproject.toml /deps/app/", "FROM skeletons AS packages");
    in_order(&staged, "FROM skeletons AS packages", "--no-deps -e /deps/app &&");
    in_order(&staged, "--no-deps -e /deps/app &&", "source=/deps/app,target=/deps/app,rw");
    has(&staged, "--no-deps -r /run/agentcli/packages/1.txt");
    let lines = python(r#", "dockerfile_lines": ["RUN true"]"#, &files);
    assert_eq!(text(&lines).matches("RUN true").count(), 2);
    // pip keeps none, and the stage would end at the lines. A name of a directory may need quotes that uv does not read.
    for members in [r#", "pip_installer": "pip""#, r#", "dockerfile_lines": ["FROM other"]"#] {
        let plan = python(members, &files);
        has_not(&plan, "skeletons");
        has(&plan, "touch /deps/app/src/a/__init__.py &&");
    }
    let files = [("a b/pyproject.toml", manifest.as_str()), ("a b/src/a/__init__.py", ""), PYTHON];
    has_not(&plan(&format!(r#""dependencies": [".", "./a b"], {GRAPHS}"#), &files), "skeletons");
}

#[test]
fn kept_package_tools() {
    let removal = |members: &str| {
        let plan = python(members, &[]);
        let removes =
            |step: &&agentcli::compiler::back::plan::Step| step.why.contains("package tools are removed");
        let text = plan.steps.iter().find(removes).map(|step| serde_json::to_string(&step.action).unwrap());
        text.unwrap_or_default()
    };
    let all = removal("");
    assert_eq!(removal(r#", "keep_pkg_tools": false"#), all);
    assert_eq!(removal(r#", "keep_pkg_tools": []"#), all);
    assert!(all.contains("uninstall --system pip setuptools wheel") && all.contains("/usr/bin/uvx"));
    assert_eq!(removal(r#", "keep_pkg_tools": true"#), "");
    assert_eq!(removal(r#", "keep_pkg_tools": ["wheel", "pip", "setuptools"]"#), "");
    // pipx, pip-compile and pip-audit are the user's.
    assert!(all.contains(" /usr/local/bin/pip ") && !all.contains("bin/pip*"), "{all}");
    let some = removal(r#", "keep_pkg_tools": ["pip"]"#);
    assert!(
        some.contains("uninstall --system setuptools wheel")
            && !some.contains("bin/pip")
            && !some.contains("uvx")
    );
    assert!(
        some.contains("pkg_resources")
            && !removal(r#", "keep_pkg_tools": ["setuptools"]"#).contains("pkg_resources")
    );
}

#[test]
fn the_source_comes_last() {
    for plan in [
        python("", &[]),
        python("", &[("pyproject.toml", &format!("{SETUPTOOLS}[project]\nname = 'a'\nversion = '1'\n"))]),
    ] {
        let copy = |step: &agentcli::compiler::back::plan::Step| matches!(&step.action, Action::Copy { sources, .. } if sources == &["."]);
        assert!(plan.steps.last().is_some_and(copy), "{}", dockerfile(&plan));
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
    lower(&analysis.config, analysis.packages.as_ref(), &files, "agent.json", &Options::default())
}

#[test]
fn a_server_without_an_image_is_installed_first_and_runs_as_a_user() {
    let plan = in_memory(r#", "python_version": "3.12", "dockerfile_lines": ["RUN true"]"#);
    let text = dockerfile(&plan);
    let find = |part: &str| text.find(part).unwrap_or_else(|| panic!("no `{part}` in\n{text}"));
    assert!(find("FROM python:3.12-slim\n") < find("--require-hashes"));
    assert!(find("--require-hashes") < find("RUN true"));
    assert!(find("COPY . /deps/app/") < find("USER 10001:10001"));
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
    for directory in ["Dockerfile.server", "deploy/Other.server"] {
        plan.move_server_files(directory.to_owned());
        let text = dockerfile(&plan);
        assert!(text.contains(&format!("\nCOPY {directory}/ /api/\n")), "{text}");
        assert!(dockerignore(&plan).ends_with(&format!("\n!{directory}\n")));
        let files: Vec<_> = plan.server_files().collect();
        for name in
            ["README.md", "constraints.txt", "healthcheck.py", "requirements.txt", "serve.py", "server.json"]
        {
            assert!(files.iter().any(|file| file.path == format!("{directory}/{name}")), "{name}");
        }
        let sorted = files.is_sorted_by(|one, other| one.path < other.path);
        assert!(sorted && files[0].text.starts_with(MARK));
    }
}
