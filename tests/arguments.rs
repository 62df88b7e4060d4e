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
fn wrong_usage_has_its_own_exit_code() {
    for (arguments, expected) in [
        ("", "Usage: agentcli"),
        ("valdate", "a similar subcommand exists: 'validate'"),
        ("validate --fromat json", "a similar argument exists: '--format'"),
        ("validate --format yaml", "possible values: text, json, sarif, github"),
        ("validate a.json --config b.json", "cannot be used with"),
        ("explain no-such", "unknown code or key `no-such`"),
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
