use crate::compiler::front::check::tests::{said, table};

const FILES: &[(&str, &str)] = &[
    ("src/app/graph.py", "from x import *\n"),
    ("src/app/tools.py", "def make_tool(): ...\nother = 1\n"),
    ("src/app/__init__.py", "flag = 1\n"),
    ("lib/pyproject.toml", "[project]\nname='lib'\n"),
    ("lib/lib/agent.py", "agent = 1\n"),
    ("libs/flat/__init__.py", "graph = 1\n"),
    ("../shared/pyproject.toml", "[project]\nname='shared'\n"),
    ("../shared/graph.py", "graph = 1\n"),
    ("../shared/graph.ts", "export const graph = 1\n"),
    ("note.ipynb", "{}"),
    ("ui.tsx", "export default {};"),
    ("ui.css", ""),
    ("noname.py", "_x = 1"),
];

#[test]
fn references() {
    table(
        &[
            (r#"{"graphs":{"a":"./agent.py:graph","b":"agent.py:make","c":"./src/app/graph.py:any"}}"#, &[]),
            (r#"{"graphs":{"a":{"path":"./agent.py:grpah"}}}"#, &["undefined-name: grpah"]),
            (r#"{"graphs":{"a":"./agent.py"}}"#, &["malformed-reference: ./agent.py"]),
            (r#"{"graphs":{"a":"./agnet.py:graph"}}"#, &["reference-not-found: ./agnet.py"]),
            (r#"{"graphs":{"a":"./src/app:graph"}}"#, &["reference-not-found: ./src/app"]),
            (r#"{"graphs":{"a":"./note.ipynb:graph"}}"#, &["unsupported-file-type: ./note.ipynb"]),
            (r#"{"graphs":{"a":"./agent.ts:graph"}}"#, &[]),
            (r#"{"graphs":{"a":"./agent.ts:hidden"}}"#, &["undefined-name: hidden"]),
            (r#"{"graphs":{"a":"./agent.ts:default"}}"#, &["undefined-name: default"]),
            (r#"{"auth":{"path":"./agent.py:auth"}}"#, &["undefined-name: auth"]),
            (r#"{"priority":{"path":"./agent.ts:graph"}}"#, &["unsupported-file-type: ./agent.ts"]),
            (r#"{"ui":{"a":"./ui.tsx"}}"#, &[]),
            (r#"{"ui":{"a":"./ui.css"}}"#, &["unsupported-file-type: ./ui.css"]),
            (r#"{"ui":{"a":"./iu.tsx"}}"#, &["reference-not-found: ./iu.tsx"]),
            (r#"{"store":{"index":{"embed":"./agent.py:embed","dims":3}}}"#, &["undefined-name: embed"]),
        ],
        FILES,
    );
}

#[test]
fn dependencies_hold_the_files() {
    table(
        &[
            (r#"{"dependencies":["./lib"]}"#, &["reference-outside-dependencies: ./agent.py"]),
            (
                r#"{"graphs":{"a":"../shared/graph.py:graph"}}"#,
                &["reference-outside-dependencies: ../shared/graph.py"],
            ),
            (
                r#"{"graphs":{"a":"../shared/graph.ts:graph"}}"#,
                &["reference-outside-dependencies: ../shared/graph.ts"],
            ),
            (r#"{"dependencies":["../shared"],"graphs":{"a":"../shared/graph.py:graph"}}"#, &[]),
            (r#"{"dependencies":[],"graphs":{"a":"./agent.ts:graph"}}"#, &[]),
            // One mistake, one finding.
            (
                r#"{"dependencies":["./gone"],"graphs":{"a":"./gone/agent.py:graph"}}"#,
                &[r#"dependency-not-found: "./gone""#],
            ),
            (r#"{"dependencies":["pyproject.toml"]}"#, &[r#"dependency-is-file: "pyproject.toml""#]),
            (r#"{"dependencies":[]}"#, &["no-dependencies: []"]),
        ],
        FILES,
    );
    assert!(said(r#"{"dependencies":["./lib"]}"#, FILES).contains("add `\".\"`"));
    assert!(said(r#"{"graphs":{"a":"../shared/graph.py:graph"}}"#, FILES).contains("add `\"../shared\"`"));
}

#[test]
fn modules() {
    table(
        &[
            (r#"{"graphs":{"a":"app.tools:other","b":"app:flag","c":"app:tools","d":"else.where:x"}}"#, &[]),
            (r#"{"graphs":{"a":"app.tools:make_tol"}}"#, &["undefined-name: make_tol"]),
            (r#"{"dependencies":["./libs/flat"],"graphs":{"a":"flat:grahp"}}"#, &["undefined-name: grahp"]),
            (r#"{"dependencies":["./libs/flat"],"graphs":{"a":"flat:graph"}}"#, &[]),
        ],
        FILES,
    );
}

#[test]
fn help() {
    for (reference, help) in [
        ("./agnet.py:graph", "`./agent.py`"),
        ("./src/ap/tools.py:x", "`./src/app/tools.py`"),
        ("./src/app/tools.ts:x", "`./src/app/tools.py`"),
        ("./src/app/tools:x", "`./src/app/tools.py`"),
        ("./app/tools.py:x", "`./src/app/tools.py`"),
        ("./project/agent.py:x", "`./agent.py`"),
        ("./src/app:flag", "`./src/app/__init__.py`"),
        ("./src/app/tools.py:make_tol", "`make_tool`"),
        ("./src/app/tools.py:quux", "`make_tool` and `other`"),
        ("./agent.ts:hidden", "add `export`"),
        ("./agent.py", "`./agent.py:graph`"),
        ("./noname.py:quux", "define it there"),
    ] {
        let config = serde_json::json!({"graphs": {"a": reference}}).to_string();
        let said = said(&config, FILES);
        assert!(said.contains(help), "{reference}: {said}");
    }
}
