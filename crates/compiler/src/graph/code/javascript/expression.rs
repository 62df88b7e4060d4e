//! Expressions and types.

use std::rc::Rc;

use oxc_ast::ast::{
    self, ArrayExpressionElement, ChainElement, Expression, ObjectPropertyKind, TSLiteral, TSType, TSTypeName,
};

use super::{Reader, span};
use crate::graph::code::{Argument, DEEPEST, Expr, Kind, Span, Step, Stmt};

impl Reader {
    pub(super) fn kind(&mut self, expression: &Expression<'_>) -> Kind {
        match expression.get_inner_expression() {
            Expression::StringLiteral(it) => Kind::Text(it.value.to_string()),
            Expression::TemplateLiteral(it) => {
                let mut parts = Vec::new();
                let mut values = it.expressions.iter();
                for quasi in &it.quasis {
                    let text = quasi.value.cooked.as_ref().unwrap_or(&quasi.value.raw).to_string();
                    parts.push(Kind::Text(text).at(span(quasi)));
                    parts.extend(values.next().map(|value| self.expr(value)));
                }
                Kind::Joined(parts)
            }
            Expression::Identifier(it) if it.name == "undefined" => Kind::Nothing,
            Expression::Identifier(it) => Kind::Name(it.name.to_string()),
            Expression::ThisExpression(_) => Kind::Name("this".to_owned()),
            Expression::NullLiteral(_) => Kind::Nothing,
            Expression::BooleanLiteral(it) if !it.value => Kind::Nothing,
            Expression::ArrayExpression(it) => Kind::List(
                it.elements
                    .iter()
                    .map(|item| match item {
                        ArrayExpressionElement::SpreadElement(it) => {
                            Kind::Spread(Box::new(self.expr(&it.argument))).at(span(&**it))
                        }
                        other => match other.as_expression() {
                            Some(it) => self.expr(it),
                            None => Kind::Nothing.at(span(other)),
                        },
                    })
                    .collect(),
            ),
            Expression::ObjectExpression(it) => Kind::Map(
                it.properties
                    .iter()
                    .map(|property| match property {
                        ObjectPropertyKind::ObjectProperty(it) => {
                            let mut value = self.expr(&it.value);
                            if let (Kind::Function(function), Some(name)) =
                                (&mut value.kind, it.key.static_name())
                                && let Some(function) = Rc::get_mut(function).filter(|it| it.name.is_empty())
                            {
                                function.name = name.into_owned();
                            }
                            (self.key(&it.key), value)
                        }
                        ObjectPropertyKind::SpreadProperty(it) => (None, self.expr(&it.argument)),
                    })
                    .collect(),
            ),
            Expression::ArrowFunctionExpression(it) => {
                let body = match it.body.as_expression() {
                    Some(value) => vec![Stmt::Return(self.expr(value))],
                    None => it.get_function_body().map(|it| self.block(&it.statements)).unwrap_or_default(),
                };
                let returns = it.return_type.as_ref().map(|it| self.annotation(&it.type_annotation));
                self.closure(String::new(), &it.params, returns, body, span(&**it)).kind
            }
            Expression::FunctionExpression(it) => self.function(it, None).kind,
            Expression::ClassExpression(it) => self.class(it).kind,
            Expression::ConditionalExpression(it) => Kind::Either(self.all([&it.consequent, &it.alternate])),
            Expression::LogicalExpression(it) => Kind::Either(self.all([&it.left, &it.right])),
            Expression::BinaryExpression(it) if it.operator == ast::BinaryOperator::Addition => {
                Kind::Joined(self.all([&it.left, &it.right]))
            }
            Expression::AwaitExpression(it) => self.kind(&it.argument),
            Expression::CallExpression(_)
            | Expression::NewExpression(_)
            | Expression::StaticMemberExpression(_)
            | Expression::ComputedMemberExpression(_)
            | Expression::PrivateFieldExpression(_) => self.chain(expression),
            Expression::ChainExpression(it) => match &it.expression {
                ChainElement::CallExpression(it) => {
                    let callee = self.expr(&it.callee);
                    Kind::Chain(Box::new(callee), vec![self.call(&it.arguments, span(&**it))])
                }
                _ => Kind::Other(Vec::new()),
            },
            _ => Kind::Other(Vec::new()),
        }
    }

    pub(super) fn call(&mut self, arguments: &[ast::Argument<'_>], at: Span) -> Step {
        let argument = |argument: &ast::Argument<'_>| {
            let value = match argument {
                ast::Argument::SpreadElement(it) => {
                    Kind::Spread(Box::new(self.expr(&it.argument))).at(span(&**it))
                }
                other => match other.as_expression() {
                    Some(it) => self.expr(it),
                    None => Kind::Other(Vec::new()).at(span(other)),
                },
            };
            Argument { name: None, value }
        };
        Step::Call(arguments.iter().map(argument).collect(), at)
    }

    /// Long chains do not nest.
    pub(super) fn chain(&mut self, expression: &Expression<'_>) -> Kind {
        let mut steps = Vec::new();
        let mut expression = expression.get_inner_expression();
        loop {
            expression = match expression {
                Expression::CallExpression(it) => {
                    steps.push(self.call(&it.arguments, span(&**it)));
                    &it.callee
                }
                Expression::NewExpression(it) => {
                    steps.push(self.call(&it.arguments, span(&**it)));
                    &it.callee
                }
                Expression::StaticMemberExpression(it) => {
                    steps.push(Step::Member(it.property.name.to_string()));
                    &it.object
                }
                Expression::PrivateFieldExpression(it) => {
                    steps.push(Step::Member(it.field.name.to_string()));
                    &it.object
                }
                Expression::ComputedMemberExpression(it) => {
                    steps.push(Step::Index(vec![self.expr(&it.expression)]));
                    &it.object
                }
                _ => break,
            }
            .get_inner_expression();
        }
        steps.reverse();
        Kind::Chain(Box::new(self.expr(expression)), steps)
    }

    /// A type, as Python writes it: `"a" | typeof END` is `Literal["a", END]`.
    pub(super) fn annotation(&mut self, annotation: &TSType<'_>) -> Expr {
        let at = span(annotation);
        self.depth += 1;
        let name = |name: &TSTypeName<'_>| match name {
            TSTypeName::IdentifierReference(it) => Kind::Name(it.name.to_string()),
            _ => Kind::Other(Vec::new()),
        };
        let kind = match annotation {
            _ if self.depth > DEEPEST => Kind::Other(Vec::new()),
            TSType::TSLiteralType(it) => match &it.literal {
                TSLiteral::StringLiteral(it) => Kind::Text(it.value.to_string()),
                _ => Kind::Other(Vec::new()),
            },
            TSType::TSUnionType(it) => Kind::Either(it.types.iter().map(|it| self.annotation(it)).collect()),
            TSType::TSParenthesizedType(it) => self.annotation(&it.type_annotation).kind,
            TSType::TSArrayType(it) => self.annotation(&it.element_type).kind,
            TSType::TSTypeQuery(it) => it.expr_name.as_ts_type_name().map_or(Kind::Other(Vec::new()), name),
            TSType::TSTypeReference(it) => match (&it.type_name, &it.type_arguments) {
                (TSTypeName::IdentifierReference(id), Some(arguments)) if id.name == "Promise" => {
                    let first = arguments.params.first().map(|it| self.annotation(it).kind);
                    first.unwrap_or(Kind::Other(Vec::new()))
                }
                (id, None) => name(id),
                _ => Kind::Other(Vec::new()),
            },
            _ => Kind::Other(Vec::new()),
        };
        self.depth -= 1;
        kind.at(at)
    }
}
