//! `agentcli validate`: files, exit codes, summaries, streams.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::harness::{TestEnv, VALID};
use crate::reports::formats;

const BROKEN: &str =
    "{\n  \"dependencies\": [\".\"],\n  \"graphs\": { \"agent\": \"./agent.py:graph\" },\n}\n";
const WITH_WARNING: &str =
    "{ \"dependencies\": [\".\"], \"graphs\": { \"agent\": \"./agent.py:graph\" }, \"zzzzzz\": 1 }\n";

#[test]
fn valid_project_is_reported_on_stderr() {
    let run = TestEnv::project().run("validate");
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "", "agent.json is valid (1 graph)\n"));
}

#[test]
fn errors_fail_and_are_counted() {
    let run = TestEnv::project().file("agent.json", BROKEN).run("validate");
    assert_eq!(run.code, 1);
    assert!(
        run.out.starts_with("error[trailing-comma]: trailing comma\n --> agent.json:3:44\n"),
        "{}",
        run.out
    );
    assert_eq!(
        run.err,
        "1 error in 1 file\n1 finding has a safe fix: `agentcli validate --fix` makes it\n\
         for more about a finding, try `agentcli explain trailing-comma`\n"
    );
}

#[test]
fn warnings_fail_only_with_deny_warnings() {
    let project = TestEnv::project().file("agent.json", WITH_WARNING);
    let run = project.run("validate");
    assert_eq!(run.code, 0);
    assert!(run.err.starts_with("agent.json is valid (1 graph), with 1 warning\n"), "{}", run.err);
    let run = project.run("validate --deny-warnings");
    assert_eq!(run.code, 1);
    assert!(run.err.starts_with("1 warning in 1 file; warnings are denied\n"), "{}", run.err);
}

#[test]
fn langgraph_json_is_read_without_agent_json() {
    let run = TestEnv::empty()
        .file("langgraph.json", VALID)
        .file("agent.py", "graph = object()\n")
        .file("requirements.txt", "")
        .run("validate");
    assert_eq!(run.code, 0);
    assert_eq!(
        run.err,
        "note: no agent.json here; reading langgraph.json\nlanggraph.json is valid (1 graph)\n"
    );
    let run = TestEnv::project().file("langgraph.json", BROKEN).run("validate");
    assert_eq!(run.err, "agent.json is valid (1 graph)\n");
}

#[test]
fn several_files_are_checked_in_order() {
    let project = TestEnv::project().file("b.json", BROKEN).file("a.json", BROKEN);
    let run = project.run("validate b.json agent.json a.json");
    assert_eq!(run.code, 1);
    let places: Vec<&str> = run.out.lines().filter_map(|line| line.trim().strip_prefix("--> ")).collect();
    assert_eq!(places, ["b.json:3:44", "a.json:3:44"]);
    assert!(run.err.starts_with("2 errors in 2 of 3 files\n"), "{}", run.err);
}

#[test]
fn many_files_are_checked_in_order() {
    let names: Vec<String> = (0..100).map(|number| format!("{:02}.json", 99 - number)).collect();
    let project = names.iter().fold(TestEnv::project(), |project, name| project.file(name, BROKEN));
    let run = project.run(&format!("validate {}", names.join(" ")));
    let places = run.out.lines().filter_map(|line| line.trim().strip_prefix("--> ")?.split(':').next());
    assert_eq!(places.collect::<Vec<_>>(), names);
    assert!(run.err.starts_with("100 errors in 100 of 100 files\n"), "{}", run.err);
    assert_eq!(project.run("validate agent.json agent.json").err, "2 files are valid\n");
}

#[test]
fn paths_are_relative_to_the_configuration() {
    let project = TestEnv::empty()
        .file("apps/one/agent.json", VALID)
        .file("apps/one/agent.py", "graph = object()\n")
        .file("apps/one/requirements.txt", "");
    let run = project.run("validate apps/one/agent.json");
    assert_eq!((run.code, run.err.as_str()), (0, "apps/one/agent.json is valid (1 graph)\n"));
    assert_eq!(project.run("validate -c apps/one/agent.json").code, 0);
    let run = project.run("validate");
    assert!(run.out.contains("`agent.json` does not exist"), "{}", run.out);
}

#[test]
fn verbose_names_each_file() {
    let project = TestEnv::project().file("b.json", BROKEN);
    let run = project.run("validate -v agent.json b.json");
    assert!(
        run.err.starts_with("agent.json is valid (1 graph)\nb.json has 1 error\n1 error in 1 of 2"),
        "{}",
        run.err
    );
}

#[test]
fn missing_files_get_suggestions() {
    let project = TestEnv::project().file("apps/agent.json", VALID).file("sub/x.json", "{}");
    for (path, expected) in [
        ("agnet.json", "did you mean `agent.json`?"),
        ("./langgraph.json", "did you mean `./agent.json`?"),
        ("nowhere/agent.json", "there is no directory `nowhere`"),
        ("apps", "pass the file in it: `apps/agent.json`"),
        ("sub", "there is no `agent.json` in this directory"),
        ("agent.json/x", "cannot read `agent.json/x`: not a directory"),
    ] {
        let run = project.run(&format!("validate {path}"));
        assert!(run.code == 1 && run.out.contains(expected), "{path}: {}", run.out);
    }
    let run = TestEnv::empty().file("apps/one/agent.json", VALID).run("validate");
    assert!(run.out.contains("did you mean `apps/one/agent.json`?"), "{}", run.out);
    let run = TestEnv::empty().file("a/agent.json", VALID).file("b/langgraph.json", VALID).run("validate");
    assert!(run.out.contains("did you mean `a/agent.json` or `b/langgraph.json`?"), "{}", run.out);
    let run = TestEnv::empty().file("a/b/c/agent.json", VALID).run("validate");
    assert!(run.out.contains("create it, or pass another file with `--config`"), "{}", run.out);
}

/// The existing tool resolves the paths of `dev` from there.
#[test]
fn paths_from_the_working_directory_are_recognised() {
    let config =
        r#"{ "dependencies": ["./libs"], "graphs": { "agent": "./agent.py:graph" }, "env": "keys.env" }"#;
    let project = TestEnv::project().file("deploy/dev/agent.json", config);
    let project = project.file("libs/tools.py", "").file("keys.env", "");
    let run = project.run("validate deploy/dev/agent.json --color never");
    let text = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let help = "help: it is in the working directory, but paths start at the configuration's directory: move the \
                configuration to the working directory, or write";
    for correct in ["../../libs", "../../agent.py:graph", "../../keys.env"] {
        assert!(text.contains(&format!("{help} `{correct}`")), "{correct}: {}", run.out);
    }
    let beside = TestEnv::project().file("agent.json", config).run("validate --color never");
    assert!(!beside.out.contains("it is in the working directory"), "{}", beside.out);
}

#[cfg(target_os = "linux")]
#[test]
fn file_without_read_permission_is_a_finding() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::thread;

    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

    let project = TestEnv::project();
    fs::set_permissions(project.path("agent.json"), Permissions::from_mode(0o0)).unwrap();
    // Root reads every file, unless its thread gives up these capabilities.
    let without_root = move || {
        let mut sets = capabilities(None).unwrap();
        sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        set_capabilities(None, sets).unwrap();
        project.run("validate")
    };
    let run = thread::spawn(without_root).join().unwrap();
    assert_eq!(run.code, 1);
    assert!(run.out.starts_with("error[unreadable-file]: cannot read `agent.json`: permission denied\n"));
}

#[test]
fn snippets_fit_the_terminal() {
    let config =
        VALID.replace('\n', "").replace("\"agent\"", &format!("\"{}\": 3, \"agent\"", "x".repeat(300)));
    let run = TestEnv::project().file("agent.json", config).width(60).run("validate");
    assert_eq!(run.code, 1);
    for line in run.out.lines().filter(|line| line.contains('|')) {
        assert!(line.chars().count() <= 60, "{line}");
    }
}

#[test]
fn user_text_cannot_control_the_terminal() {
    let config = "{\"\u{1b}[31m\u{9b}0m\u{202e}\": \"\u{7}\", \"\\u001b]0;x\\u0007\": 1}";
    let project = TestEnv::project().file("agent.json", config).file("\u{1b}[1m.json", config);
    for format in formats() {
        let run = project.run(&format!("validate agent.json \u{1b}[1m.json --format {format}"));
        let bad: Vec<char> =
            run.out.chars().chain(run.err.chars()).filter(|&c| c != '\n' && c.is_control()).collect();
        assert!(bad.is_empty(), "{format}: {bad:?} in {}", run.out);
        assert!(!run.out.contains('\u{202e}'), "{format}");
    }
}

#[test]
fn closed_pipe_is_not_an_error_but_full_disk_is() {
    let project = TestEnv::project().file("agent.json", BROKEN);
    let run = project.run_into("validate", Box::new(FailingWriter(io::ErrorKind::BrokenPipe)));
    assert_eq!(run.code, 1);
    assert!(run.err.starts_with("1 error in 1 file\n"), "{}", run.err);
    let run = project.run_into("schema", Box::new(FailingWriter(io::ErrorKind::BrokenPipe)));
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let run = project.run_into("schema", Box::new(FailingWriter(io::ErrorKind::StorageFull)));
    assert_eq!(run.code, 1);
    assert!(run.err.starts_with("error: cannot write the output: "), "{}", run.err);
}

struct FailingWriter(io::ErrorKind);

impl Write for FailingWriter {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn spawned_process_does_the_same() {
    let project = TestEnv::project().file("b.json", BROKEN);
    let run = Command::new(crate::harness::program())
        .args(["validate", "b.json"])
        .current_dir(project.path(""))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let expected = project.run("validate b.json");
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(String::from_utf8(run.stdout).unwrap(), expected.out);
    assert_eq!(String::from_utf8(run.stderr).unwrap(), expected.err);
}

/// A graph that a build makes is an error, unless the build is part of the image.
#[test]
fn a_build_command_makes_graphs() {
    let config = r#"{ "graphs": { "agent": "./dist/agent.js:graph" } }"#;
    let project = TestEnv::empty()
        .file("agent.json", config)
        .file("package.json", r#"{ "scripts": { "build": "tsc" } }"#)
        .file(".dockerignore", "dist\n");
    for command in ["validate", "dockerfile -", "plan"] {
        let run = project.run(command);
        assert_eq!(run.code, 1, "{command}");
        assert!((run.out + &run.err).contains("error[reference-not-built]"), "{command}");
    }
    let run = project.run("dockerfile - --build-command make");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("\nCOPY . .\nRUN make\n"), "{}", run.out);
    // Not the copy of this machine.
    let project = project.file("dist/agent.js", "export const graph = {};");
    assert_eq!(project.run("dockerfile -").code, 1);
    assert_eq!(project.run("dockerfile - --build-command make").code, 0);
    let misspelt = project.file("agent.json", config.replace("agent.js", "agnet.js"));
    let run = misspelt.run("dockerfile - --build-command make");
    assert!(run.err.contains("error[reference-not-found]"), "{}", run.err);
}

/// What is wrong there changes nothing that the command makes.
#[test]
fn errors_without_a_loss_fail_validate_and_are_warnings_elsewhere() {
    let image = ["dockerfile -", "plan"];
    let all = ["dockerfile -", "plan", "compose -"];
    let schemes = r#""auth": {"path": "./auth.py:auth", "openapi": {"securitySchemes": {}, "security": [{"key": []}]}}"#;
    let cases: [(&str, &str, &[&str], &[&str]); 6] = [
        ("unknown-security-scheme", schemes, &all, &[]),
        ("dependency-without-manifest", r#""dependencies": [".", "./empty"]"#, &all, &[]),
        ("duplicate-key", r#""env": {"A": "1"}, "env": {"A": "1"}"#, &all, &[]),
        ("duplicate-key", r#""env": {"A": "1"}, "env": {"A": "2"}"#, &[], &all),
        ("wrong-type", r#""env": 5"#, &image, &["compose -"]),
        // As in `validate`: the file is read where the user allows it.
        ("path-outside-project", r#""env": "../../../../../etc/hostname""#, &[], &all),
    ];
    let mut project = TestEnv::project()
        .file("auth.py", "from langgraph_sdk import Auth\n\nauth = Auth()\n")
        .file("empty/notes.txt", "");
    for (code, member, warned, stopped) in cases {
        let others = if member.contains("dependencies") { "" } else { r#""dependencies": ["."], "# };
        let text = format!("{{{others}{member}, \"graphs\": {{\"agent\": \"./agent.py:graph\"}}}}");
        project = project.file("agent.json", text);
        let run = project.run("validate");
        assert!(run.code == 1 && run.out.contains(&format!("error[{code}]")), "{code}: {}", run.out);
        for command in warned {
            let run = project.run(command);
            assert_eq!(run.code, 0, "{command}: {}", run.err);
            assert!(run.err.contains(&format!("warning[{code}]")), "{command}: {}", run.err);
        }
        for command in stopped {
            let run = project.run(command);
            assert_eq!(run.code, 1, "{command}: {}", run.err);
            assert!(run.err.contains(&format!("error[{code}]")), "{command}: {}", run.err);
        }
    }
}

#[test]
fn a_misspelt_key_fails_validate_and_stops_no_other_command() {
    let with = |key: &str, config: &str| {
        let text = config.replacen('{', &format!("{{\n  \"{key}\": \"3.12\","), 1);
        TestEnv::project().file("agent.json", text)
    };
    let project = with("pyton_version", VALID);
    assert_eq!(project.run("validate").code, 1);
    for command in ["dockerfile -", "plan", "compose -"] {
        let run = project.run(command);
        assert_eq!(run.code, 0, "{command}: {}", run.err);
        assert!(
            run.err.contains("warning[misspelt-key]: the configuration has no key `pyton_version`"),
            "{}",
            run.err
        );
        assert!(!run.out.contains("3.12"), "it has no effect: {}", run.out);
    }
    // Nothing can be compiled without a key that is needed.
    let needed = TestEnv::project().file("agent.json", VALID.replace("dependencies", "dependancies"));
    let run = needed.run("dockerfile -");
    assert_eq!(run.code, 1);
    assert!(run.err.contains("error[misspelt-key]"), "{}", run.err);
}

#[test]
fn reports_are_written_in_one_run() {
    for (config, code) in [(VALID, 0), ("{", 1)] {
        let project = TestEnv::project().file("agent.json", config);
        let run = project.run("validate --output sarif=a.sarif --output junit=b.xml --output text=c.txt");
        assert_eq!(run.code, code, "{}", run.err);
        assert_eq!(run.out, project.run("validate").out);
        for (format, file) in [("sarif", "a.sarif"), ("junit", "b.xml"), ("text", "c.txt")] {
            let alone = project.run(&format!("validate --format {format}"));
            assert_eq!(std::fs::read_to_string(project.path(file)).unwrap(), alone.out, "{format}");
        }
    }
    for (output, expected) in [
        ("sarif", "name the file, too: `sarif=FILE`"),
        ("sarif=", "name the file, too"),
        ("yaml=a", "`yaml` is no format; there are `text`, `json`, `sarif`, `github`, `gitlab` and `junit`"),
    ] {
        let run = TestEnv::project().run(&format!("validate --output {output}"));
        assert_eq!(run.code, 2, "{output}");
        assert!(run.err.contains(expected), "{}", run.err);
    }
    let run = TestEnv::project().run("validate --output sarif=absent/a.sarif");
    assert_eq!(run.code, 1);
    assert!(run.err.contains("cannot write") && run.err.contains("absent/a.sarif"), "{}", run.err);
}
