//! Assignments.

use std::rc::Rc;

use super::{Interpreter, Scope};
use crate::graph::code::{Expr, Kind, Step};
use crate::graph::value::Value;

impl Interpreter<'_> {
    pub(super) fn bind(&mut self, target: &Expr, value: Value, scope: usize) {
        match &target.kind {
            Kind::Name(name) => {
                let Scope { names, level, .. } = &mut self.scopes[scope];
                let old = names.remove(name).filter(|_| self.level > *level);
                names.insert(name.clone(), Value::either(old.into_iter().chain([value]).collect()));
            }
            Kind::List(targets) => {
                let items = value.items().filter(|items| items.len() == targets.len());
                let items = items.unwrap_or_else(|| vec![Value::Unknown; targets.len()]);
                for (target, item) in targets.iter().zip(items) {
                    self.bind(target, item, scope);
                }
            }
            Kind::Map(targets) => {
                for (key, target) in targets {
                    let item = match key.as_ref().map(|key| &key.kind) {
                        Some(Kind::Text(key)) => self.member(&value, key),
                        _ => Value::Unknown,
                    };
                    self.bind(target, item, scope);
                }
            }
            Kind::Chain(base, steps) => self.bind_part(base, steps, value, scope),
            _ => {}
        }
    }

    /// `object.name = value` and `map[key] = value`
    fn bind_part(&mut self, base: &Expr, steps: &[Step], value: Value, scope: usize) {
        let Some((last, steps)) = steps.split_last() else { return };
        let owner = self.eval(base, scope);
        let owner = self.chain(owner, base, steps, scope);
        match (last, owner, &base.kind) {
            (Step::Member(name), Value::Object(at) | Value::Class(at), _) => {
                self.scopes[at].names.insert(name.clone(), value);
            }
            (Step::Index(keys), Value::Map(map), Kind::Name(name)) if steps.is_empty() => {
                let key = keys.first().map_or(Value::Unknown, |key| self.eval(key, scope));
                let key = if self.level > self.scopes[scope].level { Value::Unknown } else { key };
                let map = map.iter().cloned().chain([(key, value)]).collect();
                self.scopes[scope].names.insert(name.clone(), Value::Map(Rc::new(map)));
            }
            _ => {}
        }
    }
}
