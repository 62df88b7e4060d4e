//! Names the commit in `agentcli --version`, for release builds only: a debug build is not rebuilt for a commit. And
//! links the program so that it starts fast.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=AGENTCLI_COMMIT");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = match commit() {
        Some(commit) => format!("{version} ({})", commit.get(..9).unwrap_or(&commit)),
        None => version,
    };
    println!("cargo:rustc-env=AGENTCLI_VERSION={version}");
    if starts_faster_at_a_fixed_address() {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}

/// At an address of the moment, 33,000 pointers are written anew at every start, into 135 pages that are then no longer
/// shared. Libraries, stack and heap keep their random addresses; what is fixed is code that is safe Rust for the most
/// part, as most programs in Go are, too.
fn starts_faster_at_a_fixed_address() -> bool {
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    target("OS") == "linux" && target("ENV") == "gnu" && !target("FEATURE").contains("crt-static")
}

/// What AGENTCLI_COMMIT says, or what is checked out; nothing outside of a repository.
fn commit() -> Option<String> {
    if let Ok(commit) = env::var("AGENTCLI_COMMIT") {
        return Some(commit).filter(|commit| !commit.is_empty());
    }
    if env::var("PROFILE").as_deref() == Ok("debug") {
        return None;
    }
    let git = git_directory()?;
    let head = watched(&git.join("HEAD"))?;
    let Some(reference) = head.strip_prefix("ref: ") else { return Some(head) };
    let common = fs::read_to_string(git.join("commondir")).unwrap_or_else(|_| ".".to_owned());
    let common = git.join(common.trim());
    watched(&common.join(reference)).or_else(|| packed(&common, reference))
}

/// `.git`, or, in a work tree beside the repository, what it names.
fn git_directory() -> Option<PathBuf> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").ok()?);
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    Some(root.join(fs::read_to_string(git).ok()?.trim().strip_prefix("gitdir: ")?))
}

fn watched(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    println!("cargo:rerun-if-changed={}", file.display());
    Some(text.trim().to_owned())
}

fn packed(common: &Path, reference: &str) -> Option<String> {
    let refs = watched(&common.join("packed-refs"))?;
    refs.lines().find_map(|line| line.strip_suffix(reference)?.split(' ').next().map(str::to_owned))
}
