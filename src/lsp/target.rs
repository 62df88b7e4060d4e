//! The files that a configuration names: go to definition, and links.

use std::ops::Range;

use lsp_types::{DocumentLink, GotoDefinitionResponse, Location};

use super::buffer::Buffer;
use super::text::{Encoding, Text};
use super::{place, uri};
use crate::compiler::files::Files;
use crate::compiler::front::reference::{self, Reference};
use crate::compiler::manifests::symbols::{Language, Module};
use crate::compiler::paths;
use crate::diagnostic::{Place, Pointer};

/// A file that is named in the configuration.
struct Target {
    pointer: Pointer,
    /// The bytes of the path in the string at `pointer`.
    part: Range<usize>,
    /// Normalised, relative to the configuration's directory.
    path: String,
    /// The name in the file, or nothing.
    name: String,
}

/// The definition of the name, or else the file, that the value at `offset` names.
pub(super) fn definition(
    buffer: &Buffer,
    offset: usize,
    encoding: Encoding,
) -> Option<GotoDefinitionResponse> {
    let spot = place::at(&buffer.analysis().document, offset);
    let target = targets(buffer).into_iter().find(|target| target.pointer == spot.pointer)?;
    let uri = uri::from_path(&buffer.locate(&target.path))?;
    let range = symbol(buffer, &target, encoding).unwrap_or_default();
    Some(GotoDefinitionResponse::Scalar(Location { uri, range }))
}

/// A link for each file that exists.
pub(super) fn links(buffer: &Buffer) -> Vec<DocumentLink> {
    let link = |target: Target| {
        let span = buffer.analysis().document.span(&Place::Within(target.pointer, target.part));
        let target = Some(uri::from_path(&buffer.locate(&target.path))?);
        Some(DocumentLink { range: buffer.text.range(&span), target, tooltip: None, data: None })
    };
    targets(buffer).into_iter().filter_map(link).collect()
}

/// The place of the name in the file.
fn symbol(buffer: &Buffer, target: &Target, encoding: Encoding) -> Option<lsp_types::Range> {
    let text = buffer.files.text(&target.path)?;
    let module = Module::new(Language::of(&target.path)?, text, None);
    let first = target.name.split('.').next().unwrap_or_default();
    let span = module.definition(first)?;
    Some(Text::new(module.text().to_owned(), encoding).range(&span))
}

/// All files that the configuration names and that exist.
fn targets(buffer: &Buffer) -> Vec<Target> {
    let value = buffer.analysis().document.to_value();
    let references = reference::all(&value).into_iter().filter_map(|located| match located.parse() {
        Ok(Reference::File { path, name }) => {
            Some(Target { part: located.path_part(), pointer: located.pointer, path, name })
        }
        _ => None,
    });
    let plain = reference::files(&value).map(|file| Target {
        pointer: file.pointer,
        part: 0..file.path.len(),
        path: paths::normalize(&file.path),
        name: String::new(),
    });
    references.chain(plain).filter(|target| buffer.files.is_file(&target.path)).collect()
}
