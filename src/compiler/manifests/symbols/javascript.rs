//! What a JavaScript or TypeScript module exports: its `export` statements, and CommonJS.

mod commonjs;

use std::collections::HashSet;

use tree_sitter::Node;

use super::{Bindings, parts, source, walk};

/// Looks at the module `root`, the tree of `text`, as far as is needed to tell about `name`.
pub(super) fn look<'t>(root: Node<'_>, text: &'t str, name: &str) -> Bindings<'t> {
    let mut module = Module { text, found: Bindings::default(), types: HashSet::new(), clauses: Vec::new() };
    for statement in parts(root) {
        module.statement(statement, name);
    }
    let mut found = module.finish();
    found.open |= root.has_error();
    if !found.visible.contains(name) {
        commonjs::look(root, text, &mut found);
    }
    found
}

struct Module<'t> {
    text: &'t str,
    found: Bindings<'t>,
    /// The names that the compiler erases: types, and imports of types.
    types: HashSet<&'t str>,
    /// What `export { local as exported }` says. Whether `local` is a value shows only at the end.
    clauses: Vec<(&'t str, &'t str)>,
}

impl<'t> Module<'t> {
    fn statement(&mut self, node: Node<'_>, wanted: &str) {
        match node.kind() {
            "export_statement" => self.export(node, wanted),
            "import_statement" => self.import(node),
            _ => {
                let names = self.declare(node);
                self.found.hidden.extend(names);
            }
        }
    }

    fn export(&mut self, node: Node<'_>, wanted: &str) {
        if has_token(node, "type") || has_token(node, "namespace") {
            // `export type { … }` and `export as namespace …`: nothing at run time.
        } else if has_token(node, "default") {
            self.export_default(node);
        } else if let Some(declaration) = node.child_by_field_name("declaration") {
            let names = self.declare(declaration);
            self.found.visible.extend(names);
        } else if has_token(node, "=") {
            self.found.open = true;
        } else if has_token(node, "*") {
            // It passes on everything but the default export.
            self.found.open |= wanted != "default";
        } else {
            self.export_clause(node);
        }
    }

    fn export_default(&mut self, node: Node<'_>) {
        if let Some(declaration) = node.child_by_field_name("declaration") {
            if declaration.kind() != "interface_declaration" {
                self.found.visible.insert("default");
            }
            let names = self.declare(declaration);
            self.found.hidden.extend(names);
        } else if let Some(value) = node.child_by_field_name("value") {
            // `export default Name` may name a type.
            self.clauses.push((source(value, self.text), "default"));
        }
    }

    /// `export { … }`, with or without `from`, and `export * as name from`.
    fn export_clause(&mut self, node: Node<'_>) {
        let passed_on = node.child_by_field_name("source").is_some();
        for part in parts(node) {
            match part.kind() {
                "namespace_export" => self.found.visible.extend(last_child(part).map(|name| self.name(name))),
                "export_clause" => parts(part).into_iter().for_each(|item| self.specifier(item, passed_on)),
                _ => {}
            }
        }
    }

    fn specifier(&mut self, specifier: Node<'_>, passed_on: bool) {
        if specifier.has_error() || has_token(specifier, "type") {
            return;
        }
        let Some(local) = specifier.child_by_field_name("name") else { return };
        let exported = specifier.child_by_field_name("alias").unwrap_or(local);
        let (local, exported) = (self.name(local), self.name(exported));
        if passed_on {
            self.found.visible.insert(exported);
        } else {
            self.clauses.push((local, exported));
        }
    }

    fn import(&mut self, node: Node<'_>) {
        let text = self.text;
        let only_types = has_token(node, "type");
        walk(node, |part| {
            let specifier = part.kind() == "import_specifier";
            if specifier || part.kind() == "identifier" {
                let bound = part.child_by_field_name("alias").or_else(|| part.child_by_field_name("name"));
                let erased = only_types || has_token(part, "type");
                let names = if erased { &mut self.types } else { &mut self.found.hidden };
                names.insert(source(bound.unwrap_or(part), text));
            }
            !specifier
        });
    }

    /// The values that a declaration binds; the types it declares are noted.
    fn declare(&mut self, declaration: Node<'_>) -> Vec<&'t str> {
        let mut declaration = declaration;
        // `declare …` wraps a declaration, and a plain `namespace N {}` is parsed as an expression.
        while matches!(declaration.kind(), "ambient_declaration" | "expression_statement") {
            let Some(inner) = declaration.named_child(0) else { return Vec::new() };
            declaration = inner;
        }
        let name = declaration.child_by_field_name("name").map(|name| source(name, self.text));
        match declaration.kind() {
            "interface_declaration" | "type_alias_declaration" => {
                self.types.extend(name);
                Vec::new()
            }
            "function_declaration"
            | "generator_function_declaration"
            | "function_signature"
            | "class_declaration"
            | "abstract_class_declaration"
            | "enum_declaration" => name.into_iter().collect(),
            // `namespace A.B {}` binds `A`.
            "internal_module" | "module" => {
                name.and_then(|name| name.split('.').next()).into_iter().collect()
            }
            "import_alias" => declaration.named_child(0).map(|name| self.name(name)).into_iter().collect(),
            "lexical_declaration" | "variable_declaration" | "using_declaration" => {
                self.variables(declaration)
            }
            _ => Vec::new(),
        }
    }

    fn variables(&self, declaration: Node<'_>) -> Vec<&'t str> {
        let declarators = parts(declaration).into_iter();
        let patterns = declarators.filter_map(|declarator| declarator.child_by_field_name("name"));
        patterns.flat_map(|pattern| self.names_in(pattern)).collect()
    }

    /// The names that a pattern such as `{ a, b: [c], ...d }` binds; not its keys and defaults.
    fn names_in(&self, pattern: Node<'_>) -> Vec<&'t str> {
        let mut names = Vec::new();
        let mut defaults = HashSet::new();
        walk(pattern, |node| {
            match node.kind() {
                "identifier" | "shorthand_property_identifier_pattern" if !defaults.contains(&node.id()) => {
                    names.push(source(node, self.text));
                }
                "assignment_pattern" | "object_assignment_pattern" => {
                    defaults.extend(node.child_by_field_name("right").map(|right| right.id()));
                }
                _ => {}
            }
            !defaults.contains(&node.id()) && !matches!(node.kind(), "computed_property_name" | "ERROR")
        });
        names
    }

    fn name(&self, node: Node<'_>) -> &'t str {
        unquoted(source(node, self.text))
    }

    fn finish(mut self) -> Bindings<'t> {
        for (local, exported) in self.clauses {
            let is_value = self.found.hidden.contains(local) || self.found.visible.contains(local);
            if is_value || !self.types.contains(local) {
                self.found.visible.insert(exported);
            }
        }
        self.found
    }
}

/// Whether `token`, a keyword or a sign, is a direct child of `node`.
fn has_token(node: Node<'_>, token: &str) -> bool {
    node.children(&mut node.walk()).any(|child| !child.is_named() && child.kind() == token)
}

fn last_child(node: Node<'_>) -> Option<Node<'_>> {
    node.child(node.child_count().checked_sub(1)?)
}

/// A name without the quotes that it may be written in.
fn unquoted(name: &str) -> &str {
    name.trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use crate::compiler::manifests::symbols::Definition::{self, Defined, NotExported, Unknown};
    use crate::compiler::manifests::symbols::{Language, define};

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
            "export const graph = 1; const x = (",
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
            ("export default 1; export let b", missing(&["b", "default"])),
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
            ("export declare const graph: number", Defined),
            ("export declare function graph(): void", Defined),
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
            ("declare module 'm' { export const graph: 1 }", missing(&[])),
            ("declare global { var graph: 1 }", missing(&[])),
            ("export as namespace graph", missing(&[])),
            ("const graph = 1; export type { graph }", NotExported),
            ("namespace graph {}", NotExported),
            ("declare const graph: 1", NotExported),
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
    fn these_do_not_tell_about_graph() {
        for text in
            ["export * from './a'", "const graph = 1; export * from './a'", "const graph = 1; const x = ("]
        {
            for language in ALL {
                assert_eq!(define(language, text, "graph"), Unknown, "{language:?}: {text}");
            }
        }
    }

    #[test]
    fn a_star_does_not_pass_on_the_default() {
        assert_eq!(define(Language::JavaScript, "export * from './a'", "default"), missing(&[]));
    }

    #[test]
    fn jsx_is_read_where_the_ending_allows_it() {
        let text = "const A = () => <a href='x'>graph</a>; export const graph = A";
        assert_eq!(define(Language::JavaScript, text, "graph"), Defined);
        assert_eq!(define(Language::Tsx, text, "graph"), Defined);
    }
}
