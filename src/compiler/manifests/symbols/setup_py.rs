//! What a `setup.py` says, where it is plain enough to be read instead of run.

mod literal;

use std::collections::{BTreeMap, HashMap, HashSet};

use tree_sitter::Node;

use self::literal::Value;
use super::{Language, parse, parts, plain, source};

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

/// What a `setup.py` says in literals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupCall {
    /// The distribution's name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Its requirements, as written.
    pub install_requires: Option<Vec<String>>,
    /// Its packages.
    pub packages: Packages,
    /// The folders of packages: the empty key is the folder of all that have none of their own.
    pub package_dir: BTreeMap<String, String>,
    /// Its single-file modules.
    pub py_modules: Vec<String>,
    /// The other keywords, in source order. Their values are literals too.
    pub other: Vec<String>,
}

/// The `packages` of a [`SetupCall`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Packages {
    /// Nothing is said of them.
    #[default]
    Absent,
    /// They are listed.
    Listed(Vec<String>),
    /// They are whatever is found in a folder: `find_packages(…)`, `find_namespace_packages(…)`.
    Find {
        /// The folder.
        where_: String,
        /// Whether folders without `__init__.py` count.
        namespaces: bool,
        /// The patterns of what counts; empty means all.
        include: Vec<String>,
        /// The patterns of what does not count.
        exclude: Vec<String>,
    },
}

/// Reads a `setup.py`; `None` if anything in it could make a difference that the text does not show.
///
/// Accepted are imports of setuptools, assignments of literals, `if __name__ == "__main__":` and one call of
/// `setup` with keywords whose values are literals, such names, or a `find_packages` call.
pub fn setup_call(text: &str) -> Option<SetupCall> {
    let text = plain(text);
    let tree = parse(Language::Python, &text)?;
    if tree.root_node().has_error() {
        return None;
    }
    let mut script = Script { text: &text, imported: HashSet::new(), assigned: HashMap::new(), call: None };
    script.block(tree.root_node())?;
    script.call
}

/// A `setup.py` as far as it has been read. Its methods give `None` for what is not plain.
struct Script<'t> {
    text: &'t str,
    /// What of setuptools has a name: `setup` for `from setuptools import setup`, else `setuptools`.
    imported: HashSet<&'t str>,
    assigned: HashMap<&'t str, Value>,
    call: Option<SetupCall>,
}

impl<'t> Script<'t> {
    fn source(&self, node: Node<'_>) -> &'t str {
        source(node, self.text)
    }

    fn block(&mut self, block: Node<'_>) -> Option<()> {
        parts(block).into_iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: Node<'_>) -> Option<()> {
        match statement.kind() {
            "import_statement" => self.import(statement),
            "import_from_statement" => self.import_from(statement),
            "if_statement" => self.main_block(statement),
            "expression_statement" => match *parts(statement) {
                [expression] => self.expression(expression),
                _ => None,
            },
            _ => None,
        }
    }

    fn import(&mut self, statement: Node<'_>) -> Option<()> {
        let is_plain = parts(statement).iter().all(|name| self.source(*name) == "setuptools");
        is_plain.then(|| self.imported.extend(["setuptools"]))
    }

    fn import_from(&mut self, statement: Node<'_>) -> Option<()> {
        let [module, names @ ..] = &*parts(statement) else { return None };
        let is_plain = names.iter().all(|name| name.kind() == "dotted_name");
        if !is_plain || self.source(*module) != "setuptools" {
            return None;
        }
        self.imported.extend(names.iter().map(|name| source(*name, self.text)));
        Some(())
    }

    /// `if __name__ == "__main__":` holds in every build.
    fn main_block(&mut self, statement: Node<'_>) -> Option<()> {
        let [condition, block] = *parts(statement) else { return None };
        let condition = self.source(condition).replace(['\'', '"', ' '], "");
        // One inside another would be a nest of any depth.
        let is_outer = statement.parent().is_some_and(|parent| parent.kind() == "module");
        if condition == "__name__==__main__" && is_outer { self.block(block) } else { None }
    }

    fn expression(&mut self, expression: Node<'_>) -> Option<()> {
        match expression.kind() {
            "string" | "concatenated_string" => literal::string(expression, self.text).map(drop),
            "assignment" => self.assign(expression),
            "call" if self.call.is_none() && self.callee(expression)? == "setup" => {
                self.call = Some(self.setup(expression)?);
                Some(())
            }
            _ => None,
        }
    }

    fn assign(&mut self, assignment: Node<'_>) -> Option<()> {
        let name = assignment.child_by_field_name("left").filter(|left| left.kind() == "identifier")?;
        let name = self.source(name);
        if self.imported.contains(name) {
            return None;
        }
        let value = literal::value(assignment.child_by_field_name("right")?, self.text)?;
        self.assigned.insert(name, value);
        Some(())
    }

    /// Which of setuptools' functions a call calls.
    fn callee(&self, call: Node<'_>) -> Option<&'t str> {
        let function = self.source(call.child_by_field_name("function")?);
        match function.split_once('.') {
            Some(("setuptools", name)) => self.imported.contains("setuptools").then_some(name),
            Some(_) => None,
            None => self.imported.contains(function).then_some(function),
        }
    }

    fn setup(&self, call: Node<'_>) -> Option<SetupCall> {
        let mut setup = SetupCall::default();
        for argument in parts(call.child_by_field_name("arguments")?) {
            let (keyword, value) = self.keyword(argument)?;
            if ACTIVE.contains(&keyword) {
                return None;
            }
            match keyword {
                "name" => setup.name = self.value(value)?.optional_text()?,
                "version" => setup.version = self.value(value)?.optional_text()?,
                "install_requires" => setup.install_requires = self.value(value)?.optional_texts()?,
                "packages" => setup.packages = self.packages(value)?,
                "package_dir" => setup.package_dir = self.value(value)?.text_map()?,
                "py_modules" => setup.py_modules = self.value(value)?.optional_texts()?.unwrap_or_default(),
                other => {
                    self.value(value)?;
                    setup.other.push(other.to_owned());
                }
            }
        }
        Some(setup)
    }

    fn keyword<'n>(&self, argument: Node<'n>) -> Option<(&'t str, Node<'n>)> {
        let name = argument.child_by_field_name("name").filter(|_| argument.kind() == "keyword_argument")?;
        Some((self.source(name), argument.child_by_field_name("value")?))
    }

    /// A literal, or the name of one. Only whole values may be names: lists of lists of names could grow
    /// without bounds.
    fn value(&self, node: Node<'_>) -> Option<Value> {
        match node.kind() {
            "identifier" => self.assigned.get(self.source(node)).cloned(),
            _ => literal::value(node, self.text),
        }
    }

    fn packages(&self, node: Node<'_>) -> Option<Packages> {
        if node.kind() == "call" {
            return self.find(node);
        }
        let listed = self.value(node)?.optional_texts()?;
        Some(listed.map_or(Packages::Absent, Packages::Listed))
    }

    fn find(&self, call: Node<'_>) -> Option<Packages> {
        let namespaces = match self.callee(call)? {
            "find_packages" => false,
            "find_namespace_packages" => true,
            _ => return None,
        };
        let (mut folder, mut include, mut exclude) = (".".to_owned(), Vec::new(), Vec::new());
        for (position, argument) in parts(call.child_by_field_name("arguments")?).into_iter().enumerate() {
            let positional = ["where", "exclude", "include"].get(position).map(|name| (*name, argument));
            let (name, value) = self.keyword(argument).or(positional)?;
            match name {
                "where" => folder = self.value(value)?.text()?,
                "exclude" => exclude = self.value(value)?.texts()?,
                "include" => include = self.value(value)?.texts()?,
                _ => return None,
            }
        }
        Some(Packages::Find { where_: folder, namespaces, include, exclude })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    fn found(folder: &str, namespaces: bool, include: &[&str], exclude: &[&str]) -> Packages {
        Packages::Find {
            where_: folder.to_owned(),
            namespaces,
            include: strings(include),
            exclude: strings(exclude),
        }
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
            version: Some("1.2.3".to_owned()),
            install_requires: Some(strings(&["httpx>=0.27", "pydantic ; python_version >= \"3.10\""])),
            packages: found("src", false, &[], &["tests", "tests.*"]),
            package_dir: BTreeMap::from([(String::new(), "src".to_owned())]),
            py_modules: strings(&["one", "two"]),
            other: strings(&["python_requires", "extras_require", "zip_safe"]),
        };
        assert_eq!(setup_call(text), Some(expected.clone()));
        assert_eq!(setup_call(&text.replace('\n', "\r\n")), Some(expected));
    }

    #[test]
    fn packages_are_listed_or_found() {
        for (value, expected) in [
            ("None", Packages::Absent),
            ("[]", Packages::Listed(vec![])),
            ("['a', 'a.b']", Packages::Listed(strings(&["a", "a.b"]))),
            ("find_packages()", found(".", false, &[], &[])),
            ("setuptools.find_packages(where='src')", found("src", false, &[], &[])),
            ("find_namespace_packages('src', include=['a*'])", found("src", true, &["a*"], &[])),
            ("find_packages('src', ['x'], ['y'])", found("src", false, &["y"], &["x"])),
        ] {
            let imports = "import setuptools\nfrom setuptools import *NAMES*\n"
                .replace("*NAMES*", "setup, find_packages, find_namespace_packages");
            let call = setup_call(&format!("{imports}setup(packages={value})"));
            assert_eq!(call.map(|call| call.packages), Some(expected), "{value}");
        }
    }

    #[test]
    fn an_empty_call_and_a_qualified_one_are_read() {
        for text in ["from setuptools import setup\nsetup()", "import setuptools\nsetuptools.setup()"] {
            assert_eq!(setup_call(text), Some(SetupCall::default()), "{text}");
        }
    }

    #[test]
    fn anything_else_at_the_top_level_must_be_run() {
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
    fn any_other_value_must_be_run() {
        for arguments in [
            "'demo'",
            "*args",
            "**kwargs",
            "name=f'demo'",
            "name=b'demo'",
            "name=NAME",
            "name=1",
            "name='a' + 'b'",
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
}
