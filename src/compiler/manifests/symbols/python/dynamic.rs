//! What puts names into a Python module without saying so plainly.

use std::collections::HashSet;

use tree_sitter::Node;

use crate::compiler::manifests::symbols::{parts, source, walk};

/// What leads to a module's names, wherever it is mentioned.
const WAYS: &[&str] = &["f_globals", "__globals__", "modules", "builtins", "__builtins__", "__import__"];

/// Functions that do so; a method of the same name is another thing.
const FUNCTIONS: &[&str] = &["exec", "eval", "globals"];

/// Of no argument, or called by another name, these give the module's names at its top level.
const BARE: &[&str] = &["vars", "locals"];

/// Callables that are often given a module's name and do nothing to the module, beside those for logs.
const HARMLESS: &[&str] =
    &["print", "Flask", "Blueprint", "Celery", "files", "version", "get_tracer", "get_meter"];

/// Whether anything, at any depth, may put `name` among the module's names.
pub(super) fn may_bind(root: Node<'_>, text: &str, name: &str) -> bool {
    let mut look =
        Look { text, name, members: HashSet::new(), settled: HashSet::new(), quiet: 0, found: false };
    walk(root, |node| {
        look.enter(node);
        !look.found
    });
    look.found
}

struct Look<'t> {
    text: &'t str,
    name: &'t str,
    /// The ids of names that mean a member of something, noted before the walk reaches them.
    members: HashSet<usize>,
    /// The ids of names that mean nothing here.
    settled: HashSet<usize>,
    /// Up to this byte, `__name__` does nothing.
    quiet: usize,
    found: bool,
}

impl Look<'_> {
    fn enter(&mut self, node: Node<'_>) {
        let id = |field| node.child_by_field_name(field).map(|name| name.id());
        match node.kind() {
            "identifier" => self.found |= self.is_way(node),
            "exec_statement" => self.found = true,
            "attribute" => self.members.extend(id("attribute")),
            "keyword_argument" | "function_definition" => self.settled.extend(id("name")),
            "global_statement" => {
                let names = parts(node).into_iter().map(|part| source(part, self.text));
                self.found |= names.into_iter().any(|it| it == self.name || !it.is_ascii());
            }
            // `__name__ == "__main__"`
            "comparison_operator" if parts(node).iter().any(|part| self.is_module_name(*part)) => {
                self.quiet = self.quiet.max(node.end_byte());
            }
            "call" => self.call(node),
            _ => {}
        }
    }

    fn is_way(&self, identifier: Node<'_>) -> bool {
        let name = source(identifier, self.text);
        let is_member = || self.members.contains(&identifier.id());
        let is_way = WAYS.contains(&name)
            || FUNCTIONS.contains(&name) && !is_member()
            || BARE.contains(&name) && !is_member()
            || self.is_module_name(identifier) && identifier.start_byte() >= self.quiet && !is_member();
        is_way && !self.settled.contains(&identifier.id())
    }

    fn is_module_name(&self, node: Node<'_>) -> bool {
        source(node, self.text) == "__name__"
    }

    fn call(&mut self, call: Node<'_>) {
        let Some(function) = call.child_by_field_name("function") else { return };
        let arguments = call.child_by_field_name("arguments");
        if BARE.contains(&source(function, self.text)) && arguments.is_some_and(|it| !parts(it).is_empty()) {
            self.settled.insert(function.id());
        }
        let owner = function.child_by_field_name("object").map_or("", |object| self.last_name(object));
        let name = self.last_name(function);
        if HARMLESS.contains(&name) || is_of_logs(name) || is_of_logs(owner) {
            self.quiet = self.quiet.max(call.end_byte());
        }
    }

    /// `b` of `a.b`; of what is no name, all.
    fn last_name(&self, node: Node<'_>) -> &str {
        source(node.child_by_field_name("attribute").unwrap_or(node), self.text)
    }
}

/// `getLogger`, `structlog.get_logger`, `self.logger.info`.
fn is_of_logs(name: &str) -> bool {
    let name = name.trim_start_matches('_');
    ["log", "logger", "logging", "getLogger", "get_logger", "getChild"]
        .iter()
        .any(|it| it.eq_ignore_ascii_case(name))
}
