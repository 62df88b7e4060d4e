//! The manual pages that packages contain.

use std::fs;

use crate::harness::TestEnv;

/// The name and the text of each page.
fn pages(env: &TestEnv) -> Vec<(String, String)> {
    let run = env.run("package-files share");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let files = fs::read_dir(env.path("share/man/man1")).unwrap().map(Result::unwrap);
    let page = |file: fs::DirEntry| {
        (file.file_name().into_string().unwrap(), fs::read_to_string(file.path()).unwrap())
    };
    files.map(page).collect()
}

#[test]
fn each_command_has_a_page_with_its_help() {
    let pages = pages(&TestEnv::empty());
    let page =
        |name: &str| pages.iter().find(|(file, _)| file == name).map(|(_, text)| text.as_str()).unwrap();
    let text = page("agentcli.1").replace('\\', "");
    for command in ["agentcli-new(1)", "agentcli-validate(1)", "agentcli-deploy(1)"] {
        assert!(text.contains(command), "{command}: {text}");
    }
    let logs = page("agentcli-deploy-logs.1").replace('\\', "");
    assert!(
        logs.contains("Show the logs of a deployment or of a build") && logs.contains("--follow"),
        "{logs}"
    );
    for (name, text) in &pages {
        let is_whole = [".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS"].iter().all(|it| text.contains(it));
        assert!(is_whole && !name.contains("guard") && !name.contains("package-files"), "{name}: {text}");
    }
}

#[cfg(feature = "system-tests")]
#[test]
fn man_and_mandoc_accept_every_page() {
    use std::process::Command;

    let env = TestEnv::empty();
    let pages = pages(&env);
    assert!(pages.len() > 20);
    for (name, _) in pages {
        let path = env.path("share/man/man1").join(&name);
        let lint = Command::new("mandoc").args(["-Tlint", "-Werror"]).arg(&path).output().unwrap();
        let text = String::from_utf8(lint.stdout).unwrap();
        assert_eq!(text, "", "{name}");
        let mut man = Command::new("man");
        let shown =
            man.args(["--warnings", "-E", "ascii", "-l"]).arg(&path).env("MANWIDTH", "80").output().unwrap();
        let said = String::from_utf8(shown.stderr).unwrap();
        assert!(shown.status.success() && said.is_empty(), "{name}: {said}");
    }
}
