//! Sets the commit in `agentcli --version`, for release builds only, so that a commit does not rebuild a debug build,
//! and links the program for a fast start.

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

/// Whether to link at a fixed address. A position-independent executable relocates 33,000 pointers at every start, in
/// 135 pages that are then no longer shared. Libraries, stack and heap keep their random addresses; the fixed code is
/// mostly safe Rust. Most programs in Go are linked like this, too.
fn starts_faster_at_a_fixed_address() -> bool {
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    target("OS") == "linux" && target("ENV") == "gnu" && !target("FEATURE").contains("crt-static")
}

/// The commit in AGENTCLI_COMMIT, or the checked-out one; `None` outside of a repository.
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

/// The Git directory: `.git`, or in a linked work tree the directory that it names.
fn git_directory() -> Option<PathBuf> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").ok()?);
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    Some(root.join(fs::read_to_string(git).ok()?.trim().strip_prefix("gitdir: ")?))
}

/// Reads a file, and runs this script again if it changes.
fn watched(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    println!("cargo:rerun-if-changed={}", file.display());
    Some(text.trim().to_owned())
}

fn packed(common: &Path, reference: &str) -> Option<String> {
    let refs = watched(&common.join("packed-refs"))?;
    refs.lines().find_map(|line| line.strip_suffix(reference)?.split(' ').next().map(str::to_owned))
}
