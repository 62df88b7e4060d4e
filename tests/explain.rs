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
        assert!(run.code == 0 && run.out.contains(rule.summary()), "{}", rule.code);
    }
}

#[test]
fn a_code_that_is_not_reported_any_more_says_why() {
    for code in ["invalid-server-variable", "warning[module-not-in-version]"] {
        let run = TestEnv::empty().run(&format!("explain {code}"));
        assert!(run.code == 0 && run.out.contains("` is not reported any more. "), "{code}: {}", run.out);
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
    assert_eq!(run.err, "error: unknown code or key `traling-comma`\nhint: did you mean `trailing-comma`?\n");
    let run = TestEnv::empty().run("explain htp.cors");
    assert!(run.err.ends_with("hint: did you mean `http.cors`?\n"), "{}", run.err);
    let run = TestEnv::empty().run("explain xyzzy");
    assert!(run.err.contains("agentcli explain --keys"), "{}", run.err);
}

#[test]
fn schema_prints_the_published_schema() {
    assert_eq!(TestEnv::empty().run("schema").out, schema::TEXT);
}

#[test]
fn every_key_is_listed_and_explained() {
    let keys = TestEnv::empty().run("explain --keys").out;
    assert!(keys.lines().count() > 100, "{keys}");
    for key in keys.lines() {
        let run = TestEnv::empty().run(&format!("explain {key}"));
        assert!(run.code == 0 && run.out.starts_with(key), "{key}: {}{}", run.out, run.err);
    }
}

#[test]
fn a_key_is_explained_with_its_form_and_variable() {
    let run = TestEnv::empty().run("explain store.path");
    for part in
        ["Custom store factory", "`<file>:<name>` or `<module>.<name>`", r#""path": "./store.py:make_store""#]
    {
        assert!(run.out.contains(part), "{}", run.out);
    }
    assert!(TestEnv::empty().run("explain http").out.contains("Variable: `LANGGRAPH_HTTP`"));
}
