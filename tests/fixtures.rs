//! Every folder of `fixtures/invalid`: a project, and exactly what `agentcli validate` says of it. In a folder
//! named `edge-…` nothing is wrong, for it shows what must not be reported.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::harness::{TestEnv, fixtures, golden};

fn folders() -> Vec<PathBuf> {
    let entries = fs::read_dir(fixtures("invalid")).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

#[test]
fn each_invalid_project_is_reported_as_expected() {
    let mut wrong = Vec::new();
    for folder in folders() {
        let run = TestEnv::inside(&folder).run("validate --color never");
        let said = if run.out.is_empty() { &run.err } else { &run.out };
        wrong.extend(golden(&folder.join("expected.txt"), said).err());
        let has_error = run.out.lines().any(|line| line.starts_with("error["));
        assert_eq!(run.code, u8::from(has_error), "{}: {}", folder.display(), run.err);
        let is_edge = folder.file_name().unwrap().to_string_lossy().starts_with("edge-");
        assert_eq!(run.out.is_empty(), is_edge, "{}: only `edge-…` is without findings", folder.display());
    }
    assert!(wrong.is_empty(), "{}\nAGENTCLI_BLESS=1 cargo test writes them anew", wrong.join("\n"));
}

#[test]
fn each_code_has_a_fixture() {
    let shown: String =
        folders().iter().flat_map(|folder| fs::read_to_string(folder.join("expected.txt"))).collect();
    let shown: BTreeSet<&str> = shown
        .lines()
        .filter_map(|line| line.split_once('[')?.1.split_once("]:"))
        .map(|(code, _)| code)
        .collect();
    let missing: Vec<&str> =
        agentcli::cli::rules().iter().map(|rule| rule.code).filter(|code| !shown.contains(code)).collect();
    assert!(missing.is_empty(), "no folder of fixtures/invalid shows {}", missing.join(", "));
}
