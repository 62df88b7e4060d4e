//! What a module puts on CommonJS's `exports`.

use tree_sitter::Node;

use super::unquoted;
use crate::compiler::symbols::{Bindings, parts, source, walk};

/// Adds to `found` what the module `root`, the tree of `text`, puts on `exports` or `module.exports`.
///
/// Every mention counts: one that is not plainly a read or the write of a known name may write any name.
pub(super) fn look<'t>(root: Node<'_>, text: &'t str, found: &mut Bindings<'t>) {
    // Importers in ECMAScript modules get `module.exports` itself as the default.
    found.unsure.insert("default");
    let mut bodies = vec![root];
    while let Some(body) = bodies.pop() {
        let mut mentions = Mentions { text, found: &mut *found, certain: body == root };
        walk(body, |node| {
            if node != body && is_function(node) {
                bodies.push(node);
                return false;
            }
            mentions.note(node)
        });
    }
}

fn is_function(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "function_declaration"
            | "generator_function_declaration"
            | "function_expression"
            | "generator_function"
            | "arrow_function"
            | "method_definition"
    )
}

struct Mentions<'f, 't> {
    text: &'t str,
    found: &'f mut Bindings<'t>,
    /// Whether what is written here runs: a function may never be called.
    certain: bool,
}

impl<'t> Mentions<'_, 't> {
    /// Notes `node` if it mentions the exports, and says whether to look inside it.
    fn note(&mut self, node: Node<'_>) -> bool {
        if self.is_exports(node) {
            self.mention(node);
            return false;
        }
        // `module` handed on as a whole: what happens to its exports is out of sight.
        self.found.open |= self.is(node, "module") && !is_harmless_for_module(node);
        true
    }

    fn is(&self, node: Node<'_>, identifier: &str) -> bool {
        node.kind() == "identifier" && source(node, self.text) == identifier
    }

    fn is_module_exports(&self, node: Node<'_>) -> bool {
        let field = |name| node.child_by_field_name(name);
        node.kind() == "member_expression"
            && field("object").is_some_and(|object| self.is(object, "module"))
            && field("property").is_some_and(|property| source(property, self.text) == "exports")
    }

    /// Whether `node` is `exports` or `module.exports`.
    fn is_exports(&self, node: Node<'_>) -> bool {
        self.is(node, "exports") || self.is_module_exports(node)
    }

    fn mention(&mut self, exports: Node<'_>) {
        let Some(user) = exports.parent() else { return };
        match user.kind() {
            "member_expression" => self.member(user, "property"),
            "subscript_expression" => self.member(user, "index"),
            "assignment_expression" => self.assignment(user, exports),
            "arguments" => self.argument(user),
            // `typeof exports`, and a function's own parameter of this name.
            "unary_expression" | "formal_parameters" | "required_parameter" => {}
            _ => self.found.open = true,
        }
    }

    fn export(&mut self, name: &'t str) {
        // Compilers mark with it what was an ECMAScript module.
        if name == "__esModule" {
            return;
        }
        if self.certain {
            self.found.visible.insert(name);
        } else {
            self.found.unsure.insert(name);
        }
    }

    /// `exports.name` and `exports["name"]`: written if an assignment's left side, else possibly.
    fn member(&mut self, member: Node<'_>, field: &str) {
        let name = member.child_by_field_name(field);
        let Some(name) = name.filter(|name| matches!(name.kind(), "property_identifier" | "string")) else {
            self.found.open = true;
            return;
        };
        let name = unquoted(source(name, self.text));
        let assignment = member.parent().filter(|parent| parent.kind() == "assignment_expression");
        if assignment.and_then(|assignment| assignment.child_by_field_name("left")) == Some(member) {
            self.export(name);
        } else {
            self.found.unsure.insert(name);
        }
    }

    /// `module.exports = …` sets all names, a mere `exports = …` none.
    fn assignment(&mut self, assignment: Node<'_>, exports: Node<'_>) {
        if assignment.child_by_field_name("left") != Some(exports) || self.is_aliased(assignment) {
            self.found.open = true;
        } else if self.is_module_exports(exports) {
            self.replace(assignment);
        }
    }

    /// Whether the assigned value also gets another name, as in `const api = module.exports = {}`.
    fn is_aliased(&self, assignment: Node<'_>) -> bool {
        let mut user = assignment.parent();
        while let Some(outer) = user.filter(|outer| outer.kind() == "assignment_expression") {
            if !outer.child_by_field_name("left").is_some_and(|left| self.is_exports(left)) {
                return true;
            }
            user = outer.parent();
        }
        user.is_some_and(|user| user.kind() == "variable_declarator")
    }

    fn replace(&mut self, assignment: Node<'_>) {
        let mut value = assignment.child_by_field_name("right");
        // `module.exports = exports = {}`
        while let Some(inner) = value.filter(|value| value.kind() == "assignment_expression") {
            value = inner.child_by_field_name("right");
        }
        match value {
            Some(object) if object.kind() == "object" => {
                parts(object).into_iter().for_each(|part| self.property(part));
            }
            _ => self.found.open = true,
        }
    }

    /// One member of `module.exports = { … }`.
    fn property(&mut self, property: Node<'_>) {
        let name = match property.kind() {
            "shorthand_property_identifier" => Some(property),
            "pair" => property.child_by_field_name("key"),
            "method_definition" => property.child_by_field_name("name"),
            _ => None,
        };
        match name.filter(|name| name.kind() != "computed_property_name") {
            Some(name) => self.export(unquoted(source(name, self.text))),
            None => self.found.open = true,
        }
    }

    /// The exports as an argument: `Object.defineProperty(exports, "name", …)` is the only call we know.
    fn argument(&mut self, arguments: Node<'_>) {
        let function = arguments.parent().and_then(|call| call.child_by_field_name("function"));
        let defines = function.is_some_and(|call| source(call, self.text) == "Object.defineProperty");
        match parts(arguments).get(1).filter(|name| defines && name.kind() == "string") {
            Some(name) => self.export(unquoted(source(*name, self.text))),
            None => self.found.open = true,
        }
    }
}

/// Whether a mention of `module` is in `module.something` or `typeof module`.
fn is_harmless_for_module(module: Node<'_>) -> bool {
    module.parent().is_some_and(|user| matches!(user.kind(), "member_expression" | "unary_expression"))
}
