//! `agentcli completions`: the script of each shell.

#[cfg(feature = "system-tests")]
mod shells;

use crate::harness::TestEnv;
use crate::reports::pages::lists;

/// The names in the lists of commands of a help text.
fn subcommands(help: &str) -> Vec<&str> {
    let names =
        lists(help).flat_map(str::lines).filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn the_script_of_each_shell_names_every_command() {
    let env = TestEnv::empty();
    let mut names = subcommands(&env.run("--help").out).into_iter().map(str::to_owned).collect::<Vec<_>>();
    names.extend(subcommands(&env.run("deploy --help").out).into_iter().map(str::to_owned));
    assert!(names.len() > 20 && names.iter().any(|it| it == "logs"), "{names:?}");
    for shell in ["bash", "elvish", "fish", "nushell", "powershell", "zsh"] {
        let run = env.run(&format!("completions {shell}"));
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{shell}");
        for name in &names {
            assert!(run.out.contains(name), "{shell}: {name}");
        }
        assert!(run.out.contains("deny-warnings"), "{shell}");
        // The generators of the others leave out values.
        if !["elvish", "powershell"].contains(&shell) {
            assert!(run.out.contains("python-agent") && run.out.contains("sarif"), "{shell}");
        }
        assert!(!run.out.contains("guard"), "{shell}");
    }
}
