//! Proposals for values that name a file or a directory, or a name in a file.

use lsp_types::CompletionItemKind;

use super::Proposal;
use crate::compiler::files::{FileKind, Files};
use crate::compiler::front::keys::{Form, Holds, Languages, row};
use crate::compiler::manifests::symbols::{Kind, Language, Module};
use crate::compiler::paths;
use crate::diagnostic::Pointer;
use crate::lsp::buffer::Buffer;

/// Directories that no configuration names.
const SKIPPED: &[&str] = &["__pycache__", "node_modules"];

/// The value `.`, the project itself.
const PROJECT: &str = ".";

/// The kind of path that a value may name.
enum Wanted {
    Directory,
    File,
    /// A file of these languages, and a name in it unless the form is [`Form::File`].
    Code(Form, Languages),
}

impl Wanted {
    /// The kind of path that the value at `pointer` is, if it is one.
    fn at(pointer: &Pointer) -> Option<Self> {
        let is_dependency = || {
            let parent = pointer.parent()?;
            row(&parent).filter(|row| row.holds == Holds::Dependencies)
        };
        match row(pointer).or_else(is_dependency)?.holds {
            Holds::Dependencies => Some(Self::Directory),
            Holds::Environment | Holds::File => Some(Self::File),
            Holds::Reference(form, languages, _) => Some(Self::Code(form, languages)),
            Holds::Plain => None,
        }
    }

    fn takes(&self, name: &str) -> bool {
        match self {
            Self::Directory => false,
            Self::File => true,
            Self::Code(_, languages) => match (Language::of(name), languages) {
                (None, _) => false,
                (Some(language), Languages::Python) => language == Language::Python,
                (Some(language), Languages::Component) => language != Language::Python,
                (Some(_), Languages::Any | Languages::Server) => true,
            },
        }
    }
}

/// The proposals for the value at `pointer`, of which `typed` is there already.
pub(super) fn proposals(buffer: &Buffer, pointer: &Pointer, typed: &str) -> Vec<Proposal> {
    let wanted = match pointer.as_str() {
        "/source/root" => Some(Wanted::Directory),
        _ => Wanted::at(pointer),
    };
    match (wanted, typed.rsplit_once(':')) {
        (None, _) => Vec::new(),
        (Some(Wanted::Code(form, _)), Some((file, _))) if form != Form::File => names(buffer, file),
        (Some(wanted), _) => entries(buffer, &wanted, typed),
    }
}

/// The names that `file` defines.
fn names(buffer: &Buffer, file: &str) -> Vec<Proposal> {
    let path = paths::normalize(file);
    let module =
        Language::of(&path).and_then(|language| Some(Module::new(language, buffer.files.text(&path)?, None)));
    let Some(module) = module else { return Vec::new() };
    let public = module.names().filter(|(name, _)| !name.starts_with('_'));
    let proposal = |(name, kind): (&str, Option<Kind>)| {
        let kind = match kind {
            Some(Kind::Class) => CompletionItemKind::CLASS,
            Some(Kind::Function) => CompletionItemKind::FUNCTION,
            Some(Kind::Literal(_)) => CompletionItemKind::CONSTANT,
            None => CompletionItemKind::VARIABLE,
        };
        Proposal { label: name.to_owned(), ..Proposal::new(format!("{file}:{name}"), kind) }
    };
    public.map(proposal).collect()
}

/// The entries of the directory that `typed` leads to.
fn entries(buffer: &Buffer, wanted: &Wanted, typed: &str) -> Vec<Proposal> {
    let directory = typed.rfind('/').map_or("./", |end| &typed[..=end]);
    let path = paths::normalize(directory);
    let linked = buffer.files.linked_directories(&path);
    let linked = linked.into_iter().map(|name| (name, FileKind::Directory));
    let listed = buffer.files.list(&path).into_iter().chain(linked);
    let shown = listed.filter(|(name, kind)| match kind {
        FileKind::Directory => !name.starts_with('.') && !SKIPPED.contains(&name.as_str()),
        FileKind::File => wanted.takes(name),
    });
    let project = matches!(wanted, Wanted::Directory) && directory == "./";
    let project = project.then(|| Proposal::new(PROJECT, CompletionItemKind::FOLDER));
    project.into_iter().chain(shown.map(|(name, kind)| entry(directory, wanted, &name, kind))).collect()
}

fn entry(directory: &str, wanted: &Wanted, name: &str, kind: FileKind) -> Proposal {
    let (end, icon) = match (kind, wanted) {
        (FileKind::Directory, Wanted::Directory) => ("", CompletionItemKind::FOLDER),
        (FileKind::Directory, _) => ("/", CompletionItemKind::FOLDER),
        (FileKind::File, Wanted::Code(form, _)) if *form != Form::File => (":", CompletionItemKind::FILE),
        (FileKind::File, _) => ("", CompletionItemKind::FILE),
    };
    let label = format!("{name}{}", if end == "/" { end } else { "" });
    Proposal { label, ..Proposal::new(format!("{directory}{name}{end}"), icon) }
}
