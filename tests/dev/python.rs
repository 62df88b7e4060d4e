//! The choice of the interpreter, among programs that answer as interpreters of any version and can do nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::Project;

/// A project without anything on the PATH but a shell.
fn project() -> Project {
    let project = Project::of("hello");
    fs::create_dir(project.path("tools")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", project.path("tools/sh")).unwrap();
    let path = project.path("tools").display().to_string();
    project.variable("PATH", &path)
}

/// An interpreter of this version that lacks these packages.
fn python(project: &Project, path: &str, version: [u8; 3], missing: &[&str]) {
    let answer = serde_json::json!({ "version": version, "missing": missing });
    project.write(path, format!("#!/bin/sh\necho '{answer}'\n"));
    fs::set_permissions(project.path(path), fs::Permissions::from_mode(0o755)).unwrap();
}

fn requires(project: &Project, range: &str) {
    project.edit("pyproject.toml", ">=3.11", range);
}

/// Adds a key to the configuration.
fn configure(project: &Project, member: &str) {
    project.edit("agent.json", "\"dependencies\"", &format!("{member}, \"dependencies\""));
}

/// The output of a run with --no-install.
fn said(project: &Project, arguments: &[&str]) -> String {
    let (code, _, err) = project.fails(&[&["--no-browser", "--no-install"], arguments].concat());
    assert_eq!(code, 1, "{err}");
    assert!(!project.path(".agentcli/python").exists());
    err
}

#[test]
fn the_interpreter_fits_requires_python() {
    let project = project();
    requires(&project, ">=3.12,<3.14");
    for minor in [11, 12, 14] {
        python(&project, &format!("tools/python3.{minor}"), [3, minor, 4], &["all"]);
    }
    python(&project, "tools/python3", [3, 11, 4], &["all"]);
    let err = said(&project, &[]);
    let note = "note: using Python 3.12.4, on the PATH (`tools/python3.12`): \
                pyproject.toml requires `>=3.12,<3.14`\n";
    assert!(err.contains(note), "{err}");
    assert!(err.contains("error: not installed: all\n"), "{err}");
    // uv would install the project with a Python above the range.
    fs::remove_file(project.path("tools/python3.12")).unwrap();
    let err = said(&project, &[]);
    let warning =
        "warning: pyproject.toml supports Python `>=3.12,<3.14`, and `tools/python3.14` is 3.14.4\n";
    assert!(err.contains(warning), "{err}");
}

#[test]
fn without_a_python_in_the_range_nothing_is_installed() {
    let project = project();
    requires(&project, ">=3.13");
    python(&project, "tools/python3", [3, 11, 4], &[]);
    python(&project, "tools/python3.12", [3, 12, 4], &[]);
    let (code, _, err) = project.fails(&["--no-browser", "--yes"]);
    let tools = project.path("tools").display().to_string();
    let expected = format!(
        "error: no Python 3.11 or later within `>=3.13` (pyproject.toml) found: `{tools}/python3` is Python 3.11.4, \
         `{tools}/python3.12` is Python 3.12.4\nhint: install one (`uv python install 3.13`, `pyenv install 3.13`"
    );
    assert!(code == 1 && err.contains(&expected), "{err}");
    let err = said(&project, &["--python", "tools/python3.12"]);
    assert!(err.contains("error: no Python 3.11 or later within `>=3.13`"), "{err}");
    project.edit("pyproject.toml", ">=3.13", "<3.11");
    configure(&project, "\"pip_installer\": \"pip\"");
    let err = said(&project, &[]);
    assert!(err.contains("hint: change the range to include Python 3.11\n"), "{err}");
}

#[test]
fn requires_python_goes_before_the_pinned_version() {
    let project = project();
    requires(&project, ">=3.12");
    configure(&project, "\"python_version\": \"3.11\"");
    python(&project, "tools/python3", [3, 11, 4], &["all"]);
    python(&project, "tools/python3.12", [3, 12, 4], &["all"]);
    let err = said(&project, &[]);
    let warning = "warning: the configuration pins Python 3.11, and `tools/python3.12` is 3.12.4; \
                   pyproject.toml requires `>=3.12`\n";
    assert!(err.contains(warning), "{err}");
}

#[test]
fn a_pinned_version_is_preferred_and_another_is_warned_of() {
    let project = project();
    configure(&project, "\"python_version\": \"3.13\"");
    python(&project, "tools/python3", [3, 12, 4], &["all"]);
    let err = said(&project, &[]);
    let warning = "warning: the configuration pins Python 3.13, and `tools/python3` is 3.12.4\n";
    assert!(err.contains(warning), "{err}");
    python(&project, "tools/python3.13", [3, 13, 1], &["all"]);
    let err = said(&project, &[]);
    assert!(
        !err.contains("warning: ") && err.contains("(`tools/python3.13`): the configuration pins 3.13"),
        "{err}"
    );
}

#[test]
fn python_version_file_and_pyenv_are_followed() {
    let project = project();
    python(&project, "tools/python3", [3, 11, 4], &["all"]);
    python(&project, "tools/python3.13", [3, 13, 1], &["all"]);
    project.write(".python-version", "# ours\n3.13.1\n");
    let err = said(&project, &[]);
    assert!(err.contains("using Python 3.13.1, on the PATH"), "{err}");
    python(&project, "pyenv/versions/3.13.1/bin/python", [3, 13, 1], &["all"]);
    python(&project, "pyenv/versions/3.12.9/bin/python", [3, 12, 9], &["all"]);
    let root = project.path("pyenv").display().to_string();
    let project = project.variable("PYENV_ROOT", &root);
    let err = said(&project, &[]);
    assert!(
        err.contains("using Python 3.13.1, selected by pyenv (`pyenv/versions/3.13.1/bin/python`)"),
        "{err}"
    );
    // Another one that pyenv has is better than none.
    requires(&project, "==3.12.*");
    let err = said(&project, &[]);
    assert!(
        err.contains("using Python 3.12.9, installed by pyenv (`pyenv/versions/3.12.9/bin/python`)"),
        "{err}"
    );
}

#[test]
fn an_environment_that_is_passed_over_is_explained() {
    let project = project();
    python(&project, "tools/python3", [3, 11, 4], &["all"]);
    python(&project, ".venv/bin/python", [3, 12, 4], &["one", "two", "three"]);
    let err = said(&project, &[]);
    assert!(err.contains("note: not using `.venv`: it lacks one and 2 more (-v lists them)\n"), "{err}");
    assert!(err.contains("note: using Python 3.12.4, that of the environment (`.venv/bin/python`)"), "{err}");
    let err = said(&project, &["-v"]);
    assert!(err.contains("note: not using `.venv`: it lacks one, two, three\n"), "{err}");
    python(&project, ".venv/bin/python", [3, 10, 1], &[]);
    let err = said(&project, &[]);
    let why = "`.venv`: its interpreter is Python 3.10.1, and the project needs Python 3.11 or later\n";
    assert!(err.contains(why), "{err}");
    fs::remove_dir_all(project.path(".venv/bin")).unwrap();
    let err = said(&project, &[]);
    assert!(err.contains("note: not using `.venv`: it has no Python\n"), "{err}");
}

#[test]
fn modules_are_found_in_the_working_directory_as_in_an_image() {
    let project = Project::of("hello");
    project.write("extra/word.py", "WORD = 'extra'\n").write("hello/word.py", "WORD = 'hides the package'\n");
    project.edit(
        "src/hello/graph.py",
        "from typing",
        "import hello.graph\nfrom extra.word import WORD\nfrom typing",
    );
    project.edit("src/hello/graph.py", "Hello, ", "{WORD}, ");
    let dev = project.ready(&["--no-reload"]);
    assert_eq!(dev.run(serde_json::json!({}))["greeting"], "extra, world!");
    assert!(dev.stop("INT").code().is_some());
}
