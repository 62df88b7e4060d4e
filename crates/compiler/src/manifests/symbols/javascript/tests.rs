use crate::manifests::symbols::Definition::{self, Defined, NotExported, Unknown};
use crate::manifests::symbols::{Kind, Language, Module, define};

const ALL: [Language; 3] = [Language::JavaScript, Language::TypeScript, Language::Tsx];

fn missing(names: &[&str]) -> Definition {
    Definition::Missing { names: names.iter().map(|name| (*name).to_owned()).collect() }
}

#[test]
fn these_export_graph_in_every_dialect() {
    for text in [
        "export const graph = 1",
        "\u{feff}#!/usr/bin/env node\r\nexport let graph",
        "// comment\rexport var a, graph",
        "export const { graph } = x",
        "export const { a: graph } = x, b = 1",
        "export const { a: { b: [graph = 1] = [] } } = x",
        "export const { graph = 1 } = x",
        "export const { a, ...graph } = x",
        "export const [, graph] = x",
        "export const [a, ...graph] = x",
        "export function graph() {}",
        "export async function graph() {}",
        "export function* graph() {}",
        "export class graph extends A {}",
        "const graph = 1; export { graph }",
        "const a = 1; export { a as graph, }",
        "const a = 1; export { a as 'graph' }",
        "import { graph } from './a'; export { graph }",
        "export { graph } from './a'",
        "export { default as graph } from './a'",
        "export * as graph from './a'",
        "export const graph = <T,>(a) => a;\n",
        "export * from './a'; export const graph = 1",
    ] {
        for language in ALL {
            // Only TypeScript has generic arrow functions.
            if !(text.contains("<T,>") && language == Language::JavaScript) {
                assert_eq!(define(language, text, "graph"), Defined, "{language:?}: {text}");
            }
        }
    }
}

#[test]
fn these_export_a_default_in_every_dialect() {
    for text in [
        "export default graph",
        "export default { graph }",
        "export default class {}",
        "export default class Graph {}",
        "export default function () {}",
        "export default async () => 1",
        "const a = 1; export { a as default }",
        "export { default } from './a'",
        "export * as default from './a'",
    ] {
        for language in ALL {
            assert_eq!(define(language, text, "default"), Defined, "{language:?}: {text}");
        }
    }
}

#[test]
fn these_do_not_export_graph() {
    for (text, expected) in [
        ("", missing(&[])),
        ("graph()", missing(&[])),
        ("'export const graph = 1'", missing(&[])),
        ("// export const graph = 1\nexport const a = `export const graph = 1`", missing(&["a"])),
        ("export function f() { const graph = 1 }", missing(&["f"])),
        ("export const { graph: a } = x", missing(&["a"])),
        ("export const { a = graph } = x", missing(&["a"])),
        ("export const { [graph]: a } = x", missing(&["a"])),
        ("export const a = graph, b = { graph }", missing(&["a", "b"])),
        ("export { graph as a } from './a'", missing(&["a"])),
        ("export default 1; export let b", missing(&["default", "b"])),
        ("const graph = 1", NotExported),
        ("const { a: [graph] } = x; export { a }", NotExported),
        ("function graph() {}\nexport default graph", NotExported),
        ("class graph {}", NotExported),
        ("export default class graph {}", NotExported),
        ("export default function graph() {}", NotExported),
        ("import graph from './a'", NotExported),
        ("import * as graph from './a'", NotExported),
        ("import { a as graph } from './a'", NotExported),
        ("import { graph as a } from './a'", missing(&[])),
        ("const graph = 1; export { graph as a }", NotExported),
    ] {
        for language in ALL {
            assert_eq!(define(language, text, "graph"), expected, "{language:?}: {text}");
        }
    }
}

#[test]
fn typescript_has_values_and_types() {
    for (text, expected) in [
        ("export const graph: Graph<State> = x satisfies Y", Defined),
        ("export abstract class graph {}", Defined),
        ("export enum graph { A }", Defined),
        ("export const enum graph { A }", Defined),
        ("export namespace graph { export const x = 1 }", Defined),
        ("export namespace graph.inner {}", Defined),
        ("export declare const graph: number", missing(&[])),
        ("export declare function graph(): void", missing(&[])),
        ("export import graph = a.b", Defined),
        ("export function graph(): void; export function graph(a?: any) {}", Defined),
        ("@decorate export class graph {}", Defined),
        ("interface graph {} const graph = 1; export { graph }", Defined),
        ("export type graph = 1; export const graph = 2", Defined),
        ("export type graph = 1", missing(&[])),
        ("export declare type graph = 1", missing(&[])),
        ("export interface graph {}", missing(&[])),
        ("interface graph {}; export { graph }", missing(&[])),
        ("export type { graph } from './a'; export let b", missing(&["b"])),
        ("export { type graph, b } from './a'", missing(&["b"])),
        ("import type { graph } from './a'; export { graph }", missing(&[])),
        ("import { type graph } from './a'; export { graph }", missing(&[])),
        ("export namespace a { export const graph = 1 }", missing(&["a"])),
        ("declare module 'm' { export const graph: 1 }", Unknown),
        ("declare global { var graph: 1 }", missing(&[])),
        ("export as namespace graph", missing(&[])),
        ("const graph = 1; export type { graph }", NotExported),
        ("namespace graph {}", NotExported),
        ("declare const graph: 1", missing(&[])),
        ("import graph = require('a')", NotExported),
        ("const graph = 1; export = graph", Unknown),
    ] {
        for language in [Language::TypeScript, Language::Tsx] {
            assert_eq!(define(language, text, "graph"), expected, "{language:?}: {text}");
        }
    }
    assert_eq!(define(Language::TypeScript, "export default interface A {}", "default"), missing(&[]));
    assert_eq!(define(Language::TypeScript, "interface A {}; export default A", "default"), missing(&[]));
}

#[test]
fn these_leave_graph_unknown() {
    for text in [
        "export * from './a'",
        "const graph = 1; export * from './a'",
        "const graph = 1; const x = (",
        "export const graph = 1; const x = (",
        "export const a = 1; module.exports.graph = 1",
    ] {
        for language in ALL {
            assert_eq!(define(language, text, "graph"), Unknown, "{language:?}: {text}");
        }
    }
}

#[test]
fn a_star_export_omits_the_default() {
    assert_eq!(define(Language::JavaScript, "export * from './a'", "default"), missing(&[]));
}

#[test]
fn jsx_is_parsed_if_the_extension_allows_it() {
    let text = "const A = () => <a href='x'>graph</a>; export const graph = A";
    assert_eq!(define(Language::JavaScript, text, "graph"), Defined);
    assert_eq!(define(Language::Tsx, text, "graph"), Defined);
}

#[test]
fn kinds_are_certain() {
    for (text, expected) in [
        ("export const graph = 1", Some(Kind::Literal("a number"))),
        ("const a = `x`; export { a as graph }", Some(Kind::Literal("a string"))),
        ("export let graph = 1", None),
        ("export const graph = {}", None),
        ("export const graph = make()", None),
        ("export function graph() {}", None),
        ("const graph = 1; export { graph } from './a'", None),
        ("export const { graph } = 1", None),
    ] {
        let module = Module::new(Language::TypeScript, text.to_owned(), None);
        assert_eq!(module.kind("graph").map(|(kind, _)| kind), expected, "{text}");
    }
    let module = Module::new(Language::JavaScript, "export default null".to_owned(), None);
    assert_eq!(module.kind("default"), Some((Kind::Literal("`null`"), 15..19)));
}

#[test]
fn only_certain_syntax_errors_are_reported() {
    for text in [
        "return 1",
        "await f()",
        "const await = 1",
        "with (a) {}",
        "var x = 010; delete x",
        "<!-- comment\nvar x",
        "@a @b() class C { accessor x = 1; @c m() {} }",
        "using x = f()",
        "import data from './a.json' with { type: 'json' }",
        "export { x }; export { x }",
        "let a; let a;",
        "class A { #x; f(o) { return #x in o } }",
        "/(?<a>x)|(?<a>y)/v.test(z)",
        "label: for (;;) break label",
        "html`<p>${x}</p>`; new.target; import.meta.url",
        "a ||= b ?? c?.[d]?.(e) ** 2n",
    ] {
        for language in ALL {
            let module = Module::new(language, text.to_owned(), None);
            assert_eq!(module.syntax_error(), None, "{language:?}: {text}");
        }
    }
    for (text, span) in [("const = 1", 6..7), ("f(", 2..2), ("x = {", 5..5), ("a b", 1..1)] {
        let module = Module::new(Language::JavaScript, text.to_owned(), None);
        assert_eq!(module.syntax_error().map(|it| it.span.clone()), Some(span), "{text}");
    }
}
