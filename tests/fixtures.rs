//! The exact output of `agentcli validate` for each case in `fixtures/invalid/<code>/`.
//!
//! - `<case>.json` is the configuration, copied as `agent.json`, and `<case>.txt` the output. A case named
//!   `<name>.langgraph` is copied as `langgraph.json`, and one named `<name>.memory` or `<name>.pg` is
//!   checked for that server.
//! - The project around it is `fixtures/trees/python`, or `fixtures/trees/<tree>` for a case named `<name>@<tree>`.
//! - A tree with a directory `project/` has files beside the project too, and the configuration is in that directory.
//! - The files of a directory `<case>/` are added to the project and replace files of the same name. A case may have
//!   this directory and no configuration. `NAME.sparse` becomes an empty file of as many bytes as it says,
//!   `NAME.socket` a socket, and `repository` makes its directory that of a Git repository.
//! - `<case>.fixed` is the configuration after `agentcli validate --fix`, for a case with a safe fix.
//! - Each case reports the rule whose folder it is in. A case named `fine-…` reports nothing: it shows what the rule
//!   must accept.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::harness::{Output, TestEnv, fixtures, golden};

/// The servers that cases are checked for beside the default.
const SERVERS: &[&str] = &["memory", "pg"];

/// The name of a case without that of its server.
fn without_server(stem: &str) -> &str {
    SERVERS.iter().find_map(|server| stem.strip_suffix(server)?.strip_suffix('.')).unwrap_or(stem)
}

struct Case {
    code: String,
    /// The name with the tree and the file name of the configuration, but without the extension.
    stem: String,
}

impl Case {
    /// The file with this ending, `.json` or `.txt`, or with none the directory of additional files.
    fn path(&self, ending: &str) -> PathBuf {
        fixtures("invalid").join(&self.code).join(format!("{}{ending}", self.stem))
    }

    fn run(&self) -> Output {
        let (project, _) = self.project();
        let server = SERVERS.iter().find(|server| self.stem.ends_with(&format!(".{server}")));
        let server = server.map(|server| format!("--server {server}")).unwrap_or_default();
        project.run(&format!("validate --color never {server}"))
    }

    /// The project, and the path of its configuration.
    fn project(&self) -> (TestEnv, PathBuf) {
        let (name, config) = match self.stem.strip_suffix(".langgraph") {
            Some(name) => (name, "langgraph.json"),
            None => (without_server(&self.stem), "agent.json"),
        };
        let tree = name.split_once('@').map_or("python", |(_, tree)| tree);
        let mut env = TestEnv::empty();
        overlay(&fixtures("trees").join(tree), &env.path(""));
        if self.path("").exists() {
            overlay(&self.path(""), &env.path(""));
        }
        let project = Some(env.path("project")).filter(|it| it.is_dir()).unwrap_or(env.path(""));
        if self.path(".json").exists() {
            fs::copy(self.path(".json"), project.join(config)).unwrap();
        }
        env.enter(&project);
        (env, project.join(config))
    }
}

/// Copies the files and symbolic links of `from` into `to`, and makes what git cannot store.
fn overlay(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            overlay(&source, &target);
        } else if source.is_symlink() {
            fs::remove_file(&target).ok();
            symlink(fs::read_link(source).unwrap(), target).unwrap();
        } else if let Some(target) = stripped(&target, ".sparse") {
            let size = fs::read_to_string(source).unwrap().trim().parse().unwrap();
            fs::File::create(target).unwrap().set_len(size).unwrap();
        } else if let Some(target) = stripped(&target, ".socket") {
            fs::remove_file(&target).ok();
            UnixListener::bind(target).unwrap();
        } else if entry.file_name() == "repository" {
            fs::create_dir(to.join(".git")).unwrap();
        } else {
            fs::copy(source, target).unwrap();
        }
    }
}

/// `path` without `ending`, if it has it.
fn stripped(path: &Path, ending: &str) -> Option<PathBuf> {
    path.to_str()?.strip_suffix(ending).map(PathBuf::from)
}

/// The names in a directory, sorted.
fn names(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// Whether a file holds what a case should give.
fn is_expected(name: &str) -> bool {
    name.ends_with(".txt") || name.ends_with(".fixed")
}

/// Every configuration, and every directory that has none, is a case.
fn cases() -> Vec<Case> {
    let in_folder = |code: String| {
        let names = names(&fixtures("invalid").join(&code));
        let stem = |name: &String| name.trim_end_matches(".json").to_owned();
        let stems: BTreeSet<String> = names.iter().filter(|name| !is_expected(name)).map(stem).collect();
        stems.into_iter().map(move |stem| Case { code: code.clone(), stem })
    };
    names(&fixtures("invalid")).into_iter().flat_map(in_folder).collect()
}

#[test]
fn each_case_prints_the_expected_output() {
    let mut wrong = Vec::new();
    for case in cases() {
        let Output { code, out, err } = case.run();
        let name = format!("{}/{}", case.code, case.stem);
        wrong.extend(golden(&case.path(".txt"), if out.is_empty() { &err } else { &out }).err());
        if code != u8::from(out.lines().any(|line| line.starts_with("error["))) {
            wrong.push(format!("{name}: exit code {code}"));
        }
        let is_expected = if case.stem.starts_with("fine-") {
            out.is_empty()
        } else {
            out.contains(&format!("[{}]: ", case.code))
        };
        if !is_expected {
            wrong.push(format!(
                "{name}: reports nothing about `{}`, or something though it is fine",
                case.code
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nAGENTCLI_BLESS=1 cargo test updates the expected output",
        wrong.join("\n")
    );
}

/// Only the safe fixes are made, all at once, and nothing else changes.
#[test]
fn each_safe_fix_gives_the_expected_file() {
    let mut wrong = Vec::new();
    for case in cases() {
        let (project, config) = case.project();
        let Ok(before) = fs::read(&config) else { continue };
        let diff = project.run("validate --diff");
        assert_eq!(fs::read(&config).unwrap(), before, "{}: --diff writes", case.stem);
        let fixed = project.run("validate --fix --format json");
        let after = fs::read(&config).unwrap();
        assert_eq!(diff.code == 1, after != before, "{}: {diff:?}", case.stem);
        assert!(!fixed.out.contains("\"safe\":true"), "{}: {}", case.stem, fixed.out);
        let expected = case.path(".fixed");
        if after == before {
            assert!(!expected.exists(), "{} has no safe fix", case.stem);
        } else {
            wrong.extend(golden(&expected, &String::from_utf8(after).unwrap()).err());
            assert_eq!(project.run("validate --diff").out, "", "{}", case.stem);
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nAGENTCLI_BLESS=1 cargo test updates the expected output",
        wrong.join("\n")
    );
}

#[test]
fn each_rule_has_a_case() {
    let rules: BTreeSet<String> = agentcli::cli::rules().iter().map(|rule| rule.code.to_owned()).collect();
    let shown: BTreeSet<String> =
        cases().into_iter().filter(|case| !case.stem.starts_with("fine-")).map(|case| case.code).collect();
    assert_eq!(shown, rules, "a rule without a case in fixtures/invalid, or a folder without a rule");
}

#[test]
fn every_file_belongs_to_a_case() {
    let cases = cases();
    for code in names(&fixtures("invalid")) {
        let expected: BTreeSet<String> =
            cases.iter().filter(|case| case.code == code).map(|case| format!("{}.txt", case.stem)).collect();
        let found = names(&fixtures("invalid").join(&code));
        let found: BTreeSet<String> = found.into_iter().filter(|name| name.ends_with(".txt")).collect();
        assert_eq!(found, expected, "fixtures/invalid/{code}");
    }
    let named = cases
        .iter()
        .filter_map(|case| without_server(case.stem.trim_end_matches(".langgraph")).split_once('@'));
    let trees: BTreeSet<String> =
        named.map(|(_, tree)| tree.to_owned()).chain(["python".to_owned()]).collect();
    assert_eq!(names(&fixtures("trees")), trees);
}
