//! The wheel in containers of distributions that have Python and nothing else (`tests/engine/images bare`).

use std::fs;

use tempfile::TempDir;

use super::{WHEEL, run};
use crate::engine::{docker, hosts, try_docker};
use crate::harness::{fixtures, python};

const DISTRIBUTIONS: &[&str] = &["debian:12", "debian:13"];

/// A distribution with an older glibc than the one that the wheel is built with.
const OLD_DISTRIBUTION: &str = "debian:11";

/// Installs the wheel, and runs what it installed on a project.
const INSTALL: &str = "
python3 -m venv /environment
/environment/bin/pip install --quiet --no-index --disable-pip-version-check /wheel/*.whl
/environment/bin/agentcli --version
cd /hello
/environment/bin/agentcli validate 2>&1
";

/// A container without a network; it goes with this value.
struct Container<'a> {
    host: &'a str,
    id: String,
}

impl<'a> Container<'a> {
    fn create(host: &'a str, image: &str, script: &str) -> Self {
        let id = docker(host, &["create", "--network", "none", image, "sh", "-euc", script]);
        Self { host, id: id.trim().to_owned() }
    }

    /// Copies a directory, without a mount: the engine may see another file system.
    fn copy(&self, from: &str, to: &str) {
        docker(self.host, &["cp", from, &format!("{}:{to}", self.id)]);
    }
}

impl Drop for Container<'_> {
    fn drop(&mut self) {
        try_docker(self.host, &["rm", "--force", &self.id]).ok();
    }
}

/// The output of `INSTALL` in a container of the distribution.
fn install(distribution: &str) -> Result<String, String> {
    let host = &hosts()[0];
    let container = Container::create(host, &format!("agentcli-test/{distribution}"), INSTALL);
    container.copy(WHEEL.parent().unwrap().to_str().unwrap(), "/wheel");
    container.copy(fixtures("valid/hello").to_str().unwrap(), "/hello");
    try_docker(host, &["start", "--attach", &container.id])
}

#[test]
#[ignore = "long: run tests/run --long"]
fn the_wheel_installs_in_bare_distributions() {
    for distribution in DISTRIBUTIONS {
        let expected = concat!("agentcli ", env!("CARGO_PKG_VERSION"), "\nagent.json is valid (1 graph)\n");
        assert_eq!(install(distribution).as_deref(), Ok(expected), "{distribution}");
    }
}

#[test]
#[ignore = "long: run tests/run --long"]
fn pip_refuses_the_wheel_where_glibc_is_too_old() {
    let error = install(OLD_DISTRIBUTION).unwrap_err();
    assert!(error.contains("is not a supported wheel on this platform"), "{error}");
}

/// Pip trusts the tag: on a system with an older glibc than the tag names, it must refuse the wheel, since the program
/// would not start there.
#[test]
fn the_tag_names_a_glibc_that_runs_the_program() {
    let name = WHEEL.file_name().unwrap().to_str().unwrap();
    let tag = name.split_once("-manylinux_2_").unwrap_or_else(|| panic!("{name} has no such tag")).1;
    let tagged: u32 = tag.split('_').next().unwrap().parse().unwrap();

    let files = TempDir::new().unwrap();
    run(std::process::Command::new(python()).args(["-m", "zipfile", "-e"]).args([&*WHEEL, files.path()]));
    let program =
        files.path().join(concat!("agentcli-", env!("CARGO_PKG_VERSION"), ".data/scripts/agentcli"));
    let program = fs::read(program).unwrap();
    let needed = program.split(|byte| *byte == 0).filter_map(|symbol| symbol.strip_prefix(b"GLIBC_2."));
    let needed =
        needed.filter_map(|minor| str::from_utf8(minor).ok()?.split('.').next()?.parse::<u32>().ok());
    let newest = needed.max().unwrap();
    assert!((17..=tagged).contains(&newest), "the tag of {name} is older than glibc 2.{newest}");
}
