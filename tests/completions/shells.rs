//! Completion in real shells, on a terminal.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::harness::TestEnv;
use crate::terminal::Terminal;

/// Types `line`, a tab and a return into a shell in which `agentcli` prints its arguments, and expects `completed`.
fn completes(shell: &str, line: &str, completed: &str) {
    let home = TempDir::new().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("agent.json"), "").unwrap();
    fs::write(path("completions"), TestEnv::empty().run(&format!("completions {shell}")).out).unwrap();
    let (arguments, setup): (&[&str], &str) = match shell {
        "bash" => {
            (&["--norc", "--noprofile", "-i"], "bind 'set enable-bracketed-paste off'; . ./completions")
        }
        "zsh" => (&["-f", "-i"], "autoload -U compinit; compinit -u -d ./dump; . ./completions"),
        _ => (&["--no-config", "-i"], "source ./completions"),
    };
    // Its own words are never in what is typed, so that an echo is no answer.
    let program = "agentcli() { printf '<%s>' \"$@\"; echo; }";
    let program = if shell == "fish" { "function agentcli; printf '<%s>' $argv; echo; end" } else { program };
    // An interactive shell needs a terminal of its own session.
    let mut command = Command::new("setsid");
    command
        .args(["--ctty", shell])
        .args(arguments)
        .current_dir(home.path())
        .env("HOME", home.path())
        .env("TERM", "dumb");
    let mut terminal = Terminal::start(command);
    terminal.answer(setup);
    terminal.answer(program);
    terminal.answer("echo rea''dy");
    terminal.expect("ready");
    terminal.answer(&format!("{line}\t"));
    terminal.answer("exit");
    terminal.expect(completed);
}

#[test]
fn shells_complete_commands_options_and_values() {
    for shell in ["bash", "zsh", "fish"] {
        completes(shell, "agentcli deploy rol", "<deploy><rollback>");
        completes(shell, "agentcli new --templ", "<new><--template>");
        completes(shell, "agentcli deploy logs --level E", "<deploy><logs><--level><ERROR>");
        completes(shell, "agentcli validate --color alw", "<validate><--color><always>");
        // The generated script of fish completes values of options only.
        if shell != "fish" {
            completes(shell, "agentcli explain undefined-n", "<explain><undefined-name>");
        }
        completes(shell, "agentcli validate -c agent.j", "<validate><-c><agent.json>");
        completes(shell, "agentcli deploy logs --query agent.j", "<--query><agent.j>");
    }
}
