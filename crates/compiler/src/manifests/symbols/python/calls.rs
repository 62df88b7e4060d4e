//! Calls of imported functions at the top level of a Python module.

use std::collections::BTreeMap;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;

use crate::manifests::symbols::{Call, Names};

/// The keywords of the calls in the statements of a module whose names are `names`.
pub(super) fn read(suite: &[Stmt], names: &Names) -> Vec<Call> {
    let mut reader = Reader { functions: functions(suite, names), found: Vec::new() };
    for statement in suite {
        match statement {
            Stmt::Assign(it) => reader.visit_expr(&it.value),
            Stmt::AnnAssign(it) => it.value.iter().for_each(|value| reader.visit_expr(value)),
            Stmt::Expr(it) => reader.visit_expr(&it.value),
            _ => {}
        }
    }
    reader.found
}

/// The dotted names of the functions that are imported under names which nothing else binds.
fn functions<'a>(suite: &'a [Stmt], names: &Names) -> BTreeMap<&'a str, String> {
    let mut found = BTreeMap::new();
    for import in suite.iter().filter_map(Stmt::as_import_from_stmt).filter(|import| import.level == 0) {
        let Some(module) = &import.module else { continue };
        for alias in &import.names {
            let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
            if names.is_bound_once(name) {
                found.insert(name, format!("{module}.{}", alias.name));
            }
        }
    }
    found
}

struct Reader<'a> {
    functions: BTreeMap<&'a str, String>,
    found: Vec<Call>,
}

impl<'a> Visitor<'a> for Reader<'_> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            // The expressions inside run later, not always, or with other names.
            Expr::Lambda(_)
            | Expr::If(_)
            | Expr::BoolOp(_)
            | Expr::Generator(_)
            | Expr::ListComp(_)
            | Expr::SetComp(_)
            | Expr::DictComp(_) => return,
            Expr::Call(call) => {
                let name = call.func.as_name_expr().map(|name| name.id.as_str());
                let function = name.and_then(|name| self.functions.get(name));
                if let Some(function) = function {
                    let keywords = call.arguments.keywords.iter();
                    self.found.extend(keywords.filter_map(|keyword| {
                        let name = keyword.arg.as_ref()?.to_string();
                        Some(Call { function: function.clone(), keyword: name, span: keyword.range().into() })
                    }));
                }
            }
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }
}
