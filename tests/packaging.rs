//! The Python package, with the real pip, maturin and uv, and the version that the program prints.

mod distributions;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::{env, fs};

use agentcli::compiler::server::local;
use tempfile::TempDir;

use crate::harness::{fixtures, program, python};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Options for maturin with which cargo finds that everything is built: the profile and the feature of these tests. A
/// release build takes minutes and shows the same packaging, and the program does not depend on the feature.
pub(crate) const AS_BUILT: &str = if cfg!(debug_assertions) {
    "--features system-tests --profile dev"
} else {
    "--features system-tests --profile release"
};

/// The wheel that pip builds for `pip install .`. Maturin is that of the tests' environment, where pip would fetch one.
pub(crate) static WHEEL: LazyLock<PathBuf> = LazyLock::new(|| {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // From here on, cargo's own file may be missing for a moment.
    program();
    let directory = temporary.join("wheel");
    if directory.exists() {
        fs::remove_dir_all(&directory).unwrap();
    }
    let mut pip = Command::new(python());
    pip.args(["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--check-build-dependencies"])
        .args(["--no-cache-dir", "--wheel-dir"])
        .args([&directory, Path::new(ROOT)]);
    forget_cargo(&mut pip);
    let tools = python().parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    run(pip
        .env("PATH", env::join_paths([tools].into_iter().chain(env::split_paths(&path))).unwrap())
        .env("CARGO_TARGET_DIR", temporary.parent().unwrap())
        .env("MATURIN_PEP517_ARGS", format!("{AS_BUILT} --compatibility pypi")));
    fs::read_dir(&directory).unwrap().next().unwrap().unwrap().path()
});

/// Removes the variables that cargo sets for these tests: another cargo would treat them as changes and rebuild crates.
pub(crate) fn forget_cargo(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let is_said = |prefix: &&str| name.to_string_lossy().starts_with(*prefix);
        if ["CARGO_MANIFEST_", "CARGO_PKG_", "OUT_DIR"].iter().any(is_said) {
            command.env_remove(&name);
        }
    }
}

/// Returns the output of a command that succeeds.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{err}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn pip_installs_the_program() {
    let environment = TempDir::new().unwrap();
    let program = |name: &str| Command::new(environment.path().join("bin").join(name));
    run(Command::new(python()).args(["-m", "venv"]).arg(environment.path()));
    // The wheel has no requirements.
    run(program("pip").args(["install", "--no-index"]).arg(&*WHEEL));

    assert!(run(program("agentcli").arg("--help")).contains("Usage: agentcli "));
    let version = run(program("agentcli").arg("--version"));
    assert!(version.starts_with(concat!("agentcli ", env!("CARGO_PKG_VERSION"))), "{version}");
    run(program("agentcli").arg("validate").arg(fixtures("valid/hello/agent.json")));
    for file in [
        "man/man1/agentcli.1",
        "man/man1/agentcli-deploy-logs.1",
        "bash-completion/completions/agentcli.bash",
        "fish/vendor_completions.d/agentcli.fish",
        "zsh/site-functions/_agentcli",
    ] {
        assert!(environment.path().join("share").join(file).is_file(), "{file}");
    }
    let about = run(program("pip").args(["show", "agentcli"]));
    for line in [
        concat!("Version: ", env!("CARGO_PKG_VERSION")),
        concat!("Summary: ", env!("CARGO_PKG_DESCRIPTION")),
        "Requires: ",
    ] {
        assert!(about.lines().any(|it| it == line), "{about}");
    }
}

#[test]
fn the_extra_adds_the_server() {
    let environment = TempDir::new().unwrap();
    let uv = || Command::new(python().with_file_name("uv"));
    run(uv().args(["venv", "--clear", "--python"]).arg(python()).arg(environment.path()));
    let wheel = format!("agentcli[inmem] @ file://{}", WHEEL.display());
    run(uv().args(["pip", "install", &wheel, "--python"]).arg(environment.path()));

    let bin = environment.path().join("bin");
    run(Command::new(bin.join("agentcli")).arg("--help"));
    for (package, version) in local::SERVER {
        let module = package.replace('-', "_");
        let code =
            format!("import {module}, importlib.metadata as it; print(it.version('{package}'), end='')");
        assert_eq!(run(Command::new(bin.join("python")).args(["-c", &code])), *version, "{package}");
    }
}

#[test]
fn the_extra_is_the_server_that_is_tested() {
    let text = fs::read_to_string(Path::new(ROOT).join("pyproject.toml")).unwrap();
    let project: toml::Value = toml::from_str(&text).unwrap();
    let extra = project["project"]["optional-dependencies"]["inmem"].as_array().unwrap();
    let server: Vec<String> =
        local::SERVER.iter().map(|(package, version)| format!("{package}=={version}")).collect();
    assert_eq!(extra.iter().map(|it| it.as_str().unwrap()).collect::<Vec<_>>(), server);
    assert_eq!(project["project"]["license"].as_str(), Some(env!("CARGO_PKG_LICENSE")));
}

/// A release build names the commit. The test runs the build script alone: a whole release build takes minutes.
#[test]
fn the_version_names_the_commit() {
    let directory = TempDir::new().unwrap();
    let script = directory.path().join("script");
    let source = Path::new(ROOT).join("build.rs");
    run(Command::new("rustc").args(["--edition", "2024", "-o"]).args([&script, &source]));
    let version = |checkout: &Path, name: &str, value: &str| {
        let mut command = Command::new(&script);
        command.env_remove("AGENTCLI_COMMIT").env("PROFILE", "release").env("CARGO_PKG_VERSION", "1.2.3");
        let out = run(command.env("CARGO_MANIFEST_DIR", checkout).env(name, value));
        out.lines()
            .find_map(|line| line.strip_prefix("cargo:rustc-env=AGENTCLI_VERSION="))
            .unwrap()
            .to_owned()
    };

    // A source distribution has no repository.
    let checkout = directory.path().join("checkout");
    fs::create_dir(&checkout).unwrap();
    assert_eq!(version(&checkout, "PROFILE", "release"), "1.2.3");
    assert_eq!(version(&checkout, "AGENTCLI_COMMIT", "0123456789abcdef"), "1.2.3 (012345678)");

    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=test", "-c", "user.email=test", "-c", "commit.gpgsign=false"];
        run(Command::new("git").arg("-C").arg(&checkout).args(identity).args(arguments))
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "--message", "first"]);
    let named = format!("1.2.3 ({})", &git(&["rev-parse", "HEAD"])[..9]);
    assert_eq!(version(&checkout, "PROFILE", "release"), named);
    assert_eq!(version(&checkout, "PROFILE", "debug"), "1.2.3");
    git(&["pack-refs", "--all"]);
    assert_eq!(version(&checkout, "PROFILE", "release"), named);
    git(&["worktree", "add", "--quiet", "../beside"]);
    assert_eq!(version(&directory.path().join("beside"), "PROFILE", "release"), named);
    git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(version(&checkout, "PROFILE", "release"), named);
}
