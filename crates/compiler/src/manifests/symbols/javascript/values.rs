//! What the exports of a JavaScript or TypeScript module hold.

use std::collections::HashMap;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    ArrowFunctionBody, BindingPattern, CallExpression, Declaration, ExportDefaultDeclarationKind, Expression,
    FormalParameter, FormalParameters, Function, FunctionBody, ImportDeclarationSpecifier, Program,
    Statement,
};
use oxc_parser::Parser;
use oxc_span::{GetSpan, Span};

use super::{commonjs, exported, is_too_deep, options, range, source_type};
use crate::manifests::symbols::values::{Item, Value, Values};
use crate::manifests::symbols::{Broken, Language, Names, fragment};

/// Functions of libraries that return a graph.
const MAKERS: &[&str] = &["createAgent", "createDeepAgent", "createReactAgent", "entrypoint"];

/// Classes and functions of libraries that make a graph which is not compiled.
const BUILDERS: &[&str] = &["MessageGraph", "StateGraph", "createSupervisor", "createSwarm"];

/// Methods that return the graph that they are called on.
const CHAINED: &[&str] = &["bind", "withConfig", "withRetry"];

/// Parts of the names and types of parameters that the server fills.
const FILLED: &[&str] = &["config", "runtime"];

/// Reads `text`.
pub(in crate::manifests::symbols) fn read(language: Language, text: &str) -> Result<Values, Broken> {
    if is_too_deep(text) {
        return Ok(Values::default());
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, source_type(language)).with_options(options()).parse();
    if parsed.panicked {
        let error = parsed.diagnostics.first().and_then(|error| Some((error.labels.first()?.span(), error)));
        return match error {
            Some((span, error)) => Err(Broken::new(range(span), fragment(&error.message))),
            None => Ok(Values::default()),
        };
    }
    let mut reader = Reader { text, scope: HashMap::new(), found: Values::default() };
    parsed.program.body.iter().for_each(|statement| reader.statement(statement));
    let record = &parsed.module_record;
    for export in record.local_export_entries.iter().filter(|export| !export.is_type) {
        let local = export.local_name.name();
        let local = local.as_deref().unwrap_or("default").to_owned();
        exported(export).into_iter().for_each(|name| reader.export(&local, name));
    }
    if !record.has_module_syntax {
        reader.commonjs(&parsed.program);
    }
    let Reader { mut found, scope, .. } = reader;
    for (name, (value, ..)) in scope {
        if !found.items.iter().any(|item| item.name == name) {
            found.helpers.insert(name, value);
        }
    }
    found.used =
        found.items.iter().map(|item| item.name.clone()).filter(|name| is_passed(text, name)).collect();
    Ok(found)
}

/// Whether `text` has `name` as an argument of a call, or calls one of its methods that run a graph.
fn is_passed(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].trim_end();
        let after = &text[at + name.len()..];
        let is_argument = before.ends_with(['(', ',']) && after.trim_start().starts_with([')', ',']);
        let is_word = !before.ends_with(|c: char| c == '.' || c == '_' || c.is_alphanumeric());
        is_argument || is_word && [".invoke(", ".stream("].iter().any(|method| after.starts_with(method))
    })
}

/// The value of a name, whether it is a function that gives one, and where it is.
type Local = (Value, bool, Span);

struct Reader<'t> {
    text: &'t str,
    scope: HashMap<String, Local>,
    found: Values,
}

impl Reader<'_> {
    fn statement(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::ImportDeclaration(import) => {
                for specifier in import.specifiers.iter().flatten() {
                    let name = match specifier {
                        ImportDeclarationSpecifier::ImportSpecifier(it) => it.imported.name().to_string(),
                        ImportDeclarationSpecifier::ImportDefaultSpecifier(_) => "default".to_owned(),
                        ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => String::new(),
                    };
                    let module = import.source.value.to_string();
                    self.found.imports.insert(specifier.local().name.to_string(), (module, name));
                }
            }
            Statement::ExportDeclaration(export) => self.declare(&export.declaration),
            Statement::ExportDefaultDeclaration(export) => self.declare_default(&export.declaration),
            _ => statement.as_declaration().into_iter().for_each(|it| self.declare(it)),
        }
    }

    fn declare(&mut self, declaration: &Declaration<'_>) {
        match declaration {
            Declaration::VariableDeclaration(it) => {
                for declarator in &it.declarations {
                    if let (BindingPattern::BindingIdentifier(id), Some(value)) =
                        (&declarator.id, &declarator.init)
                    {
                        let (value, is_factory) = self.value_or_function(value);
                        self.scope.insert(id.name.to_string(), (value, is_factory, id.span));
                    }
                }
            }
            Declaration::FunctionDeclaration(it) => {
                if let Some(id) = &it.id {
                    self.function(id.name.as_str(), it, id.span);
                }
            }
            _ => {}
        }
    }

    fn declare_default(&mut self, declaration: &ExportDefaultDeclarationKind<'_>) {
        if let ExportDefaultDeclarationKind::FunctionDeclaration(it) = declaration {
            let name = it.id.as_ref().map_or("default", |id| id.name.as_str());
            self.function(name, it, it.span);
        } else if let Some(expression) = declaration.as_expression() {
            let (value, is_factory) = self.value_or_function(expression);
            self.scope.insert("default".to_owned(), (value, is_factory, expression.span()));
        }
    }

    /// A function whose parameters the server does not fill is no value of its own, but others may call it.
    fn function(&mut self, name: &str, function: &Function<'_>, span: Span) {
        let value = function.body.as_ref().map_or(Value::Other, |body| self.returned(body));
        if self.is_filled(&function.params) {
            self.scope.insert(name.to_owned(), (value, true, span));
        } else {
            self.found.helpers.insert(name.to_owned(), value);
        }
    }

    fn is_filled(&self, parameters: &FormalParameters<'_>) -> bool {
        let is_filled = |parameter: &FormalParameter<'_>| {
            let text = self.text[range(parameter.span)].to_ascii_lowercase();
            FILLED.iter().any(|part| text.contains(part))
        };
        parameters.items.len() <= 1 && parameters.items.iter().all(is_filled)
    }

    fn value_or_function(&self, expression: &Expression<'_>) -> (Value, bool) {
        match expression {
            Expression::ArrowFunctionExpression(it) if self.is_filled(&it.params) => {
                (self.arrow(&it.body), true)
            }
            Expression::FunctionExpression(it) if self.is_filled(&it.params) => {
                (it.body.as_ref().map_or(Value::Other, |body| self.returned(body)), true)
            }
            _ => (self.value(expression), false),
        }
    }

    fn arrow(&self, body: &ArrowFunctionBody<'_>) -> Value {
        match body {
            ArrowFunctionBody::FunctionBody(body) => self.returned(body),
            _ => body.as_expression().map_or(Value::Other, |expression| self.value(expression)),
        }
    }

    /// What a function returns.
    fn returned(&self, body: &FunctionBody<'_>) -> Value {
        let mut inner = Self { scope: self.scope.clone(), text: self.text, found: Values::default() };
        let given =
            body.statements.iter().fold(Value::Other, |value, statement| value.or(inner.given(statement)));
        match &given {
            Value::Same(name) => inner.scope.get(name).map_or(given.clone(), |(value, ..)| value.clone()),
            _ => given,
        }
    }

    fn given(&mut self, statement: &Statement<'_>) -> Value {
        let all = |reader: &mut Self, body: &[Statement<'_>]| {
            body.iter().fold(Value::Other, |value, statement| value.or(reader.given(statement)))
        };
        match statement {
            Statement::ReturnStatement(it) => {
                it.argument.as_ref().map_or(Value::Other, |argument| self.value(argument))
            }
            Statement::BlockStatement(it) => all(self, &it.body),
            Statement::IfStatement(it) => {
                let value = self.given(&it.consequent);
                value.or(it.alternate.as_ref().map_or(Value::Other, |it| self.given(it)))
            }
            Statement::TryStatement(it) => all(self, &it.block.body),
            _ => {
                statement.as_declaration().into_iter().for_each(|it| self.declare(it));
                Value::Other
            }
        }
    }

    fn value(&self, expression: &Expression<'_>) -> Value {
        match expression.get_inner_expression() {
            Expression::AwaitExpression(it) => self.value(&it.argument),
            Expression::ConditionalExpression(it) => self.value(&it.consequent).or(self.value(&it.alternate)),
            Expression::LogicalExpression(it) => self.value(&it.left).or(self.value(&it.right)),
            Expression::Identifier(it) => Value::Same(it.name.to_string()),
            Expression::StaticMemberExpression(it) => Value::called(&it.property.name),
            Expression::ChainExpression(it) => it
                .expression
                .as_member_expression()
                .and_then(|it| it.static_property_name())
                .map_or(Value::Other, Value::called),
            Expression::NewExpression(it) => {
                let name = it.callee.get_identifier_reference().map_or("", |it| it.name.as_str());
                if BUILDERS.contains(&name) { Value::Builder } else { Value::Other }
            }
            Expression::CallExpression(call) => self.called(call),
            _ => Value::Other,
        }
    }

    fn called(&self, call: &CallExpression<'_>) -> Value {
        match call.callee.get_inner_expression() {
            Expression::Identifier(it) => match it.name.as_str() {
                name if self.scope.contains_key(name) || self.found.helpers.contains_key(name) => {
                    Value::Same(name.to_owned())
                }
                name if MAKERS.contains(&name) => Value::Graph,
                name if BUILDERS.contains(&name) => Value::Builder,
                name => Value::Same(name.to_owned()),
            },
            // `entrypoint({ name: "agent" }, async () => …)` in a wrapper, or `(async () => builder.compile())()`
            callee @ (Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_)) => {
                self.value_or_function(callee).0
            }
            Expression::StaticMemberExpression(method) => {
                let receiver = match method.object.get_inner_expression() {
                    Expression::Identifier(it) => {
                        self.scope.get(it.name.as_str()).map_or(Value::Other, |(value, ..)| value.clone())
                    }
                    object => self.value(object),
                };
                match method.property.name.as_str() {
                    "compile" => Value::Graph,
                    name if CHAINED.contains(&name) || name.starts_with("add") || name.starts_with("set") => {
                        receiver
                    }
                    name => Value::called(name),
                }
            }
            _ => Value::Other,
        }
    }

    fn export(&mut self, local: &str, name: &str) {
        if let Some((value, is_factory, span)) = self.scope.get(local) {
            let item = Item {
                name: name.to_owned(),
                value: value.clone(),
                is_factory: *is_factory,
                is_call: false,
                span: range(*span),
            };
            self.found.items.push(item);
        }
    }

    fn commonjs(&mut self, program: &Program<'_>) {
        let mut names = Names::default();
        commonjs::read(program, &mut names);
        let names: Vec<String> = names.visible.keys().cloned().collect();
        names.iter().for_each(|name| self.export(name, name));
    }
}
