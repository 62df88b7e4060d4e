//! JavaScript and TypeScript to [code](super).

mod expression;

use std::rc::Rc;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    self, BindingPattern, ClassElement, Declaration, ExportDefaultDeclarationKind as Default, Expression,
    ForStatementLeft, FormalParameters, ImportDeclarationSpecifier, ModuleExportName, PropertyKey, Statement,
};
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan, SourceType};

use super::{Block, Class, DEEPEST, Expr, Function, Kind, Span, Step, Stmt};
use crate::manifests::symbols::{Language, is_too_deep};

pub(super) fn read(language: Language, text: &str) -> Option<Block> {
    if is_too_deep(text) {
        return None;
    }
    let typescript = language != Language::JavaScript;
    let source_type =
        SourceType::unambiguous().with_typescript(typescript).with_jsx(language != Language::TypeScript);
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, source_type).with_options(options).parse();
    (!parsed.panicked).then(|| Reader::default().block(&parsed.program.body))
}

#[derive(std::default::Default)]
struct Reader {
    depth: usize,
    /// Whether `break` ends a `switch`.
    is_in_switch: bool,
}

impl Reader {
    /// Functions are there before the first statement runs.
    fn block(&mut self, statements: &[Statement<'_>]) -> Block {
        let mut block = Vec::new();
        if self.depth < DEEPEST {
            self.depth += 1;
            let is_function = |it: &&Statement<'_>| {
                matches!(it, Statement::FunctionDeclaration(_))
                    || matches!(it, Statement::ExportDeclaration(it) if matches!(it.declaration, Declaration::FunctionDeclaration(_)))
            };
            let (first, rest): (Vec<_>, Vec<_>) = statements.iter().partition(is_function);
            first.into_iter().chain(rest).for_each(|statement| self.statement(statement, &mut block));
            self.depth -= 1;
        }
        block
    }

    fn body(&mut self, statement: &Statement<'_>) -> Block {
        self.block(std::slice::from_ref(statement))
    }

    fn statement(&mut self, statement: &Statement<'_>, block: &mut Block) {
        match statement {
            Statement::BlockStatement(it) => block.extend(self.block(&it.body)),
            Statement::ExpressionStatement(it) => match &it.expression {
                Expression::AssignmentExpression(it) => {
                    let value = self.expr(&it.right);
                    block.extend(self.assigned(it).map(|target| Stmt::Bind(target, value)));
                }
                value => block.push(Stmt::Run(self.expr(value))),
            },
            Statement::ForOfStatement(it) => {
                let outer = std::mem::take(&mut self.is_in_switch);
                let target = match &it.left {
                    ForStatementLeft::VariableDeclaration(it) => {
                        it.declarations.first().map(|it| self.target(&it.id))
                    }
                    _ => None,
                };
                let target = target.unwrap_or_else(|| Kind::Other(Vec::new()).at(span(&**it)));
                block.push(Stmt::For(target, self.expr(&it.right), self.body(&it.body)));
                self.is_in_switch = outer;
            }
            Statement::ForStatement(it) => block.push(Stmt::Branches(vec![self.body(&it.body)])),
            Statement::ForInStatement(it) => block.push(Stmt::Branches(vec![self.body(&it.body)])),
            Statement::WhileStatement(it) => block.push(Stmt::Branches(vec![self.body(&it.body)])),
            Statement::DoWhileStatement(it) => block.push(Stmt::Branches(vec![self.body(&it.body)])),
            Statement::IfStatement(it) => {
                let mut branches = vec![self.body(&it.consequent)];
                branches.extend(it.alternate.as_ref().map(|it| self.body(it)));
                block.push(Stmt::Branches(branches));
            }
            Statement::ContinueStatement(_) => block.push(Stmt::Leave),
            Statement::BreakStatement(_) if !self.is_in_switch => block.push(Stmt::Leave),
            Statement::SwitchStatement(it) => {
                let outer = std::mem::replace(&mut self.is_in_switch, true);
                block
                    .push(Stmt::Branches(it.cases.iter().map(|case| self.block(&case.consequent)).collect()));
                self.is_in_switch = outer;
            }
            Statement::ReturnStatement(it) => block.push(Stmt::Return(match &it.argument {
                Some(value) => self.expr(value),
                None => Kind::Nothing.at(span(&**it)),
            })),
            Statement::TryStatement(it) => {
                block.extend(self.block(&it.block.body));
                let handlers = it.handler.iter().map(|it| self.block(&it.body.body)).collect();
                block.push(Stmt::Branches(handlers));
                block.extend(it.finalizer.iter().flat_map(|it| self.block(&it.body)));
            }
            Statement::ImportDeclaration(it) => {
                for specifier in it.specifiers.iter().flatten() {
                    let item = match specifier {
                        ImportDeclarationSpecifier::ImportSpecifier(it) => Some(name_of(&it.imported)),
                        ImportDeclarationSpecifier::ImportDefaultSpecifier(_) => Some("default".to_owned()),
                        ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => None,
                    };
                    block.push(import(&specifier.local().name, &it.source.value, item));
                }
            }
            Statement::ExportFromDeclaration(it) => block.extend(it.specifiers.iter().map(|specifier| {
                import(&name_of(&specifier.exported), &it.source.value, Some(name_of(&specifier.local)))
            })),
            Statement::ExportAllDeclaration(it) => match &it.exported {
                Some(name) => block.push(import(&name_of(name), &it.source.value, None)),
                None => block.push(import("*", &it.source.value, Some("*".to_owned()))),
            },
            Statement::ExportNamedDeclaration(it) => {
                for specifier in &it.specifiers {
                    let (local, exported) = (name_of(&specifier.local), name_of(&specifier.exported));
                    if local != exported {
                        let at = span(specifier);
                        let value = Kind::Name(local).at(at.clone());
                        block.push(Stmt::Bind(Kind::Name(exported).at(at), value));
                    }
                }
            }
            Statement::ExportDeclaration(it) => self.declare(&it.declaration, block),
            Statement::ExportDefaultDeclaration(it) => {
                let value = match &it.declaration {
                    Default::FunctionDeclaration(it) => Some(self.function(it, None)),
                    Default::ClassDeclaration(it) => Some(self.class(it)),
                    other => other.as_expression().map(|it| self.expr(it)),
                };
                if let Some(value) = value {
                    if let Kind::Function(function) = &value.kind {
                        let name = Kind::Name(function.name.clone()).at(value.span.clone());
                        block.push(Stmt::Bind(name, value.clone()));
                    }
                    block.push(Stmt::Bind(Kind::Name("default".to_owned()).at(span(&**it)), value));
                }
            }
            other => other.as_declaration().into_iter().for_each(|it| self.declare(it, block)),
        }
    }

    fn declare(&mut self, declaration: &Declaration<'_>, block: &mut Block) {
        let named = |name: &str, at: Span| Kind::Name(name.to_owned()).at(at);
        match declaration {
            Declaration::VariableDeclaration(it) => {
                for declarator in &it.declarations {
                    let Some(value) = &declarator.init else { continue };
                    let mut value = self.expr(value);
                    if let (Kind::Function(function), Some(name)) =
                        (&mut value.kind, declarator.id.get_identifier_name())
                        && let Some(function) = Rc::get_mut(function).filter(|it| it.name.is_empty())
                    {
                        function.name = name.to_string();
                    }
                    block.push(Stmt::Bind(self.target(&declarator.id), value));
                }
            }
            Declaration::FunctionDeclaration(it) => {
                let function = self.function(it, None);
                let id = it.id.iter().map(|id| named(&id.name, span(id)));
                block.extend(id.map(|id| Stmt::Bind(id, function.clone())));
            }
            Declaration::ClassDeclaration(it) => {
                let class = self.class(it);
                block.extend(it.id.iter().map(|id| Stmt::Bind(named(&id.name, span(id)), class.clone())));
            }
            Declaration::TSEnumDeclaration(it) => {
                let member = |member: &ast::TSEnumMember<'_>| {
                    let key = Kind::Text(member.id.static_name().to_string()).at(span(member));
                    let value = member.initializer.as_ref().map(|value| self.expr(value));
                    (Some(key), value.unwrap_or_else(|| Kind::Nothing.at(span(member))))
                };
                let members = Kind::Map(it.body.members.iter().map(member).collect()).at(span(&it.id));
                block.push(Stmt::Bind(named(&it.id.name, span(&it.id)), members));
            }
            Declaration::TSTypeAliasDeclaration(it) => {
                let value = self.annotation(&it.type_annotation);
                block.push(Stmt::Bind(named(&it.id.name, span(&it.id)), value));
            }
            _ => {}
        }
    }

    /// The target of an assignment to a name or a member.
    fn assigned(&mut self, it: &ast::AssignmentExpression<'_>) -> Option<Expr> {
        let target = it.left.as_simple_assignment_target()?;
        let kind = match (target.get_identifier_name(), target.as_member_expression()) {
            (Some(name), _) => Kind::Name(name.to_string()),
            (_, Some(ast::MemberExpression::StaticMemberExpression(it))) => {
                Kind::Chain(Box::new(self.expr(&it.object)), vec![Step::Member(it.property.name.to_string())])
            }
            _ => return None,
        };
        Some(kind.at(span(&it.left)))
    }

    /// A pattern: a name, a list of patterns, or a map of them.
    fn target(&mut self, pattern: &BindingPattern<'_>) -> Expr {
        let kind = match pattern {
            BindingPattern::BindingIdentifier(it) => Kind::Name(it.name.to_string()),
            BindingPattern::AssignmentPattern(it) => return self.target(&it.left),
            BindingPattern::ArrayPattern(it) => Kind::List(
                it.elements
                    .iter()
                    .map(|item| match item {
                        Some(item) => self.target(item),
                        None => Kind::Nothing.at(span(&**it)),
                    })
                    .collect(),
            ),
            BindingPattern::ObjectPattern(it) => {
                let properties = it.properties.iter();
                Kind::Map(properties.map(|it| (self.key(&it.key), self.target(&it.value))).collect())
            }
        };
        kind.at(span(pattern))
    }

    fn key(&mut self, key: &PropertyKey<'_>) -> Option<Expr> {
        let kind = match (key.static_name(), key.as_expression()) {
            (Some(name), _) => Kind::Text(name.into_owned()),
            (None, Some(computed)) => return Some(self.expr(computed)),
            (None, None) => Kind::Other(Vec::new()),
        };
        Some(kind.at(span(key)))
    }

    fn function(&mut self, it: &ast::Function<'_>, name: Option<String>) -> Expr {
        let own = it.id.as_ref().map(|id| id.name.to_string());
        let body = it.body.as_ref().map(|body| self.block(&body.statements)).unwrap_or_default();
        let at = it.id.as_ref().map_or_else(|| span(it), span);
        let returns = it.return_type.as_ref().map(|it| self.annotation(&it.type_annotation));
        self.closure(own.or(name).unwrap_or_default(), &it.params, returns, body, at)
    }

    fn closure(
        &mut self,
        name: String,
        parameters: &FormalParameters<'_>,
        returns: Option<Expr>,
        mut body: Block,
        span: Span,
    ) -> Expr {
        let mut names = Vec::new();
        for (index, parameter) in parameters.items.iter().enumerate() {
            let target = self.target(&parameter.pattern);
            let default = parameter.initializer.as_ref().map(|it| self.expr(it));
            if let Kind::Name(name) = target.kind {
                names.push((name, default));
            } else {
                // A pattern takes its names of the argument.
                let name = format!("({index})");
                body.insert(0, Stmt::Bind(target, Kind::Name(name.clone()).at(span.clone())));
                names.push((name, default));
            }
        }
        let decorators = Vec::new();
        let function = Function { name, parameters: names, returns, decorators, body, span: span.clone() };
        Kind::Function(Rc::new(function)).at(span)
    }

    fn class(&mut self, it: &ast::Class<'_>) -> Expr {
        let mut body = Vec::new();
        // Fields are set before the constructor runs, and are found as those of the class.
        for element in &it.body.body {
            let Some(name) = element.static_name() else { continue };
            let value = match element {
                ClassElement::MethodDefinition(it) => {
                    let mut method = self.function(&it.value, Some(name.to_string()));
                    if let (ast::MethodDefinitionKind::Get, Kind::Function(function)) =
                        (it.kind, &mut method.kind)
                        && let Some(function) = Rc::get_mut(function)
                    {
                        function.decorators.push(Kind::Name("property".to_owned()).at(span(&**it)));
                    }
                    method
                }
                ClassElement::PropertyDefinition(it) => match &it.value {
                    Some(value) => self.expr(value),
                    None => continue,
                },
                _ => continue,
            };
            body.push(Stmt::Bind(Kind::Name(name.to_string()).at(span(element)), value));
        }
        let name = it.id.as_ref().map(|id| id.name.to_string()).unwrap_or_default();
        let bases = it.heritage.iter().map(|it| self.expr(&it.expression)).collect();
        Kind::Class(Rc::new(Class { name, bases, body })).at(span(it))
    }

    fn expr(&mut self, expression: &Expression<'_>) -> Expr {
        self.depth += 1;
        let kind = if self.depth > DEEPEST { Kind::Other(Vec::new()) } else { self.kind(expression) };
        self.depth -= 1;
        kind.at(span(expression))
    }

    fn all<'a, 'b: 'a>(&mut self, all: impl IntoIterator<Item = &'a Expression<'b>>) -> Vec<Expr> {
        all.into_iter().map(|it| self.expr(it)).collect()
    }
}

fn import(local: &str, module: &str, item: Option<String>) -> Stmt {
    Stmt::Import { local: local.to_owned(), level: 0, module: module.to_owned(), item }
}

fn name_of(name: &ModuleExportName<'_>) -> String {
    name.name().to_string()
}

fn span(node: &impl GetSpan) -> Span {
    let span = node.span();
    span.start..span.end
}
