//! What a module puts on CommonJS's `exports`.

use std::collections::HashSet;

use tree_sitter::Node;

use super::unquoted;
use crate::compiler::manifests::symbols::{Bindings, parts, source, walk};

/// Adds to `found` what the module `root`, the tree of `text`, puts on `exports` or `module.exports`, and on `this`
/// where that is the same.
///
/// Every mention counts: one that is not plainly a read or the write of a known name may write any name.
pub(super) fn look<'t>(root: Node<'_>, text: &'t str, found: &mut Bindings<'t>) {
    let is_script =
        !parts(root).iter().any(|it| matches!(it.kind(), "export_statement" | "import_statement"));
    // Exports stand at any depth, and need one of these words; `this` is something only in a script.
    let words: &[&str] =
        if is_script { &["exports", "module", "this", "eval"] } else { &["exports", "module"] };
    if !words.iter().any(|word| text.contains(word)) {
        return;
    }
    let mut bodies = vec![(root, true, is_script)];
    while let Some((body, certain, is_this)) = bodies.pop() {
        let mut mentions = Mentions { text, found: &mut *found, certain, is_this, settled: HashSet::new() };
        walk(body, |node| {
            if node != body && (is_function(node) || node.kind() == "class_body") {
                let is_arrow = node.kind() == "arrow_function";
                bodies.push((node, certain && !is_function(node), is_this && is_arrow));
                return false;
            }
            mentions.enter(node)
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
    /// Whether `this` is `module.exports`.
    is_this: bool,
    /// The ids of the mentions that are understood, noted before the walk reaches them.
    settled: HashSet<usize>,
}

impl<'t> Mentions<'_, 't> {
    /// Settles the mentions directly below `node`, and says whether to look inside it.
    fn enter(&mut self, node: Node<'_>) -> bool {
        if self.settled.contains(&node.id()) {
            return false;
        }
        if self.is_exports(node) || self.is(node, "module") {
            self.found.open = true;
            return false;
        }
        match node.kind() {
            "assignment_expression" => self.assignment(node),
            "variable_declarator" => self.alias(node.child_by_field_name("value")),
            "member_expression" | "subscript_expression" => self.read(node),
            "call_expression" => self.call(node),
            // `typeof exports`, and a function's own parameter of this name.
            "unary_expression" | "formal_parameters" | "required_parameter" => {
                let mut mentions = parts(node);
                mentions.retain(|part| self.is_exports(*part) || self.is(*part, "module"));
                mentions.into_iter().for_each(|part| self.settle(part));
            }
            // `this && …`
            "binary_expression"
                if node.child_by_field_name("operator").is_some_and(|it| it.kind() == "&&") =>
            {
                let left =
                    node.child_by_field_name("left").filter(|left| self.is_this && left.kind() == "this");
                left.into_iter().for_each(|this| self.settle(this));
            }
            _ => {}
        }
        true
    }

    fn settle(&mut self, mention: Node<'_>) {
        self.settled.insert(mention.id());
        // Importers in ECMAScript modules get `module.exports` itself as the default.
        self.found.unsure.insert("default");
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
        self.is(node, "exports") || self.is_module_exports(node) || self.is_this && node.kind() == "this"
    }

    /// Whether `node` is a member of the exports.
    fn is_member(&self, node: Node<'_>) -> bool {
        node.child_by_field_name("object").is_some_and(|object| self.is_exports(object))
    }

    /// The name that a member of the exports has: `exports.name`, `exports["name"]`.
    fn member_name(&self, member: Node<'_>) -> Option<&'t str> {
        let name = member.child_by_field_name("property").or_else(|| member.child_by_field_name("index"))?;
        matches!(name.kind(), "property_identifier" | "string").then(|| unquoted(source(name, self.text)))
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

    fn assignment(&mut self, assignment: Node<'_>) {
        let right = assignment.child_by_field_name("right");
        let Some(left) = assignment.child_by_field_name("left") else { return };
        if self.is_exports(left) {
            self.settle(left);
            self.replace(left, right);
            return;
        }
        self.alias(right);
        if let Some(name) = self.member_name(left).filter(|_| self.is_member(left)) {
            self.settle(left);
            self.export(name);
        }
    }

    /// `module.exports = …` sets all names. A mere `exports = …` sets none, and is mostly a part of
    /// `module.exports = exports = …`, which we do not follow.
    fn replace(&mut self, left: Node<'_>, right: Option<Node<'_>>) {
        match right {
            Some(object) if object.kind() == "object" && self.is_module_exports(left) => {
                parts(object).into_iter().for_each(|part| self.property(part));
            }
            // The inner assignment is looked at when the walk reaches it.
            Some(inner) if self.assigns_exports(inner) => {}
            _ => self.found.open = true,
        }
    }

    /// `const api = module.exports = {}`: more may be added through the other name.
    fn alias(&mut self, value: Option<Node<'_>>) {
        self.found.open |= value.is_some_and(|value| self.assigns_exports(value));
    }

    fn assigns_exports(&self, node: Node<'_>) -> bool {
        node.kind() == "assignment_expression"
            && node.child_by_field_name("left").is_some_and(|left| self.is_exports(left))
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

    /// `exports.name` other than at the left of `=`: mostly a read, yet `[exports.name] = …` writes it.
    fn read(&mut self, member: Node<'_>) {
        let Some(object) = member.child_by_field_name("object") else { return };
        if self.is_exports(object) {
            self.settle(object);
            match self.member_name(member) {
                Some(name) => self.found.unsure.extend([name]),
                None => self.found.open = true,
            }
        } else if self.is(object, "module") && member.kind() == "member_expression" {
            self.settle(object);
        }
    }

    /// `Object.defineProperty(exports, "name", …)`, the only call with the exports that we know.
    fn call(&mut self, call: Node<'_>) {
        let function = call.child_by_field_name("function");
        self.found.open |= function.is_some_and(|name| self.is(name, "eval"));
        let defines = function.is_some_and(|name| source(name, self.text) == "Object.defineProperty");
        let Some(arguments) = call.child_by_field_name("arguments").filter(|_| defines) else { return };
        if let [exports, name, ..] = *parts(arguments)
            && name.kind() == "string"
            && self.is_exports(exports)
        {
            self.settle(exports);
            self.export(unquoted(source(name, self.text)));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::compiler::manifests::symbols::Definition::{self, Defined, NotExported, Unknown};
    use crate::compiler::manifests::symbols::{Language, define};

    fn missing(names: &[&str]) -> Definition {
        Definition::Missing { names: names.iter().map(|name| (*name).to_owned()).collect() }
    }

    #[test]
    fn graph_is_looked_for_on_the_exports() {
        for (text, expected) in [
            ("exports.graph = 1", Defined),
            ("exports['graph'] = 1", Defined),
            ("module.exports.graph = 1", Defined),
            ("exports.a = exports.graph = void 0", Defined),
            ("if (x) { exports.graph = 1 }", Defined),
            ("module.exports = { graph }", Defined),
            ("module.exports = { a, 'graph': 1 }", Defined),
            ("module.exports = { ...a, async graph() {} }", Defined),
            ("exports = module.exports = { graph }", Defined),
            ("module.exports = f(); module.exports.graph = 1", Defined),
            ("0 && (module.exports = { graph }); module.exports = wrap(x)", Defined),
            ("Object.defineProperty(exports, 'graph', { get() { return 1 } })", Defined),
            ("Object.defineProperty(exports, '__esModule', {}); exports.a = 1", missing(&["a"])),
            ("module.exports = { a, b: graph, c: { graph } }", missing(&["a", "b", "c"])),
            ("module.exports = { a }; const x = module.exports.a", missing(&["a"])),
            ("if (typeof exports === 'object') {}", missing(&[])),
            ("exports.graphs = 1; // exports.graph = 1", missing(&["graphs"])),
            ("other.exports = { graph }", missing(&[])),
            ("const graph = 1; module.exports = { a: graph }", NotExported),
            ("module.exports = graph", Unknown),
            ("module.exports = exports = { graph }", Unknown),
            ("exports = { graph }", Unknown),
            ("exports.a = module.exports = make()", Unknown),
            ("f(exports, 'graph')", Unknown),
            ("module.exports = { ...a }", Unknown),
            ("module.exports = { [a]: 1 }", Unknown),
            ("module.exports = make()", Unknown),
            ("const api = module.exports = {}; api.graph = 1", Unknown),
            ("api = exports = module.exports = {}; api.graph = 1", Unknown),
            ("const api = exports; api.graph = 1", Unknown),
            ("exports[name] = 1", Unknown),
            ("[exports.graph] = [1]", Unknown),
            ("Object.assign(exports, x)", Unknown),
            ("Object.assign(module.exports, x)", Unknown),
            ("__exportStar(require('./a'), exports)", Unknown),
            ("fill(module)", Unknown),
            ("module['exports'] = { graph }", Unknown),
            ("function f() { exports.graph = 1 }", Unknown),
            ("(function (root, factory) { module.exports = factory() })(this, f)", Unknown),
            ("const f = (exports) => { exports.a = 1 }; f(exports)", Unknown),
            ("this.graph = 1", Defined),
            ("if (x) { this['graph'] = 1 }", Defined),
            ("(function () { this.graph = 1 }).call(this)", Unknown),
            ("const f = () => { this.graph = 1 }", Unknown),
            ("fill(this); const self = this", Unknown),
            ("(function (root) { root.graph = 1 })(this || globalThis)", Unknown),
            ("eval('exports.graph = 1')", Unknown),
            (
                "function F() { this.graph = 1 } class C { x = this.graph; f() { this.graph = 1 } }",
                missing(&[]),
            ),
            ("const help = (this && this.__help) || (() => 1); exports.a = 1", missing(&["a"])),
            ("import x from 'x'; const f = () => this.graph", missing(&[])),
        ] {
            assert_eq!(define(Language::JavaScript, text, "graph"), expected, "{text}");
        }
    }

    #[test]
    fn the_exports_themselves_may_be_the_default() {
        assert_eq!(define(Language::JavaScript, "module.exports = { a }", "default"), Unknown);
        assert_eq!(define(Language::JavaScript, "exports.default = 1", "default"), Defined);
    }

    #[test]
    fn typescript_casts_hide_what_is_written() {
        for text in
            ["(exports as any).graph = 1", "(module as any).exports = { graph }", "exports!.graph = 1"]
        {
            assert_eq!(define(Language::TypeScript, text, "graph"), Unknown, "{text}");
        }
    }
}
