//! The pages in real readers.

use std::process::Command;

use super::pages;
use crate::harness::TestEnv;

#[test]
fn man_and_mandoc_accept_every_page() {
    let env = TestEnv::empty();
    let pages = pages(&env);
    assert!(pages.len() > 20);
    for (name, _) in pages {
        let path = env.path("share/man/man1").join(&name);
        let lint = Command::new("mandoc").args(["-Tlint", "-Werror"]).arg(&path).output().unwrap();
        assert_eq!(String::from_utf8(lint.stdout).unwrap(), "", "{name}");
        let man = Command::new("man").args(["--warnings", "-E", "UTF-8", "-l"]).arg(&path).output().unwrap();
        let said = String::from_utf8(man.stderr).unwrap();
        assert!(man.status.success() && said.is_empty(), "{name}: {said}");
        assert!(String::from_utf8(man.stdout).unwrap().contains("SYNOPSIS"), "{name}");
    }
}
