//! What a Python module binds at its top level.

use std::collections::HashSet;

use tree_sitter::Node;

use super::{Bindings, parts, source, walk};

/// Looks at the module `root`, the tree of `text`, as far as is needed to tell about `name`.
pub(super) fn look<'t>(root: Node<'_>, text: &'t str, name: &str) -> Bindings<'t> {
    let mut module =
        Module { text, found: Bindings::default(), deleted: HashSet::new(), skipped: HashSet::new() };
    walk(root, |node| module.enter(node));
    let Module { mut found, deleted, .. } = module;
    for name in deleted {
        found.visible.shift_remove(name);
        found.unsure.insert(name);
    }
    found.open |= found.visible.contains("__getattr__") || root.has_error();
    // The second walk goes through every function, so it is kept for names that are not plainly there.
    if !found.visible.contains(name) {
        found.open = found.open || may_bind_dynamically(root, text, name);
    }
    found
}

struct Module<'t> {
    text: &'t str,
    found: Bindings<'t>,
    deleted: HashSet<&'t str>,
    /// The ids of the nodes whose bindings are not the module's, noted before the walk reaches them.
    skipped: HashSet<usize>,
}

impl<'t> Module<'t> {
    /// Notes what `node` itself binds and says whether anything inside it can bind more.
    fn enter(&mut self, node: Node<'_>) -> bool {
        if self.skipped.contains(&node.id()) {
            return false;
        }
        match node.kind() {
            "function_definition" | "class_definition" => {
                self.bind_field(node, "name");
                self.skip(node, "body");
            }
            "lambda" => self.skip(node, "body"),
            "if_statement" | "elif_clause" if self.is_for_type_checkers(node) => {
                self.skip(node, "consequence")
            }
            "except_clause" => self.skip_alias(node),
            // An annotation alone (`graph: Graph`) binds nothing.
            "assignment" if node.child_by_field_name("right").is_none() => return false,
            "assignment" | "augmented_assignment" | "for_statement" => self.bind_field(node, "left"),
            "named_expression" => self.bind_field(node, "name"),
            // What `with` names, and what `*` and `**` collect in a `case`.
            "as_pattern_target" | "splat_pattern" => self.bind(node),
            // Outside imports, only a `case` has these: a bare name captures, a dotted one is a value.
            "dotted_name" if node.named_child_count() == 1 => self.bind(node),
            "class_pattern" => self.skip_first(node),
            "as_pattern" => self.bind_capture(node),
            "type_alias_statement" => {
                self.bind_alias(node);
                return false;
            }
            "import_statement" | "import_from_statement" | "future_import_statement" => {
                self.import(node);
                return false;
            }
            "delete_statement" => {
                let names = self.names_in(node);
                self.deleted.extend(names);
                return false;
            }
            // What stands in an unreadable stretch may be anything.
            "ERROR" => return false,
            _ => {}
        }
        true
    }

    fn skip(&mut self, node: Node<'_>, field: &str) {
        self.skipped.extend(node.child_by_field_name(field).map(|child| child.id()));
    }

    /// The class in `case Point(x=0)` is looked up, not bound.
    fn skip_first(&mut self, pattern: Node<'_>) {
        self.skipped.extend(pattern.named_child(0).map(|class| class.id()));
    }

    /// `case … as name`, where the name is a bare identifier; elsewhere `as` has a target node.
    fn bind_capture(&mut self, pattern: Node<'_>) {
        if let Some(last) = parts(pattern).last().filter(|last| last.kind() == "identifier") {
            self.bind_name(*last);
        }
    }

    /// `except E as e` unbinds `e` again at its end.
    fn skip_alias(&mut self, clause: Node<'_>) {
        let alias = clause.child_by_field_name("value").and_then(|value| value.child_by_field_name("alias"));
        self.skipped.extend(alias.map(|alias| alias.id()));
    }

    /// Whether `statement` is `if TYPE_CHECKING:`, whose block never runs.
    fn is_for_type_checkers(&self, statement: Node<'_>) -> bool {
        let condition = statement.child_by_field_name("condition");
        condition.is_some_and(|condition| {
            let name = condition.child_by_field_name("attribute").unwrap_or(condition);
            source(name, self.text) == "TYPE_CHECKING"
        })
    }

    fn bind_field(&mut self, node: Node<'_>, field: &str) {
        if let Some(target) = node.child_by_field_name(field) {
            self.bind(target);
        }
    }

    fn bind(&mut self, target: Node<'_>) {
        let names = self.names_in(target);
        self.found.visible.extend(names);
    }

    fn bind_name(&mut self, name: Node<'_>) {
        self.found.visible.insert(source(name, self.text));
    }

    /// The names in an assignment's target: not those in `a.b` or `a[b]`, which bind nothing here.
    fn names_in(&self, target: Node<'_>) -> Vec<&'t str> {
        let mut names = Vec::new();
        walk(target, |node| {
            if node.kind() == "identifier" {
                names.push(source(node, self.text));
            }
            !matches!(node.kind(), "attribute" | "subscript" | "call" | "ERROR")
        });
        names
    }

    /// `type Name = …` and `type Name[T] = …`: the name is the first identifier.
    fn bind_alias(&mut self, statement: Node<'_>) {
        let Some(left) = statement.child_by_field_name("left") else { return };
        if let Some(name) = self.names_in(left).first() {
            self.found.visible.insert(name);
        }
    }

    fn import(&mut self, statement: Node<'_>) {
        self.found.open |= parts(statement).iter().any(|part| part.kind() == "wildcard_import");
        for name in statement.children_by_field_name("name", &mut statement.walk()) {
            // `import a.b` binds `a`; a name that `from` imports has one part.
            let bound = name.child_by_field_name("alias").or_else(|| name.named_child(0));
            if let Some(bound) = bound {
                self.bind_name(bound);
            }
        }
    }
}

/// Whether anything, at any depth, may put `name` among the module's names without saying so plainly.
fn may_bind_dynamically(root: Node<'_>, text: &str, name: &str) -> bool {
    let mut found = false;
    walk(root, |node| {
        found |= match node.kind() {
            "call" => is_dynamic_call(node, text),
            "attribute" => source(node, text) == "sys.modules",
            "global_statement" => parts(node).iter().any(|part| source(*part, text) == name),
            "exec_statement" => true,
            _ => false,
        };
        !found
    });
    found
}

/// `exec(…)`, `globals()`, `vars()` and `locals()`; the latter two give the module's names at its top level.
fn is_dynamic_call(call: Node<'_>, text: &str) -> bool {
    let Some(function) = call.child_by_field_name("function") else { return false };
    let bare = || call.child_by_field_name("arguments").is_some_and(|arguments| parts(arguments).is_empty());
    match source(function, text) {
        "exec" | "globals" => true,
        "vars" | "locals" => bare(),
        _ => false,
    }
}
