//! Local packages: what is installed, where the rest is imported from, and that no index is asked for their names.

use agentcli::compiler::analyze;
use agentcli::compiler::back::plan::Plan;
use agentcli::compiler::files::MemoryFiles;
use agentcli::compiler::tree::Tree;

use super::lowering::{has, has_not, in_order, plan};

const HATCH: &str = "[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'\n";
const CONFIG: &str = r#""dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}"#;
const AGENT: (&str, &str) = ("agent.py", "graph = object()");

fn hatch(name: &str, rest: &str) -> String {
    let settings = "[tool.hatch.build.targets.wheel]\nbypass-selection = true\n";
    format!("{HATCH}{settings}[project]\nname = '{name}'\nversion = '1'\n{rest}")
}

/// A plan for a project of `.` with these files.
fn of(members: &str, files: &[(&str, &str)]) -> Plan {
    let files: Vec<_> = files.iter().copied().chain([AGENT]).collect();
    plan(&format!("{CONFIG}{members}"), &files)
}

#[test]
fn a_project_without_a_build_system_is_not_installed() {
    let manifest = "[project]\nname = 'agent'\nversion = '1'\ndependencies = ['httpx>=0.28']";
    for installer in ["uv", "pip"] {
        let members = format!(r#", "pip_installer": "{installer}""#);
        // Two packages beside each other, which setuptools refuses.
        let files = [("pyproject.toml", manifest), ("one/__init__.py", ""), ("two/__init__.py", "")];
        let flat = of(&members, &files);
        has(&flat, if installer == "uv" { "install -r pyproject.toml\n" } else { "install httpx>=0.28\n" });
        has(&flat, "path /deps/app\n");
        has_not(&flat, "-e ");
        let local = flat.local.python.unwrap();
        assert!(local.editable.is_empty());
        assert_eq!((local.requirements, local.path), (vec!["httpx>=0.28".to_owned()], vec![".".to_owned()]));
    }
    let files = [("pyproject.toml", manifest), ("src/app/__init__.py", "")];
    assert_eq!(of("", &files).local.python.unwrap().path, ["src"]);
    let with_setup = of("", &[files[0], ("setup.py", "from setuptools import setup\nsetup()")]);
    has(&with_setup, "-e .");
    let asked = format!("{manifest}\n[tool.uv]\npackage = true");
    has(&of("", &[("pyproject.toml", &asked)]), "-e .");
    let unasked = hatch("agent", "dependencies = ['httpx']\n[tool.uv]\npackage = false");
    has_not(&of("", &[("pyproject.toml", &unasked)]), "-e ");
}

#[test]
fn the_file_that_a_setup_py_reads_is_installed_first() {
    let setup = "from setuptools import setup\nlines = open('requirements.txt').read().split()\n\
        setup(name='agent', install_requires=lines)";
    let files = [("setup.py", setup), ("requirements.txt", "httpx>=0.28\n")];
    let plan = of("", &files);
    in_order(&plan, "install -r requirements.txt\n", "source");
    in_order(&plan, "source", "install -e .\n");
    let listed = [("setup.py", "from setuptools import setup\nsetup(install_requires=['httpx'])"), files[1]];
    has_not(&of("", &listed), "-r ");
}

#[test]
fn poetry_without_a_build_system_installs_the_requirements() {
    let manifest =
        "[tool.poetry]\nname = 'agent'\n[tool.poetry.dependencies]\npython = '^3.11'\nhttpx = '^0.28'";
    let plan = of("", &[("pyproject.toml", manifest)]);
    has(&plan, "install httpx>=0.28,<0.29\n");
    has_not(&plan, "-e ");
}

#[test]
fn sources_that_are_directories_are_installed_from_there() {
    let agent = hatch(
        "agent",
        "dependencies = ['Shared>=1', 'member', 'httpx']\n[tool.uv.sources]\nshared = {path = 'libs/shared'}\n\
         member = {workspace = true}\n[tool.uv.workspace]\nmembers = ['packages/*']",
    );
    let (shared, member) = (hatch("shared", "dependencies = ['tomli']"), hatch("member", ""));
    let files = [
        ("pyproject.toml", agent.as_str()),
        ("libs/shared/pyproject.toml", &shared),
        ("packages/member/pyproject.toml", &member),
    ];
    for installer in ["uv", "pip"] {
        let plan = of(&format!(r#", "pip_installer": "{installer}""#), &files);
        let how = if installer == "uv" { "without sources " } else { "" };
        has(&plan, &format!("install {how}-e . -e libs/shared -e packages/member\n"));
        let local = plan.local.python.unwrap();
        assert_eq!(local.editable, [".", "libs/shared", "packages/member"]);
        assert!(local.manifests.contains(&"libs/shared/pyproject.toml".to_owned()));
    }
}

#[test]
fn the_context_reaches_directories_that_are_required() {
    let agent = hatch("agent", "dependencies = ['shared']\n[tool.uv.sources]\nshared = {path = '../shared'}");
    let shared = hatch("shared", "");
    let plan = of("", &[("pyproject.toml", &agent), ("../shared/pyproject.toml", &shared)]);
    assert_eq!((&*plan.context.root, &*plan.context.project), ("..", "project"));
    assert_eq!(plan.context.include, ["project", "shared"]);
    has(&plan, "-e ./project -e ./shared\n");
}

#[test]
fn requirements_with_local_urls_are_installed_alone() {
    for address in ["{root:uri}/../shared", "file:///${PROJECT_ROOT}/../shared", "file:../shared"] {
        let agent = hatch("agent", &format!("dependencies = ['httpx', 'shared[x] @ {address}']"));
        let shared = hatch("shared", "[project.optional-dependencies]\nx = ['tomli']");
        let plan = of("", &[("pyproject.toml", &agent), ("../shared/pyproject.toml", &shared)]);
        has(&plan, "install httpx tomli\n");
        has(&plan, "-e ./project -e ./shared\n");
        has_not(&plan, address);
        let local = plan.local.python.unwrap();
        assert!(local.without_requirements);
        assert_eq!(local.requirements, ["httpx", "tomli"]);
    }
}

#[test]
fn requirements_that_are_not_installed_are_not_looked_up() {
    let agent = hatch("agent", "dependencies = ['member']\n[tool.uv.sources]\nmember = {path = 'member'}");
    let member = "[project]\nname = 'member'\ndependencies = ['tomli']";
    let plan = of("", &[("pyproject.toml", &agent), ("member/pyproject.toml", member)]);
    has(&plan, "install tomli\n");
    has(&plan, "install alone without sources -e .\n");
    has_not(&plan, "-e ./member");
    assert_eq!(plan.local.python.unwrap().path, ["member"]);
}

#[test]
fn repositories_and_urls_are_handed_on() {
    let agent = hatch(
        "agent",
        "dependencies = ['one>=1; os_name == \"posix\"', 'two[x]', 'shared']\n[tool.uv.sources]\n\
         one = {git = 'https://host/one', tag = 'v1', subdirectory = 'py'}\ntwo = {url = 'https://host/two.whl'}\n\
         shared = {path = 'shared'}",
    );
    let shared = hatch("shared", "");
    let files = [("pyproject.toml", agent.as_str()), ("shared/pyproject.toml", &shared)];
    for installer in ["uv", "pip"] {
        let plan = of(&format!(r#", "pip_installer": "{installer}""#), &files);
        has(&plan, "one @ git+https://host/one@v1#subdirectory=py ; os_name == \"posix\"");
        has(&plan, "two[x] @ https://host/two.whl");
        assert_eq!(plan.local.python.unwrap().requirements.len(), 2);
        assert!(plan.notes.is_empty(), "{:?}", plan.notes);
    }
}

#[test]
fn an_index_of_uvs_own_is_noted_where_nothing_reads_it() {
    let manifest =
        "[project]\nname = 'agent'\ndependencies = ['torch']\n[tool.uv.sources]\ntorch = {index = 'cpu'}";
    let plan = of("", &[("pyproject.toml", manifest)]);
    assert!(
        plan.notes[0].message.starts_with("`torch` is taken from the default package index"),
        "{:?}",
        plan.notes
    );
}

#[test]
fn poetrys_paths_are_installed_from_there() {
    let manifest = "[build-system]\nrequires = ['poetry-core']\nbuild-backend = 'poetry.core.masonry.api'\n[tool.poetry]\n\
                    name = 'agent'\nversion = '1'\n[tool.poetry.dependencies]\npython = '^3.11'\n\
                    shared = {path = 'shared', develop = true}\nhttpx = '^0.28'";
    let shared = hatch("shared", "");
    let plan = of("", &[("pyproject.toml", manifest), ("shared/pyproject.toml", &shared)]);
    has(&plan, "-e . -e ./shared");
}

#[test]
fn directories_in_requirements_files_are_packages() {
    let shared = hatch("shared", "[project.optional-dependencies]\nx = ['tomli']");
    for line in ["-e ../libs/shared", "../libs/shared", "shared @ file:../libs/shared"] {
        let requirements = format!("httpx\n{line}\n");
        let plan = of("", &[("requirements.txt", &requirements), ("../libs/shared/pyproject.toml", &shared)]);
        in_order(&plan, "install -e libs/shared httpx\n", "source");
        has_not(&plan, "-r ");
        let local = plan.local.python.unwrap();
        assert_eq!((local.requirements, local.files.len()), (vec!["httpx".to_owned()], 0));
        assert_eq!(local.editable, ["../libs/shared"]);
    }
    let plan = of("", &[("requirements.txt", "-e ./shared[x]"), ("shared/pyproject.toml", &shared)]);
    has(&plan, "install tomli\n");
    has(&plan, "install alone -e ./shared\n");
}

#[test]
fn local_requirements_that_are_missing_are_errors() {
    for (manifest, reason) in [
        (
            "dependencies = ['x']\n[tool.uv.sources]\nx = {path = '../x'}",
            "`x` is at `../x`, which does not exist",
        ),
        (
            "dependencies = ['x']\n[tool.uv.sources]\nx = {workspace = true}",
            "`x` is no member of the workspace",
        ),
        ("dependencies = ['x @ file:../x']", "`x @ file:../x` is at `../x`, which does not exist"),
    ] {
        let manifest = hatch("agent", manifest);
        let files = Tree::new(MemoryFiles::new([AGENT, ("pyproject.toml", manifest.as_str())]));
        let found = analyze("agent.json", &format!("{{{CONFIG}}}"), &files).diagnostics;
        let label = found
            .iter()
            .find(|it| it.rule.code == "unusable-local-requirement")
            .and_then(|it| it.related.first());
        assert_eq!(label.map(|it| it.label.as_str()), Some(reason), "{found:?}");
    }
}

/// Python takes a directory with the name of a package for the package before it asks for editable ones.
#[test]
fn a_directory_on_the_import_path_hides_no_package() {
    let shared = hatch("shared", "");
    let files = [
        ("libs/common/__init__.py", ""),
        ("libs/shared/pyproject.toml", shared.as_str()),
        ("libs/shared/shared/__init__.py", ""),
        AGENT,
        ("requirements.txt", ""),
    ];
    let entries =
        r#""dependencies": [".", "./libs/common", "./libs/shared"], "graphs": {"agent": "./agent.py:graph"}"#;
    assert_eq!(plan(entries, &files).local.python.unwrap().path, [".", "libs", "libs/shared"]);
    let src: Vec<_> =
        files.into_iter().filter(|(path, _)| *path != "libs/shared/shared/__init__.py").collect();
    let src: Vec<_> = src.into_iter().chain([("libs/shared/src/shared/__init__.py", "")]).collect();
    assert_eq!(plan(entries, &src).local.python.unwrap().path, [".", "libs", "libs/shared/src"]);
}

#[test]
fn code_that_the_backend_does_not_select_is_no_part_of_the_skeleton() {
    let manifest = hatch("agent", "").replace("bypass-selection = true", "packages = ['src/app']");
    let own = [("pyproject.toml", manifest.as_str()), ("src/app/__init__.py", "")];
    let others = [("tests/test_a.py", ""), ("scripts/run.py", ""), ("src/other/__init__.py", "")];
    let with_others: Vec<_> = own.into_iter().chain(others).collect();
    let (alone, beside) = (of("", &own), of("", &with_others));
    assert_eq!(alone.image, beside.image);
    has(&alone, "touch src/app/__init__.py\n");
}

/// An index is not asked for the name of an archive: it is installed from its file, and the package that requires it
/// without looking for requirements.
#[test]
fn sources_that_are_archives_are_installed_from_there() {
    let agent = hatch(
        "agent",
        "dependencies = ['Thing[more]>=1', 'other @ {root:uri}/../wheels/other.tar.gz', 'httpx']\n\
         [tool.uv.sources]\nthing = {path = 'dist/thing 1.whl'}",
    );
    let files = [("pyproject.toml", &*agent), ("dist/thing 1.whl", ""), ("../wheels/other.tar.gz", "")];
    for installer in ["uv", "pip"] {
        let plan = of(&format!(r#", "pip_installer": "{installer}""#), &files);
        in_order(
            &plan,
            "copy project/dist/thing 1.whl",
            "thing[more] @ file:///deps/app/project/dist/thing%201.whl",
        );
        has(&plan, "other @ file:///deps/app/wheels/other.tar.gz");
        has(&plan, "-e ./project\n");
        has_not(&plan, "Thing");
        let local = plan.local.python.unwrap();
        assert!(local.without_requirements);
        assert_eq!(
            local.requirements,
            ["thing[more] @ file:dist/thing%201.whl", "other @ file:../wheels/other.tar.gz", "httpx"]
        );
    }
}

/// Only the backend knows which of its sources a package requires.
#[test]
fn archives_are_installed_with_packages_whose_requirements_are_computed() {
    let agent = format!(
        "{HATCH}[project]\nname = 'agent'\nversion = '1'\ndynamic = ['dependencies']\n\
         [tool.uv.sources]\nthing = {{path = 'dist/thing.whl'}}"
    );
    let plan = of("", &[("pyproject.toml", &*agent), ("dist/thing.whl", "")]);
    in_order(&plan, "source", "install without sources -e . thing @ file:///deps/app/dist/thing.whl\n");
}
