//! The metadata in a `setup.py`, if it is plain enough to be read without running it.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprCall, Keyword, Stmt, StmtIf};
use ruff_python_parser::parse_module;

use super::stack::with_stack_for;
use crate::files::Files;
use crate::paths;
use crate::tree::Tree;

/// Parts of the names of modules that build packages.
const BUILD_TOOLS: &[&str] = &["setuptools", "distutils", "skbuild", "pbr", "mypyc"];

/// Keywords that make the build run code, or take what it needs from elsewhere.
const ACTIVE: &[&str] = &[
    "cffi_modules",
    "cmdclass",
    "command_options",
    "distclass",
    "ext_modules",
    "ext_package",
    "libraries",
    "pbr",
    "rust_extensions",
    "script_args",
    "setup_requires",
    "use_scm_version",
];

/// The metadata of a `setup.py`, given in literals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupCall {
    /// The name of the distribution.
    pub name: Option<String>,
    /// The requirements, as written.
    pub install_requires: Option<Vec<String>>,
    /// The Python versions that it supports.
    pub python_requires: Option<String>,
    /// The other keywords, in source order.
    pub other: Vec<String>,
}

/// Reads a `setup.py`. Returns `None` if anything in it could make a difference that the text does not show.
///
/// Accepted are imports of setuptools, assignments of literals, `if __name__ == "__main__":` and one call of
/// `setup` with keywords whose values are literals, names of literals, or a `find_packages` call.
pub fn setup_call(text: &str) -> Option<SetupCall> {
    with_stack_for(text, || {
        let module = parse_module(text).ok()?;
        let mut script = Script::default();
        module.suite().iter().try_for_each(|statement| script.statement(statement, true))?;
        script.call
    })?
}

/// Whether `directory` has a `setup.py` that describes a package. A script of that name, which neither imports a build tool
/// nor calls a `setup` from elsewhere, does not; an empty one is a placeholder.
pub fn is_present(directory: &str, files: &Tree) -> bool {
    let text = files.text(&paths::join(directory, "setup.py"));
    text.is_some_and(|text| with_stack_for(&text, || describes_package(&text)).unwrap_or(true))
}

fn describes_package(text: &str) -> bool {
    let Ok(module) = parse_module(text) else { return true };
    if module.suite().is_empty() {
        return true;
    }
    let mut calls = Calls::default();
    calls.visit_body(module.suite());
    calls.has_build_tool || calls.has_setup && !calls.defines_setup
}

/// Searches a script for what makes it describe a package.
#[derive(Default)]
struct Calls {
    has_build_tool: bool,
    has_setup: bool,
    defines_setup: bool,
}

impl<'a> Visitor<'a> for Calls {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let is_tool = |module: &str| BUILD_TOOLS.iter().any(|tool| module.contains(tool));
        match statement {
            Stmt::Import(it) => self.has_build_tool |= it.names.iter().any(|alias| is_tool(&alias.name)),
            Stmt::ImportFrom(it) => self.has_build_tool |= it.module.as_deref().is_some_and(is_tool),
            Stmt::FunctionDef(it) => self.defines_setup |= &*it.name == "setup",
            _ => {}
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression {
            let name = match &*call.func {
                Expr::Name(it) => it.id.as_str(),
                Expr::Attribute(it) => it.attr.as_str(),
                _ => "",
            };
            self.has_setup |= name == "setup";
        }
        visitor::walk_expr(self, expression);
    }
}

/// The part of a `setup.py` that has been read. Its methods return `None` for anything that is not plain.
#[derive(Default)]
struct Script<'a> {
    /// The imported names: `setup` for `from setuptools import setup`, otherwise `setuptools`.
    imported: HashSet<&'a str>,
    /// The literals that have a name.
    assigned: HashMap<&'a str, &'a Expr>,
    call: Option<SetupCall>,
}

impl<'a> Script<'a> {
    fn statement(&mut self, statement: &'a Stmt, is_outer: bool) -> Option<()> {
        match statement {
            Stmt::Import(it) => {
                let is_plain = it.names.iter().all(|it| it.asname.is_none() && &*it.name == "setuptools");
                is_plain.then(|| self.imported.extend(["setuptools"]))
            }
            Stmt::ImportFrom(it) => {
                let is_plain = it.names.iter().all(|it| it.asname.is_none() && &*it.name != "*");
                let is_setuptools = it.level == 0 && it.module.as_deref() == Some("setuptools");
                (is_plain && is_setuptools)
                    .then(|| self.imported.extend(it.names.iter().map(|it| it.name.as_str())))
            }
            Stmt::If(it) if is_outer => self.main_block(it),
            Stmt::Expr(it) => self.expression(&it.value),
            Stmt::Assign(it) => match &*it.targets {
                [Expr::Name(name)] => self.assign(&name.id, &it.value),
                _ => None,
            },
            _ => None,
        }
    }

    /// `if __name__ == "__main__":` is true in every build.
    fn main_block(&mut self, statement: &'a StmtIf) -> Option<()> {
        let condition = statement.test.as_compare_expr()?;
        let is_main = condition.left.as_name_expr()?.id == "__name__"
            && condition.ops.first()?.is_eq()
            && matches!(&*condition.comparators, [main] if text(main).as_deref() == Some("__main__"));
        if !is_main || !statement.elif_else_clauses.is_empty() {
            return None;
        }
        statement.body.iter().try_for_each(|statement| self.statement(statement, false))
    }

    fn expression(&mut self, expression: &'a Expr) -> Option<()> {
        match expression {
            Expr::StringLiteral(_) => Some(()),
            Expr::Call(call) if self.call.is_none() && self.callee(call)? == "setup" => {
                self.call = Some(self.setup(call)?);
                Some(())
            }
            _ => None,
        }
    }

    fn assign(&mut self, name: &'a str, value: &'a Expr) -> Option<()> {
        let is_plain = !self.imported.contains(name) && is_literal(value);
        is_plain.then(|| self.assigned.extend([(name, value)]))
    }

    /// The function of setuptools that a call calls.
    fn callee(&self, call: &'a ExprCall) -> Option<&'a str> {
        let (import, name) = match &*call.func {
            Expr::Name(it) => (&it.id, &it.id),
            Expr::Attribute(it) => {
                let module = &it.value.as_name_expr()?.id;
                (module, &it.attr.id)
            }
            _ => return None,
        };
        let is_qualified = call.func.is_attribute_expr();
        let is_known =
            self.imported.contains(import.as_str()) && (import.as_str() == "setuptools") == is_qualified;
        is_known.then_some(name.as_str())
    }

    fn setup(&self, call: &'a ExprCall) -> Option<SetupCall> {
        if !call.arguments.args.is_empty() {
            return None;
        }
        let mut setup = SetupCall::default();
        for argument in &call.arguments.keywords {
            let (keyword, value) = self.keyword(argument)?;
            match keyword {
                active if ACTIVE.contains(&active) => return None,
                "name" => setup.name = optional(value, text)?,
                "python_requires" => setup.python_requires = optional(value, text)?,
                "install_requires" => setup.install_requires = optional(value, texts)?,
                other if is_literal(value) || other == "packages" && self.finds_packages(value) => {
                    setup.other.push(other.to_owned());
                }
                _ => return None,
            }
        }
        Some(setup)
    }

    fn keyword(&self, argument: &'a Keyword) -> Option<(&'a str, &'a Expr)> {
        Some((argument.arg.as_deref()?, self.value(&argument.value)?))
    }

    /// The value of a name, or the expression itself.
    fn value(&self, value: &'a Expr) -> Option<&'a Expr> {
        match value {
            Expr::Name(it) => self.assigned.get(it.id.as_str()).copied(),
            _ => Some(value),
        }
    }

    /// Whether `value` is `find_packages(…)` or `find_namespace_packages(…)`, with literals.
    fn finds_packages(&self, value: &'a Expr) -> bool {
        let Some(call) = value.as_call_expr() else { return false };
        let keywords = call.arguments.keywords.iter().filter_map(|keyword| keyword.arg.as_deref());
        matches!(self.callee(call), Some("find_packages" | "find_namespace_packages"))
            && call.arguments.keywords.iter().all(|it| self.value(&it.value).is_some_and(is_literal))
            && call.arguments.args.iter().all(|it| self.value(it).is_some_and(is_literal))
            && keywords.count() == call.arguments.keywords.len()
    }
}

/// Whether `value` consists of literals alone.
fn is_literal(value: &Expr) -> bool {
    match value {
        Expr::List(it) => it.elts.iter().all(is_literal),
        Expr::Tuple(it) => it.elts.iter().all(is_literal),
        Expr::Dict(it) => {
            it.items.iter().all(|item| item.key.as_ref().is_some_and(is_literal) && is_literal(&item.value))
        }
        Expr::StringLiteral(_) | Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) => {
            true
        }
        _ => false,
    }
}

fn text(value: &Expr) -> Option<String> {
    // The parser's stand-in for half of a surrogate pair, which has no UTF-8.
    let text = value.as_string_literal_expr()?.value.to_str();
    (!text.contains('\u{fffd}')).then(|| text.to_owned())
}

fn texts(value: &Expr) -> Option<Vec<String>> {
    match value {
        Expr::List(it) => it.elts.iter().map(text).collect(),
        Expr::Tuple(it) => it.elts.iter().map(text).collect(),
        _ => None,
    }
}

/// The value, if it is not Python's `None`. The outer option is about its type.
fn optional<T>(value: &Expr, read: fn(&Expr) -> Option<T>) -> Option<Option<T>> {
    if value.is_none_literal_expr() { Some(None) } else { read(value).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;

    #[test]
    fn scripts_without_setup_describe_no_package() {
        for (text, is_package) in [
            ("from setuptools import setup\nsetup()", true),
            ("import setuptools\nsetuptools.setup(name='x')", true),
            ("from distutils.core import setup as run\nrun()", true),
            ("from numpy.distutils.core import setup\nsetup()", true),
            ("from own_build import setup\nsetup()", true),
            ("print 'Python 2'", true),
            ("", true),
            ("import os\nos.makedirs('data')", false),
            ("def setup():\n    print(1)\nsetup()", false),
            ("# run setup() first\nprint('from setuptools import setup')", false),
        ] {
            let files = Tree::new(MemoryFiles::new([("lib/setup.py", text)]));
            assert_eq!(is_present("lib", &files), is_package, "{text}");
        }
        assert!(!is_present("lib", &Tree::new(MemoryFiles::default())));
    }

    fn strings(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn a_plain_setup_is_read() {
        let text = r#"#!/usr/bin/env python
"""The setup."""
import setuptools
from setuptools import setup, find_packages

VERSION = '1.2.3'
REQUIRES = [
    "httpx>=0.27",  # the client
    'pydantic ; python_version '
    '>= "3.10"',
]

if __name__ == '__main__':
    setup(
        name="demo",
        version=VERSION,
        install_requires=REQUIRES,
        packages=find_packages("src", exclude=("tests", "tests.*")),
        package_dir={"": "src"},
        py_modules=("one", "two"),
        python_requires=">=3.10",
        extras_require={"dev": ["pytest"]},
        zip_safe=False,
    )
"#;
        let expected = SetupCall {
            name: Some("demo".to_owned()),
            install_requires: Some(strings(&["httpx>=0.27", "pydantic ; python_version >= \"3.10\""])),
            python_requires: Some(">=3.10".to_owned()),
            other: strings(&[
                "version",
                "packages",
                "package_dir",
                "py_modules",
                "extras_require",
                "zip_safe",
            ]),
        };
        assert_eq!(setup_call(text), Some(expected.clone()));
        assert_eq!(setup_call(&text.replace('\n', "\r\n")), Some(expected));
    }

    #[test]
    fn packages_are_listed_or_found() {
        for value in [
            "None",
            "['a', 'a.b']",
            "find_packages()",
            "setuptools.find_packages(where='src')",
            "find_namespace_packages('src', include=['a*'])",
        ] {
            let imports =
                "import setuptools\nfrom setuptools import setup, find_packages, find_namespace_packages\n";
            let call = setup_call(&format!("{imports}setup(packages={value})"));
            assert_eq!(call.map(|call| call.other), Some(strings(&["packages"])), "{value}");
        }
    }

    #[test]
    fn empty_and_qualified_calls_are_read() {
        for text in ["from setuptools import setup\nsetup()", "import setuptools\nsetuptools.setup()"] {
            assert_eq!(setup_call(text), Some(SetupCall::default()), "{text}");
        }
    }

    #[test]
    fn other_statements_are_not_read() {
        for text in [
            "",
            "setup()",
            "import setuptools",
            "import setuptools as s\ns.setup()",
            "import setuptools, os\nsetuptools.setup()",
            "from setuptools import *\nsetup()",
            "from setuptools import setup as s\ns()",
            "from distutils.core import setup\nsetup()",
            "from numpy.distutils import setup\nsetup()",
            "from setuptools import setup\nsetuptools.setup()",
            "import setuptools\nsetup()",
            "import setuptools\nsetuptools.sandbox.setup()",
            "from setuptools import setup\nsetup()\nsetup()",
            "from setuptools import setup\nprint()\nsetup()",
            "from setuptools import setup\nfor x in y: pass\nsetup()",
            "from setuptools import setup\ndef f(): pass\nsetup()",
            "from setuptools import setup\nsetup = 1\nsetup()",
            "from setuptools import setup\nx, y = 1, 2\nsetup()",
            "from setuptools import setup\nx = open('x').read()\nsetup()",
            "from setuptools import setup\nx: int\nsetup()",
            "from setuptools import setup\nx = y = 1\nsetup()",
            "from setuptools import setup\nif x:\n    setup()",
            "from setuptools import setup\nif __name__ == '__main__':\n    setup()\nelse:\n    pass",
            "from setuptools import setup\nf'{x()}'\nsetup()",
            "from setuptools import setup\nresult = setup()",
            "from setuptools import setup\nsetup(",
        ] {
            assert_eq!(setup_call(text), None, "{text}");
        }
    }

    #[test]
    fn other_values_are_not_read() {
        for arguments in [
            "'demo'",
            "*args",
            "**kwargs",
            "name=f'demo'",
            "name=b'demo'",
            "name=NAME",
            "name=1",
            "name='a' + 'b'",
            r"name='\ud800'",
            "name='a' f'b'",
            "name='%s' % x",
            "version=demo.__version__",
            "version=open('VERSION').read()",
            "install_requires='a'",
            "install_requires=[x]",
            "install_requires=['a', *b]",
            "install_requires=['a'] + b",
            "install_requires=[a for a in b]",
            "packages=['a'] + find_packages()",
            "packages=find_packages('src')",
            "packages=find()",
            "packages=setuptools.PEP420PackageFinder.find()",
            "package_dir={'': x}",
            "package_dir={**x}",
            "py_modules=glob('*.py')",
            "long_description=open('README.md').read()",
            "keywords={'a', 'b'}",
            "ext_modules=[]",
            "cmdclass={}",
            "setup_requires=['x']",
            "use_scm_version=True",
            "cffi_modules=['build.py:ffi']",
        ] {
            assert_eq!(
                setup_call(&format!("from setuptools import setup\nsetup({arguments})")),
                None,
                "{arguments}"
            );
        }
    }

    #[test]
    fn strings_are_decoded() {
        for (literal, expected) in [
            (r"'\x41\u00e9\U0001F600\101'", "A\u{e9}\u{1f600}A"),
            (r"'\N{BULLET}\d'", "\u{2022}\\d"),
            (r"r'\n' u'a'", r"\na"),
            ("('a'  # one\n 'b')", "ab"),
            ("'a\\\nb'", "ab"),
        ] {
            let call = setup_call(&format!("from setuptools import setup\nsetup(name={literal})"));
            assert_eq!(call.and_then(|call| call.name).as_deref(), Some(expected), "{literal}");
        }
    }
}
