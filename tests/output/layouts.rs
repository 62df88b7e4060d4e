//! Layouts of Python packages: the files of their skeletons, or why they have none.

use agentcli::compiler::back::plan::Plan;
use agentcli::compiler::tree::Tree;

use super::lowering::{facts, plan};

const FLIT: &str = "[build-system]\nrequires = ['flit_core']\nbuild-backend = 'flit_core.buildapi'\n";
const HATCH: &str = "[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'\n";
const PDM: &str = "[build-system]\nrequires = ['pdm-backend']\nbuild-backend = 'pdm.backend'\n";
const POETRY: &str =
    "[build-system]\nrequires = ['poetry-core']\nbuild-backend = 'poetry.core.masonry.api'\n";
const SETUPTOOLS: &str =
    "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n";
const UV: &str = "[build-system]\nrequires = ['uv_build']\nbuild-backend = 'uv_build'\n";
const PROJECT: &str = "[project]\nname = 'demo'\nversion = '1'\n";

fn plan_of(files: &[(&str, &str)]) -> Plan {
    plan_with(r#""dependencies": ["."]"#, files)
}

fn plan_with(members: &str, files: &[(&str, &str)]) -> Plan {
    let package = [("demo/__init__.py", ""), ("demo/graph.py", "graph = object()")];
    let files: Vec<_> = package.into_iter().chain(files.iter().copied()).collect();
    plan(&format!(r#"{members}, "graphs": {{"agent": "./demo/graph.py:graph"}}"#), &files)
}

/// The files that are there before the source, without the manifest and the project's own package.
fn skeleton(plan: &Plan) -> Vec<String> {
    let python = plan.image.python.as_ref().unwrap();
    let mut found = [&python.manifests[..], &python.placeholders].concat();
    found.retain(|file| !["demo/__init__.py", "pyproject.toml", "setup.py"].contains(&file.as_str()));
    found.sort();
    found
}

/// The installations, before the source is there and after it.
fn installations(plan: &Plan) -> Vec<String> {
    let text = facts(plan);
    let lines = text.lines().filter(|line| line.starts_with("install") || *line == "source");
    lines.map(str::to_owned).collect()
}

/// The manifest, more files, and what of them is in the skeleton.
type Layout<'a> = (String, &'a [&'a str], &'a [&'a str]);

#[test]
fn files_of_skeletons() {
    let setuptools = |settings: &str| format!("{SETUPTOOLS}{PROJECT}[tool.setuptools]\n{settings}");
    let find = |settings: &str| format!("{SETUPTOOLS}{PROJECT}[tool.setuptools.packages.find]\n{settings}");
    let poetry = |settings: &str| format!("{POETRY}[tool.poetry]\nname = 'demo'\nversion = '1'\n{settings}");
    let licences =
        |backend: &str| format!("{backend}{PROJECT}license-files = ['LICEN[CS]E*', 'docs/*.md']\n");
    let everything = format!("{HATCH}{PROJECT}[tool.hatch.build.targets.wheel]\nbypass-selection = true\n");
    let mut layouts: Vec<Layout<'_>> = Vec::new();
    for backend in [FLIT, HATCH, PDM, POETRY, SETUPTOOLS, UV] {
        // The code lies beside the manifest, where it is not looked for by itself.
        let settings = if backend == UV { "[tool.uv.build-backend]\nmodule-root = ''\n" } else { "" };
        let manifest = licences(backend) + settings;
        layouts.push((manifest, &["LICENSE", "NOTICE", "docs/a.md"], &["LICENSE", "docs/a.md"]));
    }
    layouts.extend([
        (poetry("readme = ['README.md', 'NEWS.md']\n"), &["README.md", "NEWS.md"][..], &["NEWS.md", "README.md"][..]),
        (poetry("packages = [{include = 'demo/graph.py'}]\n"), &[], &["demo/graph.py"]),
        (poetry("packages = [{include = 'prompts', from = 'data'}]\n"), &["data/prompts/x.txt"], &["data/prompts/x.txt"]),
        // An environment is one by what it holds, and not by its name.
        (everything.clone(), &["env/__init__.py", "venv/pyvenv.cfg", "venv/a.py"], &["env/__init__.py"]),
        (everything.clone(), &["dist/a.py", "lib/dist/__init__.py"], &["lib/dist/__init__.py"]),
        (everything.clone(), &["a/b/c/d/e/f/g/h/i/j/__init__.py"], &["a/b/c/d/e/f/g/h/i/j/__init__.py"]),
        // One module represents a directory, except where each can be a package of its own.
        (everything.clone(), &["one.py", "src/two.py", "src/three.py", "lib/b.py", "lib/a.py"],
            &["lib/a.py", "one.py", "src/three.py", "src/two.py"]),
        (format!("{HATCH}{PROJECT}[tool.hatch.build.targets.wheel]\npackages = ['src/dist']\n"), &["src/dist/a.py"], &["src/dist/a.py"]),
        (format!("{HATCH}{PROJECT}[tool.hatch.build]\ninclude = ['lib/b.py']\n"), &["lib/a.py", "lib/b.py"], &["lib/a.py", "lib/b.py"]),
        // Patterns do not reach what tools fill, and need one match.
        (format!("{HATCH}{PROJECT}[tool.hatch.build]\ninclude = ['lib/b*.py']\n"),
            &["env/pyvenv.cfg", "env/lib/a.py", "node_modules/x/a.py", "lib/a.py", "lib/b1.py", "lib/b2.py"], &["lib/a.py", "lib/b1.py"]),
        (format!("{HATCH}{PROJECT}"), &["hatch.toml"], &["hatch.toml"]),
        (format!("{UV}{PROJECT}[tool.uv.build-backend]\nmodule-name = ['x.y']\n"), &["src/x/y/a.so"], &["src/x/y/a.so"]),
        (setuptools("packages = ['demo', 'demo.env', 'demo.prompts', 'stubs', 'demo.native']\n"),
            &["demo/env/__init__.py", "demo/prompts/x.txt", "stubs/__init__.pyi", "stubs/a.pyi", "demo/native/x.so"],
            &["demo/env/__init__.py", "demo/native/x.so", "demo/prompts/x.txt", "stubs/__init__.pyi"]),
        (setuptools("packages = ['demo', 'texts']\npackage-dir = {texts = 'assets/texts'}\n"), &["assets/texts/x.txt", "other/x.txt"], &["assets/texts/x.txt"]),
        (setuptools("py-modules = ['conftest', 'absent']\n"), &["conftest.py"], &["conftest.py"]),
        (find("include = ['demo*', 'texts*']\n"), &["texts/de/x.txt", "texts/en/x.txt", "data/x.txt"], &["texts/de/x.txt"]),
        (find("namespaces = false\n"), &["texts/x.txt", "env/__init__.py"], &["env/__init__.py"]),
        (format!("{SETUPTOOLS}[project]\nname = 'demo'\nversion = '1'\ndynamic = ['dependencies', 'optional-dependencies']\n[tool.setuptools.dynamic]\ndependencies = {{file = ['a.txt', 'absent.txt']}}\noptional-dependencies.dev = {{file = 'b.txt'}}\n"),
            &["a.txt", "b.txt"], &["a.txt", "b.txt"]),
    ]);
    let mut wrong = Vec::new();
    for (manifest, more, expected) in layouts {
        let files: Vec<_> =
            more.iter().map(|file| (*file, "")).chain([("pyproject.toml", manifest.as_str())]).collect();
        let plan = plan_of(&files);
        assert!(plan.notes.is_empty(), "{manifest}: {:?}", plan.notes);
        if skeleton(&plan) != expected {
            wrong.push(format!("{manifest}: {:?}, not {expected:?}", skeleton(&plan)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let setup = "from setuptools import setup\nsetup(name='demo', packages=['demo', 'texts'], package_dir={'texts': 'x'})\n";
    let plan = plan_of(&[("setup.py", setup), ("x/a.txt", "")]);
    assert!(plan.notes.is_empty() && skeleton(&plan) == ["x/a.txt"], "{:?}", skeleton(&plan));
}

#[test]
fn packages_without_a_skeleton() {
    let setuptools = |requires: &str, settings: &str| {
        format!("[build-system]\nrequires = ['setuptools'{requires}]\n{PROJECT}{settings}")
    };
    let setup = |keyword: &str| {
        format!("from setuptools import setup\nsetup(name='demo', packages=['demo'], {keyword})\n")
    };
    for (file, text, more, why) in [
        (
            "pyproject.toml",
            format!("{FLIT}{PROJECT}license-files = ['../LICENSE*']\n"),
            None,
            "`../LICENSE*`",
        ),
        (
            "pyproject.toml",
            setuptools("", "[tool.setuptools]\nscript-files = ['x.sh']\n"),
            None,
            "script-files",
        ),
        (
            "pyproject.toml",
            setuptools("", "[tool.setuptools]\npackages = ['x']\npackage-dir = {x = '../x'}\n"),
            None,
            "outside",
        ),
        (
            "pyproject.toml",
            setuptools(", 'setuptools-rust'", "[[tool.setuptools-rust.ext-modules]]\ntarget = 'x'\n"),
            None,
            "`setuptools-rust`",
        ),
        ("pyproject.toml", setuptools(", 'cffi>=1'", ""), None, "`cffi>=1`"),
        (
            "pyproject.toml",
            setuptools("", ""),
            Some(("setup.cfg", "[options]\nscripts = x.sh\n")),
            "setup.cfg",
        ),
        (
            "pyproject.toml",
            format!(
                "{POETRY}[tool.poetry]\nname = 'demo'\nversion = '1'\n[tool.poetry.scripts]\nx = {{reference = 'x.sh', type = 'file'}}\n"
            ),
            None,
            "tool.poetry.scripts",
        ),
        (
            "pyproject.toml",
            format!("{HATCH}{PROJECT}"),
            Some(("hatch.toml", "[build.hooks.custom]\n")),
            "tool.hatch.build.hooks",
        ),
        (
            "pyproject.toml",
            format!("{HATCH}{PROJECT}[tool.hatch.build.targets.wheel.shared-data]\n'x' = 'x'\n"),
            None,
            "shared-data",
        ),
        ("setup.py", setup("scripts=['x.sh']"), None, "`scripts`"),
        ("setup.py", setup("headers=['x.h']"), None, "`headers`"),
        ("setup.py", setup("data_files=[('etc', ['x'])]"), None, "`data_files`"),
    ] {
        let files: Vec<_> = [(file, text.as_str())].into_iter().chain(more).collect();
        let plan = plan_of(&files);
        assert!(skeleton(&plan).is_empty(), "{text}: {:?}", skeleton(&plan));
        assert!(plan.notes.len() == 1 && plan.notes[0].message.contains(why), "{text}: {:?}", plan.notes);
    }
}

/// An empty file in its place would be in the way of the link when the source comes.
#[cfg(unix)]
#[test]
fn links_to_python_code_prevent_a_skeleton() {
    use std::os::unix::fs::symlink;

    use agentcli::compiler::manifests::dependency::Local;
    use agentcli::compiler::manifests::package;
    use agentcli::project::DiskFiles;

    use crate::harness::TestEnv;

    let manifest = format!("{HATCH}{PROJECT}");
    let tree = TestEnv::empty().file("pyproject.toml", &manifest).file("demo/__init__.py", "");
    let tree =
        tree.file("demo/graph.py", "graph = object()").file("data/x.txt", "").file("vendor/common/a.py", "");
    let skeleton = |tree: &TestEnv| {
        let files = Tree::new(DiskFiles::new(tree.path("")));
        let local = Local::new(None, ".".to_owned(), &files);
        package::skeleton(&local, &files)
    };
    symlink("../data", tree.path("demo/data")).unwrap();
    assert!(skeleton(&tree).is_ok(), "{:?}", skeleton(&tree));
    let tree = tree.file("elsewhere/venv/pyvenv.cfg", "").file("elsewhere/venv/activate_this.py", "");
    symlink("elsewhere/venv", tree.path("environment")).unwrap();
    assert!(skeleton(&tree).is_ok(), "{:?}", skeleton(&tree));
    symlink("vendor", tree.path("lib")).unwrap();
    assert!(skeleton(&tree).is_err_and(|why| why.contains("`lib`")));
}

/// Or a package of that name would come from elsewhere, and be somebody else's.
#[test]
fn uv_settings_apply_before_the_source_is_there() {
    let manifest =
        |settings: &str| format!("{SETUPTOOLS}{PROJECT}dependencies = ['internal>=1']\n{settings}");
    let index = "[[tool.uv.index]]\nurl = 'https://packages.example/simple'\n";
    let named = r#""dependencies": [".", "named"]"#;
    for (settings, more) in [
        (index, None),
        ("[tool.uv]\noverride-dependencies = ['internal==2']\n", None),
        ("", Some(("uv.toml", "index-url = 'https://packages.example/simple'\n"))),
    ] {
        let text = manifest(settings);
        let files: Vec<_> = [("pyproject.toml", text.as_str())].into_iter().chain(more).collect();
        let plan = plan_with(named, &files);
        assert_eq!(installations(&plan), ["install -e . named", "source"], "{settings}");
        assert!(plan.notes.is_empty(), "{:?}", plan.notes);
        assert_eq!(skeleton(&plan), more.map(|(file, _)| file).into_iter().collect::<Vec<_>>(), "{settings}");
    }
    // Each package has its own.
    let lib =
        format!("{SETUPTOOLS}[project]\nname = 'lib'\nversion = '1'\ndependencies = ['private']\n{index}");
    let project = format!("{SETUPTOOLS}{PROJECT}dependencies = ['lib', 'httpx']\n");
    let files = [("pyproject.toml", project.as_str()), ("lib/pyproject.toml", &lib)];
    let plan = plan_with(r#""dependencies": [".", "./lib"]"#, &files);
    assert_eq!(installations(&plan), ["install in lib: -e .", "install -e .", "source"]);
    // Those of the project count where the rest of it is no dependency.
    let files = [("uv.toml", "offline = false\n"), ("lib/setup.py", "")];
    let plan = plan_with(r#""dependencies": ["./demo", "./lib"]"#, &files);
    assert_eq!(plan.context.include, ["demo", "lib", "uv.toml"]);
    // A place in the source is not there yet.
    let text = manifest("[tool.uv]\nfind-links = ['./wheels']\n");
    let plan = plan_with(named, &[("pyproject.toml", &text)]);
    assert_eq!(installations(&plan), ["source", "install -e . named"]);
    // pip knows nothing of them.
    let plan = plan_with(
        r#""dependencies": ["./demo", "./lib"], "pip_installer": "pip""#,
        &[("lib/pyproject.toml", &lib)],
    );
    assert_eq!(installations(&plan), ["install -e ./lib", "source"]);
}
