//! What holds for every command: colours, help, version, wrong usage.

use crate::harness::TestEnv;

#[test]
fn help_and_version_are_results() {
    let run = TestEnv::empty().run("--version");
    assert_eq!(run.code, 0);
    assert!(run.out.starts_with(concat!("agentcli ", env!("CARGO_PKG_VERSION"))), "{}", run.out);
    for arguments in ["--help", "-h", "validate --help", "explain -h", "schema --help"] {
        let run = TestEnv::empty().run(arguments);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{arguments}");
        assert!(run.out.contains("Usage: agentcli"), "{arguments}: {}", run.out);
        assert!(
            run.out.ends_with('\n') && run.out.lines().all(|line| line.chars().count() <= 100),
            "{}",
            run.out
        );
    }
}

#[test]
fn help_is_a_command_too() {
    for (command, option) in
        [("help", "--help"), ("help build", "build --help"), ("help deploy logs", "deploy logs --help")]
    {
        let [by_command, by_option] = [command, option].map(|arguments| TestEnv::empty().run(arguments));
        assert_eq!((by_command.code, by_command.out), (0, by_option.out), "{command}");
    }
    let all = TestEnv::empty().run("help").out;
    for heading in ["Start:\n  init ", "\nShip:\n  lock ", "\nFiles:\n  dockerfile ", "\nServices:\n  host "]
    {
        assert!(all.contains(heading), "{all}");
    }
    assert!(!all.contains("guard"), "{all}");
}

/// Commands whose own business is another leave them to the long help.
#[test]
fn options_of_builds_are_one_group() {
    for command in ["build", "up", "deploy", "dockerfile", "compose", "plan", "manifests"] {
        let [short, long] =
            ["-h", "--help"].map(|help| TestEnv::empty().run(&format!("{command} {help}")).out);
        assert_eq!(long.matches("\nBuild options:\n").count(), 1, "{command}: {long}");
        assert_eq!(short.contains("Build options"), command == "build", "{command}: {short}");
    }
}

#[test]
fn wrong_usage_has_its_own_exit_code() {
    for (arguments, expected) in [
        ("", "Usage: agentcli"),
        ("valdate", "a similar subcommand exists: 'validate'"),
        ("validate --fromat json", "a similar argument exists: '--format'"),
        ("validate --format yaml", "possible values: text, json, sarif, github, gitlab, junit"),
        ("validate a.json --config b.json", "cannot be used with"),
        ("explain no-such", "unknown code or key `no-such`"),
        ("check", "tip: `agentcli validate` checks the configuration"),
        ("run", "tip: `agentcli dev` runs the server"),
        ("logs --follow", "tip: `agentcli deploy logs`"),
        ("up -d", "tip: `agentcli up --wait` leaves it running"),
        ("up --detach", "tip: `agentcli up --wait` leaves it running"),
        ("up --build", "tip: `up` builds the image"),
        ("dev --reload", "tip: `dev` restarts on changes by itself"),
        ("help nothing", "unrecognized subcommand 'nothing'"),
    ] {
        let run = TestEnv::empty().run(arguments);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{arguments}");
        assert!(run.err.contains(expected), "{arguments}: {}", run.err);
    }
}

#[test]
fn colours_follow_the_terminal_the_environment_and_the_option() {
    let plain = || TestEnv::empty();
    let terminal = || TestEnv::empty().at_a_terminal();
    for (env, arguments, coloured) in [
        (plain(), "validate", false),
        (terminal(), "validate", true),
        (terminal().variable("NO_COLOR", "1"), "validate", false),
        (terminal().variable("NO_COLOR", ""), "validate", true),
        (terminal().variable("NO_COLOR", "1"), "validate --color always", true),
        (terminal().variable("TERM", "dumb"), "validate", false),
        (terminal().variable("CLICOLOR", "0"), "validate", false),
        (plain().variable("CLICOLOR_FORCE", "1"), "validate", true),
        (plain().variable("CLICOLOR_FORCE", "0"), "validate", false),
        (plain().variable("CLICOLOR_FORCE", "1").variable("NO_COLOR", "1"), "validate", false),
        (plain(), "--color=always validate", true),
        (terminal(), "validate --color never", false),
    ] {
        let run = env.run(arguments);
        assert_eq!(run.out.contains('\u{1b}'), coloured, "{arguments}: {}", run.out);
        assert_eq!(run.err.contains('\u{1b}'), coloured, "{arguments}: {}", run.err);
    }
    assert!(plain().run("--color always nonsense").err.contains('\u{1b}'));
    assert!(!terminal().run("--color never nonsense").err.contains('\u{1b}'));
}

#[test]
fn wrong_settings_of_a_build_are_found_before_it() {
    let project = || TestEnv::project().file("large", vec![b'x'; 600 * 1024]);
    for (option, expected) in [
        ("--build-arg=1A=x", "--build-arg: `1A` is not the name of an argument"),
        ("--build-arg==x", "--build-arg: `` is not the name of an argument"),
        ("--secret=src=x", "--secret `src=x`: it has no ID"),
        ("--secret=id=x,mode=1", "`mode=1` is not a field of a secret"),
        ("--secret=id=x,src=nowhere", "cannot read the secret `x` from `nowhere`: no such file or directory"),
        (
            "--secret=id=x,env=NOT_SET",
            "cannot read the secret `x` from the variable `NOT_SET`: it is not set",
        ),
        ("--secret=id=x,src=large", "it is larger than 500 KiB"),
        ("--ssh=default", "SSH_AUTH_SOCK is not set"),
        ("--ssh=default=agent.json", "`agent.json` is not the socket of an SSH agent"),
        ("--label==x", "--label `=x` has no name"),
        ("--add-host=db", "--add-host: `db` is not a host name and an IP address"),
        ("--add-host=db:10.0.0", "--add-host: `db:10.0.0` is not a host name and an IP address"),
        ("--network=bridge", "possible values: default, host, none"),
    ] {
        let run = project().run_with(&["build", "-t", "x", option]);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{option}: {}", run.err);
        assert!(run.err.contains(expected), "{option}: {}", run.err);
    }
    let env = project().variable("DOCKER_HOST", "unix:///nowhere/engine.sock");
    let run = env.run("build -t x --build-arg UNUSED=1");
    assert!(run.err.contains("--build-arg UNUSED has no effect without `ARG UNUSED`"), "{}", run.err);
    for arguments in ["up --image x --label a=b", "deploy --name x --remote --label a=b"] {
        let env = project().variable("AGENT_HOST_URL", "http://127.0.0.1:1");
        let run = env.variable("AGENT_HOST_API_KEY", "x").run(arguments);
        assert!(run.err.contains("are for images that are built here"), "{arguments}: {}", run.err);
    }
}

#[test]
fn an_option_selects_the_version_of_the_server() {
    let run = TestEnv::project().run("dockerfile - --api-version 0.8");
    assert!(run.out.contains("FROM langchain/langgraph-api:0.8-py3.11"), "{}", run.out);
    let run = TestEnv::project().run("dockerfile - --api-version latest");
    assert_eq!((run.code, run.out.as_str()), (2, ""), "{}", run.err);
    assert!(run.err.contains("it is not a version of the server"), "{}", run.err);
    for option in ["--base-image x:1", "--api-version 0.8"] {
        let run = TestEnv::project().run(&format!("deploy --remote {option}"));
        assert!(run.code == 2 && run.err.contains("cannot be used with"), "{option}: {}", run.err);
    }
}

/// What an option says is checked like what the configuration says; the key that it replaces is not checked.
#[test]
fn options_are_checked_like_the_keys_that_they_replace() {
    let manifest = "[build-system]\nrequires = ['hatchling']\n[project]\nname = 'agent'\nversion = '1'\n\
                    requires-python = '>=3.13'\n[tool.hatch.build.targets.wheel]\nbypass-selection = true\n";
    let run = |arguments: &str| {
        TestEnv::project().file("pyproject.toml", manifest).run(&format!("dockerfile - {arguments}"))
    };
    let by_default = run("");
    assert!(
        by_default.code == 1 && by_default.err.contains("error[incompatible-python]"),
        "{}",
        by_default.err
    );
    for fitting in ["--base-image mine:1", "--base-image mine:1-py3.13"] {
        let fits = run(fitting);
        assert!(fits.code == 0 && fits.err.is_empty(), "{fitting}: {}", fits.err);
    }
    let older = run("--base-image mine:1-py3.12");
    assert_eq!(older.code, 1, "{}", older.err);
    let message = "error[incompatible-python]: `base_image` selects Python 3.12, but `./pyproject.toml`";
    assert!(older.err.starts_with(message) && older.err.contains(" --> --base-image\n"), "{}", older.err);

    let unused = TestEnv::project().run("dockerfile - --base-image x:1 --api-version 0.8");
    assert_eq!(unused.code, 0, "{}", unused.err);
    let message = "warning[no-effect-on-image]: `api_version` does not change the image: `base_image`";
    assert!(unused.err.starts_with(message) && unused.err.contains(" --> --api-version\n"), "{}", unused.err);

    let text = r#"{"dependencies": ["."], "graphs": {"a": "./agent.py:graph"}, "api_version": 8, "base_image": "a b"}"#;
    let run =
        |options: &str| TestEnv::project().file("agent.json", text).run(&format!("dockerfile - {options}"));
    assert_eq!(run("").code, 1);
    let replaced = run("--base-image mine --api-version 0.8");
    assert!(replaced.code == 0 && replaced.err.is_empty(), "{}", replaced.err);
    assert!(replaced.out.contains("FROM mine:0.8-py3.11"), "{}", replaced.out);
}

#[test]
fn check_shows_the_first_line_that_differs() {
    let env = TestEnv::project();
    assert_eq!(env.run("dockerfile Dockerfile").code, 0);
    let stale = |arguments: &str| {
        let run = env.run(&format!("dockerfile --check Dockerfile {arguments}"));
        assert_eq!(run.code, 1, "{}", run.err);
        run.err
    };
    let start = "error: `Dockerfile` is out of date at line ";
    let other = stale("--base-image mine:1-py3.12");
    assert!(other.starts_with(start) && other.contains(":\n  + FROM mine:1-py3.12"), "{other}");
    let older = stale("--api-version 0.8");
    assert!(older.starts_with(start) && older.contains("  + FROM langchain/langgraph-api:0.8"), "{older}");

    let write = |text: &str| std::fs::write(env.path("Dockerfile"), text).unwrap();
    let text = std::fs::read_to_string(env.path("Dockerfile")).unwrap();
    write(&text.replace("FROM ", "# password=hunter2\nFROM "));
    let edited = stale("");
    assert!(edited.contains("  + FROM ") && !edited.contains("hunter2"), "{edited}");
    write(&format!("{text}RUN true\n"));
    assert!(stale("").contains(", where it would end"), "{}", stale(""));
    write(text.trim_end());
    let last = text.lines().last().unwrap();
    assert!(stale("").contains(&format!("  + {last}\n")), "{}", stale(""));
    write("FROM scratch\n");
    assert!(stale("").contains("was not written by agentcli"), "{}", stale(""));
}

/// A formatted configuration is the same one.
#[test]
fn what_does_not_change_a_file_leaves_it_up_to_date() {
    let env = TestEnv::project();
    assert_eq!(env.run("dockerfile Dockerfile").code, 0);
    let text = std::fs::read_to_string(env.path("agent.json")).unwrap();
    std::fs::write(env.path("agent.json"), text.replacen('{', "{\n\n", 1)).unwrap();
    let run = env.run("dockerfile --check Dockerfile");
    assert_eq!(run.code, 0, "{}", run.err);
}

#[test]
fn the_files_of_a_server_are_written_beside_the_dockerfile_that_copies_them() {
    let env = TestEnv::project().file("taken/Dockerfile.server/notes.txt", "").file("deploy/a.txt", "");
    let run = env.run("dockerfile deploy/Dockerfile --server pg");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.starts_with("DOCKER_BUILDKIT=1 docker build -f deploy/Dockerfile -t "), "{}", run.out);
    assert!(run.err.ends_with("wrote deploy/Dockerfile.server\n"), "{}", run.err);
    let text = std::fs::read_to_string(env.path("deploy/Dockerfile")).unwrap();
    assert!(text.contains("\nCOPY deploy/Dockerfile.server/ /api/\n"), "{text}");
    assert_eq!(env.run("dockerfile deploy/Dockerfile --server pg --check").code, 0);

    let migrate = env.path("deploy/Dockerfile.server/migrate.py");
    std::fs::write(&migrate, "# edited\n").unwrap();
    let stale = env.run("dockerfile deploy/Dockerfile --server pg --check");
    assert!(
        stale.code == 1 && stale.err.contains("`deploy/Dockerfile.server/migrate.py` is out of date"),
        "{}",
        stale.err
    );
    assert_eq!(env.run("dockerfile deploy/Dockerfile --server pg").code, 0);
    assert_ne!(std::fs::read_to_string(&migrate).unwrap(), "# edited\n");
    std::fs::remove_file(&migrate).unwrap();
    let stale = env.run("dockerfile deploy/Dockerfile --server pg --check");
    assert!(
        stale.code == 1 && stale.err.contains("`deploy/Dockerfile.server/migrate.py` does not exist"),
        "{}",
        stale.err
    );

    let taken = env.run("dockerfile taken/Dockerfile --server memory");
    assert!(
        taken.code == 2
            && taken.err.contains("`taken/Dockerfile.server` is there and was not written by agentcli")
    );
    assert!(!env.path("taken/Dockerfile").exists());
    let outside = env.run("dockerfile ../Dockerfile --server memory");
    assert!(outside.code == 2 && outside.err.contains("outside of the build context"), "{}", outside.err);

    let printed = env.run("dockerfile - --server memory");
    let note = "copies `Dockerfile.server/`; `agentcli dockerfile Dockerfile` writes both";
    assert!(printed.code == 0 && printed.err.contains(note), "{}", printed.err);
    assert!(!env.path("Dockerfile.server").exists());
    assert_eq!(env.run("compose compose.yaml --server memory").code, 0);
    assert!(env.path("Dockerfile.server/serve.py").is_file());
}

#[test]
fn options_of_the_existing_tool_are_accepted_or_refused_with_the_reason() {
    let project = TestEnv::project();
    assert_eq!(project.run("dockerfile - --engine-runtime-mode combined_queue_worker").code, 0);
    for command in ["build -t a", "up", "dockerfile -"] {
        let run = project.run(&format!("{command} --engine-runtime-mode distributed"));
        assert_eq!(run.code, 2, "{command}");
        assert!(run.err.contains("the queue runs in the server's container"), "{command}: {}", run.err);
    }
    let run = project.run("deploy --no-input --host-url http://127.0.0.1:1 --name a");
    assert!(!run.err.contains("unexpected argument"), "{}", run.err);
}
