//! The imports of a module at run time: its `import` and `export … from` statements, without those that a compiler of
//! TypeScript removes.

use oxc_syntax::module_record::{
    ExportEntry, ExportImportName, ImportEntry, ImportImportName, ModuleRecord, RequestedModule,
};

use super::{Language, range};
use crate::manifests::symbols::Import;

/// The imports, in source order.
pub(super) fn read(language: Language, text: &str, record: &ModuleRecord<'_>) -> Vec<Import> {
    let requests = record.requested_modules.iter();
    let requests = requests.flat_map(|(module, requests)| requests.iter().map(move |it| (module, it)));
    let imports = requests.filter(|(_, request)| !request.is_type).filter_map(|(module, request)| {
        let names = names(language, text, record, request)?;
        Some(Import { level: 0, module: module.to_string(), names, span: range(request.span) })
    });
    let mut imports: Vec<Import> = imports.collect();
    imports.sort_by_key(|import| import.span.start);
    imports
}

/// The names that a statement takes from its module; none if the statement is removed. A compiler keeps an import of
/// TypeScript only if some name of it is used as a value.
fn names(
    language: Language,
    text: &str,
    record: &ModuleRecord<'_>,
    request: &RequestedModule,
) -> Option<Vec<String>> {
    let statement = request.statement_span;
    let entries = record.import_entries.iter().filter(|entry| entry.statement_span == statement);
    let is_kept = |entry: &&ImportEntry<'_>| {
        language == Language::JavaScript
            || !entry.is_type && is_value(text, range(statement).end, &entry.local_name.name)
    };
    let (kept, left): (Vec<_>, Vec<_>) = entries.partition(is_kept);
    if kept.is_empty() && !left.is_empty() {
        return None;
    }
    let imported = kept.into_iter().filter_map(|entry| match &entry.import_name {
        ImportImportName::Name(name) => Some(name.name.to_string()),
        ImportImportName::NamespaceObject => None,
        ImportImportName::Default(_) => Some("default".to_owned()),
    });
    let passed = record.indirect_export_entries.iter();
    let passed =
        passed.filter(|entry| entry.statement_span == statement && !entry.is_type).filter_map(passed_on);
    Some(imported.chain(passed).collect())
}

fn passed_on(export: &ExportEntry<'_>) -> Option<String> {
    match &export.import_name {
        ExportImportName::Name(name) => Some(name.name.to_string()),
        _ => None,
    }
}

/// Whether the text certainly uses `name` as a value after `start`: it calls it, makes an instance of it, or writes a template
/// for it. Whatever else may be a type.
fn is_value(text: &str, start: usize, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let text = text.get(start..).unwrap_or_default();
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let is_whole = !before.ends_with(|c| is_part(c) || c == '.') && !after.starts_with(is_part);
        let member = after.strip_prefix('.').map_or(after, |member| member.trim_start_matches(is_part));
        is_whole && (member.starts_with(['(', '`']) || before.trim_end().ends_with(" new"))
    })
}
