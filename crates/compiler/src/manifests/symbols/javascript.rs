//! The names that a JavaScript or TypeScript module exports: its `export` statements, and CommonJS.

mod commonjs;
mod imports;
pub(super) mod values;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    BindingPattern, Declaration, ExportDefaultDeclarationKind, Expression, FormalParameters, Program,
    Statement, VariableDeclaration,
};
use oxc_ecmascript::BoundNames;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan, SourceType, Span};
use oxc_syntax::module_record::{ExportEntry, ExportExportName, ModuleRecord};

use super::{Annotation, Broken, Kind, Language, Names, Objects, Parameter, Parsed, fragment};

/// The parser backtracks at each level of some nestings, so its time grows with the square of their depth.
const DEEPEST: usize = 500;

/// Parses `text` and collects its names.
pub(super) fn parse(language: Language, text: &str) -> Parsed {
    if is_too_deep(text) {
        return Parsed::default();
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, source_type(language)).with_options(options()).parse();
    // Errors from which the parser recovers may be ones that the server's more lenient compiler does not report.
    if parsed.panicked {
        let syntax_error = parsed.diagnostics.first().and_then(|error| {
            let span = range(error.labels.first()?.span());
            Some(Broken::new(span, fragment(&error.message)))
        });
        return Parsed { syntax_error, ..Parsed::default() };
    }
    let (mut names, objects) = Module::default().read(&parsed.program, &parsed.module_record);
    names.open |= !parsed.diagnostics.is_empty();
    if parsed.module_record.has_module_syntax {
        // A compiler may put both into one file.
        names.open |= text.contains("exports");
    } else {
        commonjs::read(&parsed.program, &mut names);
    }
    let imports = imports::read(language, text, &parsed.module_record);
    Parsed { names, imports, objects, ..Parsed::default() }
}

fn source_type(language: Language) -> SourceType {
    let typescript = language != Language::JavaScript;
    SourceType::unambiguous().with_typescript(typescript).with_jsx(language != Language::TypeScript)
}

fn options() -> ParseOptions {
    ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() }
}

/// Whether brackets nest deeper than [`DEEPEST`]. Brackets in strings count, which only makes more files unknown.
pub(crate) fn is_too_deep(text: &str) -> bool {
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
    types: BTreeSet<String>,
    /// The kinds and places of values that never change.
    constants: HashMap<String, (Kind, Span)>,
    /// The parameters and places of functions that are no variables.
    functions: HashMap<String, (Vec<Parameter>, Range<usize>)>,
}

impl Module {
    fn read(mut self, program: &Program<'_>, record: &ModuleRecord<'_>) -> (Names, Objects) {
        for statement in &program.body {
            self.statement(statement);
        }
        for import in &record.import_entries {
            let names = if import.is_type { &mut self.types } else { &mut self.names.hidden };
            names.insert(import.local_name.name.to_string());
        }
        let mut objects = Objects::default();
        for export in record.local_export_entries.iter().filter(|export| !export.is_type) {
            let local = export.local_name.name();
            // An expression has no local name and can only be the default.
            let local = local.as_deref().unwrap_or("default");
            if let (Some(name), Some(function)) = (exported(export), self.functions.get(local)) {
                objects.functions.insert(name.to_owned(), function.clone());
            }
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
        (self.names, objects)
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
            ExportDefaultDeclarationKind::FunctionDeclaration(it) => {
                let name = it.id.as_ref().map_or("default", |id| id.name.as_str());
                self.function(name, &it.params, it.span);
                it.id.as_ref()
            }
            ExportDefaultDeclarationKind::ClassDeclaration(it) => it.id.as_ref(),
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => None,
            _ => {
                let expression = declaration.as_expression();
                let value = expression.and_then(|it| Some((literal(it)?, it.span())));
                self.constants.extend(value.map(|value| ("default".to_owned(), value)));
                expression.into_iter().for_each(|it| self.function_value("default", it, it.span()));
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
            Declaration::FunctionDeclaration(it) if it.body.is_some() => {
                if let Some(id) = &it.id {
                    self.names.hidden.insert(id.name.to_string());
                    self.function(&id.name, &it.params, id.span);
                }
            }
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
            if let (BindingPattern::BindingIdentifier(id), Some(value)) = (&declarator.id, &declarator.init) {
                let kind = literal(value);
                self.constants.extend(kind.map(|kind| (id.name.to_string(), (kind, id.span))));
                self.function_value(&id.name, value, id.span);
            }
        }
    }

    fn function_value(&mut self, name: &str, value: &Expression<'_>, span: Span) {
        match value {
            Expression::ArrowFunctionExpression(it) => self.function(name, &it.params, span),
            Expression::FunctionExpression(it) => self.function(name, &it.params, span),
            _ => {}
        }
    }

    fn function(&mut self, name: &str, parameters: &FormalParameters<'_>, span: Span) {
        let items = parameters.items.iter();
        let parameters = items.map(|it| Parameter {
            is_filled: it.optional || it.initializer.is_some(),
            annotation: Annotation::Unknown,
        });
        self.functions.insert(name.to_owned(), (parameters.collect(), range(span)));
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
mod tests;
