//! The names that a CommonJS module exports.

use oxc_ast::ast::{
    AssignmentExpression, AssignmentTarget, Expression, ObjectPropertyKind, Program, Statement,
};
use oxc_span::GetSpan;

use crate::manifests::symbols::Names;

/// Words that may lead to the exports. A mention other than in a plain assignment could define any name.
const WAYS: &[&str] = &["exports", "module", "this", "eval"];

/// Adds to `names` the names that `program`, a script, exports in plain assignments at its top level.
pub(super) fn read(program: &Program<'_>, names: &mut Names) {
    let mentions: usize = WAYS.iter().map(|word| program.source_text.matches(word).count()).sum();
    if mentions == 0 {
        return;
    }
    let mut exports = Exports { names, understood: 0 };
    for statement in &program.body {
        if let Statement::ExpressionStatement(it) = statement
            && let Expression::AssignmentExpression(assignment) = &it.expression
        {
            exports.assignment(assignment);
        }
    }
    let is_open = exports.understood < mentions;
    names.open |= is_open;
    // Importers in ECMAScript modules get `module.exports` itself as the default.
    names.unsure.insert("default".to_owned());
}

struct Exports<'n> {
    names: &'n mut Names,
    /// Number of mentions of the exports that are plain assignments.
    understood: usize,
}

impl Exports<'_> {
    /// `exports.a = exports.b = …` or `module.exports = { a, b: … }`.
    fn assignment(&mut self, assignment: &AssignmentExpression<'_>) {
        if let AssignmentTarget::StaticMemberExpression(target) = &assignment.left {
            let is_whole = is_name(&target.object, "module") && target.property.name == "exports";
            if let Some(mentions) = exports(&target.object) {
                self.understood += mentions;
                self.export(&target.property.name, &**target);
            } else if let Expression::ObjectExpression(object) = &assignment.right
                && is_whole
            {
                self.understood += 2;
                object.properties.iter().for_each(|property| self.property(property));
            }
        }
        if let Expression::AssignmentExpression(inner) = &assignment.right {
            self.assignment(inner);
        }
    }

    fn property(&mut self, property: &ObjectPropertyKind<'_>) {
        let plain = match property {
            ObjectPropertyKind::ObjectProperty(it) if !it.computed => {
                it.key.static_name().map(|name| (it, name))
            }
            _ => None,
        };
        match plain {
            Some((property, name)) => self.export(&name, &**property),
            None => self.names.open = true,
        }
    }

    fn export(&mut self, name: &str, place: &impl GetSpan) {
        let span = place.span();
        self.names.bind(name, None, span.start as usize..span.end as usize);
    }
}

/// Number of words in `exports` or `module.exports` that count as mentions.
fn exports(object: &Expression<'_>) -> Option<usize> {
    match object {
        Expression::StaticMemberExpression(it) => {
            (is_name(&it.object, "module") && it.property.name == "exports").then_some(2)
        }
        _ => is_name(object, "exports").then_some(1),
    }
}

fn is_name(expression: &Expression<'_>, name: &str) -> bool {
    matches!(expression, Expression::Identifier(it) if it.name == name)
}

#[cfg(test)]
mod tests {
    use crate::manifests::symbols::Definition::{self, Defined, NotExported, Unknown};
    use crate::manifests::symbols::{Language, define};

    fn missing(names: &[&str]) -> Definition {
        Definition::Missing { names: names.iter().map(|name| (*name).to_owned()).collect() }
    }

    #[test]
    fn graph_is_looked_for_on_the_exports() {
        for (text, expected) in [
            ("exports.graph = 1", Defined),
            ("module.exports.graph = 1", Defined),
            ("exports.a = exports.graph = void 0", Defined),
            ("module.exports = { graph }", Defined),
            ("module.exports = { a, 'graph': 1 }", Defined),
            ("module.exports = { ...a, async graph() {} }", Defined),
            ("exports = module.exports = { graph }", Defined),
            ("module.exports = f(); module.exports.graph = 1", Defined),
            ("module.exports = { a, b: graph, c: { graph } }", missing(&["a", "b", "c"])),
            ("exports.a = 1; exports.b = exports.c = 2", missing(&["a", "b", "c"])),
            ("const graph = 1; module.exports = { a: graph }", NotExported),
            ("exports['graph'] = 1", Unknown),
            ("if (x) { exports.graph = 1 }", Unknown),
            ("exports.a = 1; exports.__esModule && f(exports)", Unknown),
            ("Object.defineProperty(exports, 'graph', { get() { return 1 } })", Unknown),
            ("exports.graphs = 1; // exports.graph = 1", Unknown),
            ("other.exports = { graph }", Unknown),
            ("module.exports = graph", Unknown),
            ("exports = { graph }", Unknown),
            ("module.exports = { ...a }", Unknown),
            ("module.exports = { [a]: 1 }", Unknown),
            ("const api = module.exports = {}; api.graph = 1", Unknown),
            ("api = exports = module.exports = {}; api.graph = 1", Unknown),
            ("exports.a = module.exports = make()", Unknown),
            ("[exports.graph] = [1]", Unknown),
            ("__exportStar(require('./a'), exports)", Unknown),
            ("module['exports'] = { graph }", Unknown),
            ("function f() { exports.graph = 1 }", Unknown),
            ("this.graph = 1", Unknown),
            ("eval('exports.graph = 1')", Unknown),
            ("import x from 'x'; const f = () => this.graph", missing(&[])),
        ] {
            assert_eq!(define(Language::JavaScript, text, "graph"), expected, "{text}");
        }
    }

    #[test]
    fn the_exports_themselves_may_be_the_default() {
        assert_eq!(define(Language::JavaScript, "module.exports = { a }", "default"), Unknown);
        assert_eq!(define(Language::JavaScript, "module.exports = f()", "default"), Unknown);
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
