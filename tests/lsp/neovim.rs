//! The language server in Neovim, set up as docs/guides/editors.md says.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::harness::{TestEnv, VALID};
use crate::house::text;

/// The first configuration of the page is for Neovim 0.11 and later, the second for earlier versions such as that of
/// Debian 12.
fn init() -> String {
    let page = text(Path::new("docs/guides/editors.md"));
    let blocks: Vec<&str> =
        page.split("```lua\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect();
    let [new, old] = blocks[..] else { panic!("{} configurations", blocks.len()) };
    format!("if vim.fn.has('nvim-0.11') == 1 then\n{new}\nelse\n{old}\nend\n")
}

#[test]
fn a_fix_is_applied_and_saved() {
    let project =
        TestEnv::project().file("agent.json", VALID.replace(":graph", ":grahp")).file("init.lua", init());
    let directory = Path::new(crate::harness::program()).parent().unwrap();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([directory.to_owned()].into_iter().chain(env::split_paths(&path))).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lsp/neovim.lua");
    let output = Command::new("nvim")
        .args(["--headless", "-i", "NONE", "-u", "init.lua", "agent.json", "-c"])
        .arg(format!("luafile {}", script.display()))
        .current_dir(project.path(""))
        .env("PATH", path)
        .env("HOME", project.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let finding = "agentcli:3:36: `./agent.py` does not define `grahp`";
    assert!(said.contains(finding), "{said}");
    assert_eq!(fs::read_to_string(project.path("agent.json")).unwrap(), VALID);
}
