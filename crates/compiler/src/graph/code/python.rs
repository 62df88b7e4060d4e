//! Python to [code](super).

use std::rc::Rc;

use ruff_python_ast::{self as ast, Comprehension, ExceptHandler, InterpolatedStringElement, Operator};
use ruff_text_size::Ranged;

use super::{Argument, Block, Class, DEEPEST, Expr, Function, Kind, Span, Step, Stmt};

pub(super) fn read(text: &str) -> Option<Block> {
    let parsed = ruff_python_parser::parse_module(text).ok()?;
    Some(Reader::default().block(parsed.suite()))
}

#[derive(Default)]
struct Reader {
    depth: usize,
}

impl Reader {
    fn block(&mut self, suite: &[ast::Stmt]) -> Block {
        let mut block = Vec::new();
        if self.depth < DEEPEST {
            self.depth += 1;
            suite.iter().for_each(|statement| self.statement(statement, &mut block));
            self.depth -= 1;
        }
        block
    }

    fn statement(&mut self, statement: &ast::Stmt, block: &mut Block) {
        match statement {
            ast::Stmt::FunctionDef(it) => {
                let function = Function {
                    name: it.name.to_string(),
                    parameters: self.parameters(&it.parameters),
                    returns: it.returns.as_deref().map(|returns| self.annotation(returns)),
                    decorators: it.decorator_list.iter().map(|it| self.expr(&it.expression)).collect(),
                    body: self.block(&it.body),
                    span: span(&it.name),
                };
                let value = Kind::Function(Rc::new(function)).at(span(&it.name));
                block.push(Stmt::Bind(Kind::Name(it.name.to_string()).at(span(&it.name)), value));
            }
            ast::Stmt::ClassDef(it) => {
                let bases = it.arguments.iter().flat_map(|it| &it.args).map(|base| self.expr(base)).collect();
                let class = Class { name: it.name.to_string(), bases, body: self.block(&it.body) };
                let value = Kind::Class(Rc::new(class)).at(span(&it.name));
                block.push(Stmt::Bind(Kind::Name(it.name.to_string()).at(span(&it.name)), value));
            }
            ast::Stmt::Return(it) => block.push(Stmt::Return(self.optional(it.value.as_deref(), span(it)))),
            ast::Stmt::Assign(it) => {
                for target in &it.targets {
                    block.push(Stmt::Bind(self.expr(target), self.expr(&it.value)));
                }
            }
            ast::Stmt::AnnAssign(it) => {
                if let Some(value) = &it.value {
                    block.push(Stmt::Bind(self.expr(&it.target), self.expr(value)));
                }
            }
            ast::Stmt::AugAssign(it) => {
                let joined = Kind::Joined(vec![self.expr(&it.target), self.expr(&it.value)]).at(span(it));
                block.push(Stmt::Bind(self.expr(&it.target), joined));
            }
            ast::Stmt::TypeAlias(it) => block.push(Stmt::Bind(self.expr(&it.name), self.expr(&it.value))),
            ast::Stmt::For(it) => {
                let body = self.block(&it.body);
                block.push(Stmt::For(self.expr(&it.target), self.expr(&it.iter), body));
                block.extend(self.block(&it.orelse));
            }
            ast::Stmt::While(it) => block.push(Stmt::Branches(vec![self.block(&it.body)])),
            ast::Stmt::Break(_) | ast::Stmt::Continue(_) => block.push(Stmt::Leave),
            ast::Stmt::If(it) => self.condition(it, block),
            ast::Stmt::With(it) => {
                for item in &it.items {
                    let value = self.expr(&item.context_expr);
                    block.push(match &item.optional_vars {
                        Some(target) => Stmt::Bind(self.expr(target), value),
                        None => Stmt::Run(value),
                    });
                }
                block.extend(self.block(&it.body));
            }
            ast::Stmt::Match(it) => {
                block.push(Stmt::Branches(it.cases.iter().map(|case| self.block(&case.body)).collect()));
            }
            ast::Stmt::Try(it) => {
                block.extend(self.block(&it.body));
                let handlers =
                    it.handlers.iter().map(|ExceptHandler::ExceptHandler(it)| self.block(&it.body));
                let handlers = handlers.collect();
                block.push(Stmt::Branches(handlers));
                block.extend(self.block(&it.orelse));
                block.extend(self.block(&it.finalbody));
            }
            ast::Stmt::Import(it) => block.extend(it.names.iter().map(|alias| {
                let module = match alias.asname {
                    Some(_) => alias.name.as_str(),
                    None => alias.name.split('.').next().unwrap_or_default(),
                };
                let local = alias.asname.as_ref().map_or(module, |name| name).to_owned();
                Stmt::Import { local, level: 0, module: module.to_owned(), item: None }
            })),
            ast::Stmt::ImportFrom(it) => block.extend(it.names.iter().map(|alias| Stmt::Import {
                local: alias.asname.as_ref().unwrap_or(&alias.name).to_string(),
                level: it.level as usize,
                module: it.module.as_deref().unwrap_or_default().to_owned(),
                item: Some(alias.name.to_string()),
            })),
            // The value of a generator that the server enters is the graph.
            ast::Stmt::Expr(it) => block.push(match &*it.value {
                ast::Expr::Yield(it) => Stmt::Return(self.optional(it.value.as_deref(), span(it))),
                value => Stmt::Run(self.expr(value)),
            }),
            _ => {}
        }
    }

    /// The block of `if TYPE_CHECKING:` and of `if __name__ == "__main__":` never runs on a server.
    fn condition(&mut self, it: &ast::StmtIf, block: &mut Block) {
        let is_main = |test: &ast::Expr| {
            let compare = test.as_compare_expr();
            compare.is_some_and(|it| it.left.as_name_expr().is_some_and(|name| name.id == "__name__"))
        };
        let is_typing = |test: &ast::Expr| match test {
            ast::Expr::Name(it) => it.id == "TYPE_CHECKING",
            ast::Expr::Attribute(it) => it.attr.as_str() == "TYPE_CHECKING",
            _ => false,
        };
        let never = is_main(&it.test) || is_typing(&it.test);
        let first = if is_main(&it.test) { Vec::new() } else { self.block(&it.body) };
        let others = it.elif_else_clauses.iter().map(|clause| self.block(&clause.body)).collect::<Vec<_>>();
        if never {
            // Names of types are known, too.
            block.extend(first.into_iter().filter(|it| matches!(it, Stmt::Import { .. })));
            block.extend(others.into_iter().flatten());
        } else {
            block.push(Stmt::Branches([first].into_iter().chain(others).collect()));
        }
    }

    fn parameters(&mut self, parameters: &ast::Parameters) -> Vec<(String, Option<Expr>)> {
        let named = |it: &Option<Box<ast::Parameter>>, stars| {
            it.iter().map(|it| (format!("{stars}{}", it.name), None)).collect::<Vec<_>>()
        };
        let (rest, options) = (named(&parameters.vararg, "*"), named(&parameters.kwarg, "**"));
        let mut own = |all: &[ast::ParameterWithDefault]| {
            let one = |it: &ast::ParameterWithDefault| {
                (it.name().to_string(), it.default().map(|it| self.expr(it)))
            };
            all.iter().map(one).collect::<Vec<_>>()
        };
        let first = [own(&parameters.posonlyargs), own(&parameters.args)].concat();
        [first, rest, own(&parameters.kwonlyargs), options].concat()
    }

    fn optional(&mut self, value: Option<&ast::Expr>, span: Span) -> Expr {
        value.map_or_else(|| Kind::Nothing.at(span), |value| self.expr(value))
    }

    /// An annotation may be quoted.
    fn annotation(&mut self, annotation: &ast::Expr) -> Expr {
        if let ast::Expr::StringLiteral(it) = annotation
            && let Ok(parsed) = ruff_python_parser::parse_expression(it.value.to_str())
        {
            return Expr { span: span(annotation), ..self.expr(parsed.expr()) };
        }
        self.expr(annotation)
    }

    fn expr(&mut self, expression: &ast::Expr) -> Expr {
        self.depth += 1;
        let kind = if self.depth > DEEPEST { Kind::Other(Vec::new()) } else { self.kind(expression) };
        self.depth -= 1;
        kind.at(span(expression))
    }

    fn all<'a>(&mut self, all: impl IntoIterator<Item = &'a ast::Expr>) -> Vec<Expr> {
        all.into_iter().map(|it| self.expr(it)).collect()
    }

    fn kind(&mut self, expression: &ast::Expr) -> Kind {
        match expression {
            ast::Expr::StringLiteral(it) => Kind::Text(it.value.to_str().to_owned()),
            ast::Expr::FString(it) => Kind::Joined(it.value.elements().map(|it| self.element(it)).collect()),
            ast::Expr::Name(it) => Kind::Name(it.id.to_string()),
            ast::Expr::Attribute(_) | ast::Expr::Call(_) | ast::Expr::Subscript(_) => self.chain(expression),
            ast::Expr::List(it) => Kind::List(self.all(&it.elts)),
            ast::Expr::Tuple(it) => Kind::List(self.all(&it.elts)),
            ast::Expr::Set(it) => Kind::List(self.all(&it.elts)),
            ast::Expr::Starred(it) => Kind::Spread(Box::new(self.expr(&it.value))),
            ast::Expr::Dict(it) => {
                let items = it.items.iter();
                let item =
                    |it: &ast::DictItem| (it.key.as_ref().map(|key| self.expr(key)), self.expr(&it.value));
                Kind::Map(items.map(item).collect())
            }
            ast::Expr::ListComp(it) => self.each(&it.generators, |reader| reader.expr(&it.elt)),
            ast::Expr::SetComp(it) => self.each(&it.generators, |reader| reader.expr(&it.elt)),
            ast::Expr::Generator(it) => self.each(&it.generators, |reader| reader.expr(&it.elt)),
            ast::Expr::DictComp(it) => self.each(&it.generators, |reader| {
                let key = it.key.as_deref().map(|key| reader.expr(key));
                Kind::Map(vec![(key, reader.expr(&it.value))]).at(span(it))
            }),
            ast::Expr::Lambda(it) => {
                let body = self.expr(&it.body);
                Kind::Function(Rc::new(Function {
                    name: "<lambda>".to_owned(),
                    parameters: it
                        .parameters
                        .as_deref()
                        .map(|them| self.parameters(them))
                        .unwrap_or_default(),
                    returns: None,
                    decorators: Vec::new(),
                    body: vec![Stmt::Return(body)],
                    span: span(it),
                }))
            }
            ast::Expr::If(it) => Kind::Either(self.all([&*it.body, &*it.orelse])),
            ast::Expr::BoolOp(it) => Kind::Either(self.all(&it.values)),
            ast::Expr::BinOp(it) => {
                let sides = self.all([&*it.left, &*it.right]);
                match it.op {
                    Operator::BitOr => Kind::Either(sides),
                    Operator::Add => Kind::Joined(sides),
                    _ => Kind::Other(sides),
                }
            }
            ast::Expr::Await(it) => self.kind(&it.value),
            ast::Expr::Named(it) => self.kind(&it.value),
            ast::Expr::NoneLiteral(_) => Kind::Nothing,
            ast::Expr::BooleanLiteral(it) if !it.value => Kind::Nothing,
            _ => Kind::Other(Vec::new()),
        }
    }

    fn element(&mut self, element: &InterpolatedStringElement) -> Expr {
        match element {
            InterpolatedStringElement::Literal(it) => Kind::Text(it.value.to_string()).at(span(it)),
            InterpolatedStringElement::Interpolation(it) => self.expr(&it.expression),
        }
    }

    fn each(&mut self, generators: &[Comprehension], value: impl FnOnce(&mut Self) -> Expr) -> Kind {
        let value = value(self);
        let [only] = generators else { return Kind::Other(Vec::new()) };
        let filtered = !only.ifs.is_empty();
        let items = if filtered { Kind::Other(Vec::new()).at(span(only)) } else { self.expr(&only.iter) };
        Kind::Each(Box::new(self.expr(&only.target)), Box::new(items), Box::new(value))
    }

    /// Long chains do not nest.
    fn chain(&mut self, mut expression: &ast::Expr) -> Kind {
        let mut steps = Vec::new();
        loop {
            expression = match expression {
                ast::Expr::Attribute(it) => {
                    steps.push(Step::Member(it.attr.to_string()));
                    &it.value
                }
                ast::Expr::Subscript(it) => {
                    steps.push(Step::Index(match &*it.slice {
                        ast::Expr::Tuple(it) => self.all(&it.elts),
                        one => vec![self.annotation(one)],
                    }));
                    &it.value
                }
                ast::Expr::Call(it) => {
                    let positional = it.arguments.args.iter();
                    let mut all: Vec<_> =
                        positional.map(|value| Argument { name: None, value: self.expr(value) }).collect();
                    all.extend(it.arguments.keywords.iter().map(|keyword| {
                        let value = self.expr(&keyword.value);
                        match &keyword.arg {
                            Some(name) => Argument { name: Some(name.to_string()), value },
                            None => Argument {
                                name: None,
                                value: Kind::Spread(Box::new(value)).at(span(keyword)),
                            },
                        }
                    }));
                    steps.push(Step::Call(all, span(it)));
                    &it.func
                }
                _ => break,
            };
        }
        steps.reverse();
        Kind::Chain(Box::new(self.expr(expression)), steps)
    }
}

fn span(node: &impl Ranged) -> Span {
    node.start().to_u32()..node.end().to_u32()
}
