//! The names that a JavaScript or TypeScript module exports: its `export` statements, and CommonJS.

mod commonjs;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    BindingPattern, Declaration, ExportDefaultDeclarationKind, Expression, Program, Statement,
    VariableDeclaration,
};
use oxc_ecmascript::BoundNames;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan, SourceType, Span};
use oxc_syntax::module_record::{ExportEntry, ExportExportName, ModuleRecord};

use super::{Broken, Kind, Language, Names, Parsed, fragment};

/// The parser backtracks at each level of some nestings, so its time grows with the square of their depth.
const DEEPEST: usize = 500;

/// Parses `text` and collects its names.
pub(super) fn parse(language: Language, text: &str) -> Parsed {
    if is_too_deep(text) {
        return Parsed::default();
    }
    let typescript = language != Language::JavaScript;
    let source_type =
        SourceType::unambiguous().with_typescript(typescript).with_jsx(language != Language::TypeScript);
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, source_type).with_options(options).parse();
    // Errors from which the parser recovers may be ones that the server's more lenient compiler does not report.
    if parsed.panicked {
        let syntax_error = parsed.diagnostics.first().and_then(|error| {
            let span = range(error.labels.first()?.span());
            Some(Broken::new(span, fragment(&error.message)))
        });
        return Parsed { syntax_error, ..Parsed::default() };
    }
    let mut names = Module::default().read(&parsed.program, &parsed.module_record);
    names.open |= !parsed.diagnostics.is_empty();
    if parsed.module_record.has_module_syntax {
        // A compiler may put both into one file.
        names.open |= text.contains("exports");
    } else {
        commonjs::read(&parsed.program, &mut names);
    }
    Parsed { names, syntax_error: None, newer_syntax: None }
}

/// Whether brackets nest deeper than [`DEEPEST`]. Brackets in strings count, which only makes more files unknown.
fn is_too_deep(text: &str) -> bool {
    let (mut depth, mut angles) = (0_usize, 0_usize);
    text.bytes().any(|byte| {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'<' => angles += 1,
            b'>' | b';' => angles = 0,
            _ => {}
        }
        depth.max(angles) > DEEPEST
    })
}

/// The declarations at the top level of a module.
#[derive(Default)]
struct Module {
    names: Names,
    /// The names that the TypeScript compiler erases: types, and imports of types.
    types: HashSet<String>,
    /// The kinds and places of values that never change.
    constants: HashMap<String, (Kind, Span)>,
}

impl Module {
    fn read(mut self, program: &Program<'_>, record: &ModuleRecord<'_>) -> Names {
        for statement in &program.body {
            self.statement(statement);
        }
        for import in &record.import_entries {
            let names = if import.is_type { &mut self.types } else { &mut self.names.hidden };
            names.insert(import.local_name.name.to_string());
        }
        for export in record.local_export_entries.iter().filter(|export| !export.is_type) {
            let local = export.local_name.name();
            // An expression has no local name and can only be the default.
            let local = local.as_deref().unwrap_or("default");
            let is_value = self.names.hidden.contains(local) || !self.types.contains(local);
            if let Some(name) = exported(export).filter(|_| is_value) {
                let constant = self.constants.get(local);
                let (kind, span) = constant.map_or((None, export.span), |&(kind, span)| (Some(kind), span));
                self.names.bind(name, kind, range(span));
            }
        }
        for export in record.indirect_export_entries.iter().filter(|export| !export.is_type) {
            exported(export).into_iter().for_each(|name| self.names.bind(name, None, range(export.span)));
        }
        // `export *` passes on everything but the default export.
        self.names.open_but_default = record.star_export_entries.iter().any(|export| !export.is_type);
        self.names
    }

    fn statement(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::ExportDeclaration(export) => self.declare(&export.declaration),
            Statement::ExportDefaultDeclaration(export) => self.declare_default(&export.declaration),
            Statement::TSExportAssignment(_) => self.names.open = true,
            _ => statement.as_declaration().into_iter().for_each(|it| self.declare(it)),
        }
    }

    fn declare_default(&mut self, declaration: &ExportDefaultDeclarationKind<'_>) {
        let id = match declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(it) => it.id.as_ref(),
            ExportDefaultDeclarationKind::ClassDeclaration(it) => it.id.as_ref(),
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => None,
            _ => {
                let value = declaration.as_expression().and_then(|it| Some((literal(it)?, it.span())));
                self.constants.extend(value.map(|value| ("default".to_owned(), value)));
                None
            }
        };
        self.names.hidden.extend(id.map(|id| id.name.to_string()));
    }

    fn declare(&mut self, declaration: &Declaration<'_>) {
        let is_type = matches!(
            declaration,
            Declaration::TSTypeAliasDeclaration(_) | Declaration::TSInterfaceDeclaration(_)
        );
        match declaration {
            _ if is_type || declaration.declare() => {
                declaration.bound_names(&mut |id| self.types.extend([id.name.to_string()]));
                self.types.extend(declaration.id().map(|id| id.name.to_string()));
            }
            Declaration::VariableDeclaration(it) => self.variables(it),
            _ => self.names.hidden.extend(declaration.id().map(|id| id.name.to_string())),
        }
    }

    fn variables(&mut self, declaration: &VariableDeclaration<'_>) {
        declaration.bound_names(&mut |id| self.names.hidden.extend([id.name.to_string()]));
        if !declaration.kind.is_const() {
            return;
        }
        for declarator in &declaration.declarations {
            if let (BindingPattern::BindingIdentifier(id), Some(value)) = (&declarator.id, &declarator.init)
                && let Some(kind) = literal(value)
            {
                self.constants.insert(id.name.to_string(), (kind, id.span));
            }
        }
    }
}

/// The name under which importers get an export.
fn exported<'a>(export: &ExportEntry<'a>) -> Option<&'a str> {
    match &export.export_name {
        ExportExportName::Name(name) => Some(name.name.as_str()),
        ExportExportName::Default(_) => Some("default"),
        ExportExportName::Null => None,
    }
}

fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

/// The kind of a value that is neither a graph nor an app, function or object of any library.
fn literal(value: &Expression<'_>) -> Option<Kind> {
    let name = match value {
        Expression::StringLiteral(_) | Expression::TemplateLiteral(_) => "a string",
        Expression::NumericLiteral(_) | Expression::BigIntLiteral(_) => "a number",
        Expression::BooleanLiteral(_) => "a boolean",
        Expression::NullLiteral(_) => "`null`",
        Expression::RegExpLiteral(_) => "a regular expression",
        Expression::ArrayExpression(_) => "an array",
        _ => return None,
    };
    Some(Kind::Literal(name))
}

#[cfg(test)]
mod tests {
    use crate::compiler::manifests::symbols::Definition::{self, Defined, NotExported, Unknown};
    use crate::compiler::manifests::symbols::{Kind, Language, Module, define};

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
}
