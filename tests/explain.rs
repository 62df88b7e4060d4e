//! `agentcli explain` and `agentcli schema`.

use agentcli::cli::rules;
use agentcli::compiler::front::schema;

use crate::harness::TestEnv;

#[test]
fn one_code_is_explained() {
    let run = TestEnv::empty().run("explain trailing-comma");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert_eq!(
        run.out,
        "error[trailing-comma]: trailing comma\n\n\
         JSON, unlike JavaScript and Python, does not allow a comma before a closing bracket.\n\n\
         Wrong:\n\n    { \"dependencies\": [\".\"], }\n\n\
         Right:\n\n    { \"dependencies\": [\".\"] }\n"
    );
    assert_eq!(TestEnv::empty().run("explain error[trailing-comma]").out, run.out);
    assert_eq!(TestEnv::empty().run("explain Trailing-Comma").out, run.out);
}

#[test]
fn every_code_is_explained_and_listed() {
    let list = TestEnv::empty().run("explain").out;
    let page = TestEnv::empty().run("explain --format markdown").out;
    assert_eq!(list.lines().count(), rules().len());
    for rule in rules() {
        assert!(list.contains(rule.code) && page.contains(&format!("\n## {}\n", rule.code)), "{}", rule.code);
        let run = TestEnv::empty().run(&format!("explain {}", rule.code));
        assert!(run.code == 0 && run.out.contains(rule.summary), "{}", rule.code);
    }
}

#[test]
fn codes_are_well_formed_and_unique() {
    let codes: Vec<&str> = rules().iter().map(|rule| rule.code).collect();
    assert!(codes.windows(2).all(|pair| pair[0] < pair[1]), "{codes:?}");
    assert!(
        codes
            .iter()
            .all(|code| code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'))
    );
}

#[test]
fn an_unknown_code_is_wrong_usage() {
    let run = TestEnv::empty().run("explain traling-comma");
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    assert_eq!(run.err, "error: there is no code `traling-comma`\nhint: did you mean `trailing-comma`?\n");
    let run = TestEnv::empty().run("explain x");
    assert_eq!(run.err, "error: there is no code `x`\nhint: `agentcli explain` lists every code\n");
}

#[test]
fn schema_prints_the_published_schema() {
    assert_eq!(TestEnv::empty().run("schema").out, schema::TEXT);
}
