//! The parts of a module that can build a graph, in a form that Python, JavaScript and TypeScript share.

mod javascript;
mod python;

use std::ops::Range;
use std::rc::Rc;

use crate::manifests::stack::with_stack_for;
use crate::manifests::symbols::Language;

/// Depth at which expressions and blocks are cut: the interpreter recurses as deep.
const DEEPEST: usize = 60;

/// A byte range of the text.
pub(super) type Span = Range<u32>;

/// Statements, in source order.
pub(super) type Block = Vec<Stmt>;

/// An expression with its place.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Text(String),
    Name(String),
    /// A value, and what is taken of it in turn: `builder.add_node(a).compile()`.
    Chain(Box<Expr>, Vec<Step>),
    /// A list, tuple or set.
    List(Vec<Expr>),
    /// Keys and values; a spread has no key.
    Map(Vec<(Option<Expr>, Expr)>),
    Function(Rc<Function>),
    Class(Rc<Class>),
    /// Any one of these.
    Either(Vec<Expr>),
    /// The items of a list, among those of another one.
    Spread(Box<Expr>),
    /// Texts or lists, joined.
    Joined(Vec<Expr>),
    /// Each item of a list, bound to the first, gives a value of the second.
    Each(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `None`, `null`, `undefined`, `False` or 0.
    Nothing,
    /// Its parts are evaluated, and its value is unknown.
    Other(Vec<Expr>),
}

/// A step of a chain.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Member(String),
    Index(Vec<Expr>),
    Call(Vec<Argument>, Span),
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub(super) struct Argument {
    pub(super) name: Option<String>,
    pub(super) value: Expr,
}

/// A function, method or lambda.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: String,
    /// Names with their defaults.
    pub(super) parameters: Vec<(String, Option<Expr>)>,
    pub(super) returns: Option<Expr>,
    pub(super) decorators: Vec<Expr>,
    pub(super) body: Block,
    pub(super) span: Span,
}

/// A class.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) bases: Vec<Expr>,
    pub(super) body: Block,
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) enum Stmt {
    Bind(Expr, Expr),
    Run(Expr),
    Return(Expr),
    /// A name, and the module with the number of dots before it; the item of the module is `*` for all of them.
    Import {
        local: String,
        level: usize,
        module: String,
        item: Option<String>,
    },
    /// Any one of these blocks runs, or none.
    Branches(Vec<Block>),
    For(Expr, Expr, Block),
    /// `break` or `continue`
    Leave,
}

/// Whether a loop with this body may end early, or skip a part of its body.
pub(super) fn may_leave(block: &[Stmt]) -> bool {
    block.iter().any(|statement| match statement {
        Stmt::Leave => true,
        Stmt::Branches(blocks) => blocks.iter().any(|block| may_leave(block)),
        _ => false,
    })
}

impl Kind {
    fn at(self, span: Span) -> Expr {
        Expr { kind: self, span }
    }
}

/// The code of the module `text`; `None` if it has a syntax error, or nests too deep.
pub(super) fn read(language: Language, text: &str) -> Option<Block> {
    with_stack_for(text, || match language {
        Language::Python => python::read(text),
        _ => javascript::read(language, text),
    })?
}
