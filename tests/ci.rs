//! The action, the hook and the examples for CI services, with the real shell, pre-commit and zizmor, and the site of the
//! documentation.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::{env, fs};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::harness::{TestEnv, VALID, is_long, python};
use crate::output::compose_file::parsed;
use crate::packaging::{AS_BUILT, WHEEL, forget_cargo};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const WITH_WARNING: &str =
    "{ \"dependencies\": [\".\"], \"graphs\": { \"agent\": \"./agent.py:graph\" }, \"zzzzzz\": 1 }\n";

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

/// A program of the tests' Python environment.
fn tool(name: &str) -> Command {
    Command::new(python().with_file_name(name))
}

/// The programs of the tests' Python environment before all others.
fn path() -> std::ffi::OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    env::join_paths([python().parent().unwrap().to_owned()].into_iter().chain(env::split_paths(&path)))
        .unwrap()
}

/// Lets pip use no index.
fn without_index(command: &mut Command) -> &mut Command {
    command.env("PIP_NO_INDEX", "1").env("PATH", path())
}

/// The wheel of this checkout as `URL#sha256=DIGEST`.
fn wheel() -> String {
    let digest = hex::encode(Sha256::digest(fs::read(&*WHEEL).unwrap()));
    format!("file://{}#sha256={digest}", WHEEL.display())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn workflows_pass_zizmor() {
    let found = tool("zizmor")
        .args(["--offline", "--persona", "pedantic", "--no-progress", ".", "examples/ci/github.yml"])
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(found.status.success(), "{}{}", text(&found.stdout), text(&found.stderr));
}

#[test]
fn files_of_ci_services_match_their_schemas() {
    for (schema, file) in [
        ("github-actions", "action.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/bug.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/feature.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/finding.yml"),
        ("github-workflows", ".github/workflows/ci.yml"),
        ("github-workflows", ".github/workflows/release.yml"),
        ("github-workflows", "examples/ci/github.yml"),
        ("gitlab-ci", "examples/ci/gitlab.yml"),
    ] {
        let checked = tool("check-jsonschema")
            .args(["--builtin-schema", &format!("vendor.{schema}"), file])
            .current_dir(ROOT)
            .output()
            .unwrap();
        assert!(checked.status.success(), "{}{}", text(&checked.stdout), text(&checked.stderr));
    }
}

/// A broken link or anchor is an error.
#[test]
fn documentation_builds_as_a_site() {
    let site = TempDir::new().unwrap();
    let built = tool("mkdocs")
        .args(["build", "--strict", "--site-dir"])
        .arg(site.path())
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}{}", text(&built.stdout), text(&built.stderr));
    assert!(site.path().join("reference/commands/index.html").exists());
}

/// Runs the steps of action.yml as a runner does, and returns the output of the last one that ran.
fn run_action(project: &TestEnv, temporary: &Path, inputs: &[(&str, &str)]) -> Output {
    let action = parsed(&read("action.yml"));
    let mut last = None;
    for step in action["runs"]["steps"].as_array().unwrap() {
        assert_eq!(step["shell"], "bash");
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"].as_str().unwrap()]);
        for (name, value) in step["env"].as_object().unwrap() {
            let input =
                value.as_str().unwrap().strip_prefix("${{ inputs.").unwrap().strip_suffix(" }}").unwrap();
            let default = action["inputs"][input]["default"].as_str().unwrap();
            let given = inputs.iter().find(|(name, _)| *name == input).map(|(_, value)| (*value).to_owned());
            // Without it, the step compiles the program.
            let given = given.or_else(|| (input == "wheel").then(wheel));
            command.env(name, given.as_deref().unwrap_or(default));
        }
        command.env("GITHUB_ACTION_PATH", ROOT).env("RUNNER_TEMP", temporary).current_dir(project.path(""));
        let output = without_index(&mut command).output().unwrap();
        let failed = !output.status.success();
        last = Some(output);
        if failed {
            break;
        }
    }
    last.unwrap()
}

#[test]
fn action_annotates_findings() {
    let temporary = TempDir::new().unwrap();
    let project = TestEnv::project().file("apps/b c/agent.json", "{").file("langgraph.json", WITH_WARNING);
    let run = |inputs: &[(&str, &str)]| run_action(&project, temporary.path(), inputs);

    let valid = run(&[]);
    assert!(valid.status.success() && valid.stdout.is_empty(), "{valid:?}");

    let broken = run(&[("config", "agent.json\napps/b c/agent.json\n"), ("sarif-file", "out.sarif")]);
    assert_eq!(broken.status.code(), Some(1), "{broken:?}");
    let annotation =
        "::error file=apps/b c/agent.json,line=1,col=1,endLine=1,endColumn=2,title=json-syntax::";
    assert!(text(&broken.stdout).starts_with(annotation), "{broken:?}");
    let sarif: Value = serde_json::from_slice(&fs::read(project.path("out.sarif")).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "json-syntax");

    let warned = run(&[("config", "langgraph.json")]);
    assert!(warned.status.success() && text(&warned.stdout).starts_with("::warning "), "{warned:?}");
    let denied = run(&[("config", "langgraph.json"), ("deny-warnings", "true"), ("sarif-file", "out.sarif")]);
    assert_eq!(denied.status.code(), Some(1), "{denied:?}");

    let lock = ("lock", "true");
    let unlocked = run(&[lock]);
    assert_eq!(unlocked.status.code(), Some(1), "{unlocked:?}");
    let image = |name: &str| {
        let digest = format!("sha256:{}", "a".repeat(64));
        format!(
            "[[image]]\nname = \"{name}\"\ndigest = \"{digest}\"\nplatforms = {{ \"linux/amd64\" = \"{digest}\" }}\n"
        )
    };
    let images = ["langchain/langgraph-api:3.11", "pgvector/pgvector:pg16", "redis:6"].map(image).concat();
    let lock_text = format!("version = 1\n[server]\nname = \"licensed\"\n{images}");
    fs::write(project.path("agent.lock"), lock_text).unwrap();
    let locked = run(&[lock]);
    assert!(locked.status.success(), "{locked:?}");
    let both = run(&[lock, ("config", "agent.json\nlanggraph.json\n")]);
    assert!(both.status.success(), "{both:?}");

    let other = wheel().replace("#sha256=", "#sha256=0");
    let other = run(&[("wheel", &other[..other.len() - 1])]);
    assert!(!other.status.success() && text(&other.stderr).contains("DO NOT MATCH"), "{other:?}");
}

/// A checkout of a pull request has modules, settings of cargo and programs with the names of what the action starts.
#[test]
fn action_runs_nothing_of_the_checkout() {
    let temporary = TempDir::new().unwrap();
    let mut project = TestEnv::project().file("agent.json", VALID);
    let code = "import pathlib; pathlib.Path(__file__).with_name('pwned').touch()\n";
    for module in ["pip", "typing", "subprocess", "runpy", "sitecustomize", "encodings"] {
        project = project.file(&format!("{module}.py"), code);
    }
    let project = project
        .file("pip/__init__.py", code)
        .file("pip/__main__.py", code)
        .file("pyvenv.cfg", "home = .\n")
        .file(".cargo/config.toml", "[build]\nrustc-wrapper = './wrapper'\n")
        .file("cargo", "#!/bin/sh\ntouch pwned\n");
    let output = run_action(&project, temporary.path(), &[]);
    assert!(output.status.success(), "{output:?}");
    assert!(!project.path("pwned").exists() && !project.path("pip/pwned").exists(), "{output:?}");
}

/// Inputs may come from a pull request.
#[test]
fn action_runs_nothing_in_its_inputs() {
    let temporary = TempDir::new().unwrap();
    let project = TestEnv::project();
    let hostile = "$(touch pwned) `touch pwned` \"; touch pwned; '; touch pwned #\n--help";
    for input in ["config", "deny-warnings", "lock", "sarif-file", "wheel"] {
        let output = run_action(&project, temporary.path(), &[(input, hostile)]);
        assert!(!project.path("pwned").exists(), "{input}: {output:?}");
        assert!(!text(&output.stdout).contains("Usage"), "{input}: {output:?}");
    }
}

/// The script of the example for GitLab, as a runner runs it.
#[test]
fn gitlab_example_writes_both_reports() {
    let job = &parsed(&read("examples/ci/gitlab.yml"))["agentcli"];
    let script: Vec<&str> =
        job["script"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let environment = TempDir::new().unwrap();
    assert!(Command::new(python()).args(["-m", "venv"]).arg(environment.path()).status().unwrap().success());
    for (config, code) in [(VALID, 0), ("{", 1)] {
        let project = TestEnv::project().file("agent.json", config);
        let mut shell = Command::new("sh");
        without_index(&mut shell).env("AGENTCLI", wheel());
        let programs = [environment.path().join("bin"), PathBuf::from("/usr/bin"), PathBuf::from("/bin")];
        shell.env("PATH", env::join_paths(programs).unwrap());
        let output = shell.args(["-ec", &script.join("\n")]).current_dir(project.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let report = |kind: &str| {
            let file = job["artifacts"]["reports"][kind].as_str().unwrap();
            fs::read_to_string(project.path(file)).unwrap()
        };
        let quality: Value = serde_json::from_str(&report("codequality")).unwrap();
        assert_eq!(quality.as_array().unwrap().is_empty(), code == 0);
        assert_eq!(report("junit").contains("<failure"), code == 1);
    }
}

/// The hook compiles the program. Here it takes the sources of these tests, which are compiled; in the long tests, those of
/// the clone that pre-commit makes.
#[test]
fn pre_commit_runs_the_hook() {
    // Maturin moves the executable out of the target directory, so that two builds of a wheel must not overlap.
    LazyLock::force(&WHEEL);
    let state = TempDir::new().unwrap();
    let project = TestEnv::project().file("apps/a/agent.json", "{").file("notagent.json", "{");
    let git = |arguments: &[&str]| {
        let status = Command::new("git").args(arguments).current_dir(project.path("")).status().unwrap();
        assert!(status.success(), "{arguments:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    let mut hook = tool("pre-commit");
    forget_cargo(&mut hook);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let compiled = if is_long() { String::new() } else { format!("--manifest-path '{ROOT}/Cargo.toml'") };
    let output = hook
        .args(["try-repo", ROOT, "agentcli", "--all-files", "--verbose"])
        .current_dir(project.path(""))
        .env("PRE_COMMIT_HOME", state.path())
        .env("CARGO_TARGET_DIR", target)
        .env("MATURIN_PEP517_ARGS", format!("{AS_BUILT} {compiled}"))
        .output()
        .unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
    assert!(said.contains("--> apps/a/agent.json:1:1") && said.contains("in 1 of 2 files"), "{said}");
}
