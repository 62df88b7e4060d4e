//! The manual pages that packages contain.

#[cfg(feature = "system-tests")]
mod pages;

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
