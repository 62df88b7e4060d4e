//! A configuration that is open in the editor.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use lsp_types::{TextDocumentContentChangeEvent, Uri};

use super::text::Text;
use super::uri;
use crate::compiler::front::dialect::CONFIGURATIONS;
use crate::compiler::graph::Graph;
use crate::compiler::tree::Tree;
use crate::compiler::{self, Analysis, Options, analyze_for};
use crate::project::DiskFiles;

/// An open configuration: its text comes from the editor, and the project around it from the disk.
pub(super) struct Buffer {
    pub(super) uri: Uri,
    pub(super) version: i32,
    pub(super) text: Text,
    /// The project around it.
    pub(super) files: DiskFiles,
    /// The file's name, which selects the dialect.
    name: String,
    analysis: OnceCell<Analysis>,
    /// Whether the editor has the findings of this state.
    pub(super) is_published: bool,
}

impl Buffer {
    /// The document at `uri`, if it is a configuration.
    pub(super) fn new(uri: Uri, version: i32, text: Text) -> Option<Self> {
        let path = uri::to_path(&uri)?;
        let name = path.file_name()?.to_str().filter(|name| CONFIGURATIONS.contains(name))?.to_owned();
        let files = DiskFiles::new(path.parent()?);
        Some(Self { uri, version, text, files, name, analysis: OnceCell::new(), is_published: false })
    }

    /// Applies edits.
    pub(super) fn change(&mut self, version: i32, changes: &[TextDocumentContentChangeEvent]) {
        changes.iter().for_each(|change| self.text.change(change));
        self.version = version;
        self.invalidate();
    }

    /// Forgets the findings: the text or a file of the project has changed.
    pub(super) fn invalidate(&mut self) {
        self.analysis = OnceCell::new();
        self.files = self.files.refreshed();
        self.is_published = false;
    }

    /// The text, parsed and checked.
    pub(super) fn analysis(&self) -> &Analysis {
        let analyzed = || {
            let files = Tree::new(self.files.refreshed());
            analyze_for(&Options::default(), &self.name, self.text.as_str(), &files)
        };
        self.analysis.get_or_init(analyzed)
    }

    /// The graphs of the configuration, as [`compiler::graphs`] reads them.
    pub(super) fn graphs(&self) -> Vec<(String, String, Option<Graph>)> {
        compiler::graphs(&self.name, self.text.as_str(), &Tree::new(self.files.refreshed()))
    }

    /// The path on disk of `path`, which is normalised and relative to the configuration's directory. Links of the project
    /// stay as they are, but `..` leads to the real parent.
    pub(super) fn locate(&self, path: &str) -> PathBuf {
        let located = self.files.locate(path);
        if Path::new(path).starts_with("..") { located.canonicalize().unwrap_or(located) } else { located }
    }
}
