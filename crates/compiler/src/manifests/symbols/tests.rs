use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::manifests::setup_py::setup_call;

const ALL: [Language; 4] = [Language::Python, Language::JavaScript, Language::TypeScript, Language::Tsx];

#[test]
fn languages_have_extensions() {
    for (path, expected) in [
        ("src/agent.py", Some(Language::Python)),
        ("./a.js", Some(Language::JavaScript)),
        ("a.mjs", Some(Language::JavaScript)),
        ("a.cjs", Some(Language::JavaScript)),
        ("a.jsx", Some(Language::JavaScript)),
        ("a.d.ts", Some(Language::TypeScript)),
        ("a.mts", Some(Language::TypeScript)),
        ("a.cts", Some(Language::TypeScript)),
        ("a.b.tsx", Some(Language::Tsx)),
        ("a.pyc", None),
        ("py", None),
        (".py", None),
        ("a.py/b", None),
        ("", None),
    ] {
        assert_eq!(Language::of(path), expected, "{path}");
    }
}

#[test]
fn deep_nesting_is_safe() {
    for open in [
        "(",
        "[",
        "{",
        "{a:",
        "a=",
        "exports=",
        "f(x=>",
        "f(function(){",
        "if x:\n ",
        "-",
        "not ",
        "a.b(",
        "a.",
        "case [",
        "`${",
        "f'{",
        "a?b:",
        "a?",
        "a?(b)=>c:",
        "a?(b):",
        "x=>",
        "async (",
        "(x=",
        "if(a)",
        "if(a){}else ",
        "do ",
        "a:",
        "class A extends ",
        "class A{a(){",
        "new ",
        "typeof ",
        "await ",
        "let x:A<",
        "let x:(",
        "let x:keyof ",
        "let{a:",
        "<a>",
        "<a b={",
        "<T,>(",
        "a<",
        "a**",
        "a+",
        "a||",
        "a and ",
        "lambda:",
        "x if y else ",
        "@a ",
        "namespace a{",
        "type A<T extends ",
        "let x:a extends b?c:",
        "(a:(",
        "switch(a){case ",
        "try{",
        "for(;;)",
        "enum a{b=",
    ] {
        for language in ALL {
            let started = std::time::Instant::now();
            define(language, &open.repeat(4_000), "graph");
            define(language, &format!("{}graph", open.repeat(4_000)), "");
            assert!(started.elapsed().as_secs() < 5, "{language:?}: {open}");
        }
    }
    assert_eq!(define(Language::Python, "", ""), Definition::Missing { names: vec![] });
}

/// One way to bind `NAME`, by language.
fn bindings(language: Language) -> &'static [&'static str] {
    match language {
        Language::Python => &[
            "NAME = 1",
            "NAME: int = (1 +\n  2)",
            "def NAME(x):\n    y = x",
            "@x\nclass NAME:\n    z = 1",
            "from m import (q as NAME)",
            "if x:\n    pass\nelse:\n    NAME = 'if TYPE_CHECKING:'",
        ],
        _ => &[
            "export const NAME = 1;",
            "export function NAME() { const y = 1 }",
            "const { a_NAME: [NAME] } = x; export { NAME };",
            "export { y as NAME } from './y';",
            "export class NAME {}",
            "export let NAME = `${1}`;",
        ],
    }
}

fn module() -> impl Strategy<Value = (Language, BTreeMap<String, usize>)> {
    let bound = prop::collection::btree_map("v_[a-z]{1,6}", 0..6usize, 0..12);
    (prop::sample::select(&ALL[..]), bound)
}

proptest! {
    #[test]
    fn no_text_and_no_name_panics(text in "\\PC{0,200}", name in "\\PC{0,20}") {
        for language in ALL {
            define(language, &text, &name);
        }
        setup_call(&text);
    }

    #[test]
    fn no_mix_of_tokens_panics(
        tokens in prop::collection::vec(prop::sample::select(&[
            "export", "default", "type", "{", "}", "(", ")", "[", "]", "*", "as", "from", "'a'", "=", ":", ",",
            ";", "graph", "exports", "module", ".", "\n", "\n  ", "\r", "def", "class", "if", "TYPE_CHECKING",
            "import", "case", "match", "del", "global", "lambda", "with", "setup", "\u{0}", "é", "`", "\"\"\"",
            "\\", "const", "declare", "namespace", "enum", "async", "for", "in", ":=", "**", "@", "<", ">", "...",
        ][..]), 0..40),
    ) {
        let text = tokens.join(" ");
        for language in ALL {
            define(language, &text, "graph");
        }
        setup_call(&text);
    }

    #[test]
    fn exactly_the_bound_names_are_defined((language, bound) in module()) {
        let lines = bound.iter().map(|(name, way)| bindings(language)[*way].replace("NAME", name));
        let text = lines.collect::<Vec<_>>().join("\n");
        for name in bound.keys() {
            prop_assert_eq!(define(language, &text, name), Definition::Defined);
        }
        let distinct: BTreeSet<_> = bound.into_keys().collect();
        match define(language, &text, "absent") {
            Definition::Missing { names } => prop_assert_eq!(BTreeSet::from_iter(names), distinct),
            other => prop_assert!(false, "{:?}: {}", other, text),
        }
    }
}
