//! The capabilities of the editor, and those of the server.

use lsp_types::{
    CodeActionProviderCapability, CompletionOptions, DidChangeWatchedFilesRegistrationOptions,
    DocumentLinkOptions, FileSystemWatcher, GlobPattern, InitializeParams, InitializeResult, OneOf,
    Registration, RegistrationParams, SaveOptions, ServerCapabilities, ServerInfo,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions, WorkDoneProgressOptions,
};

use super::action;
use super::text::Encoding;

/// Files whose changes can change findings: source that a reference may name, manifests, lock files, and files of
/// variables.
const WATCHED: &[&str] = &[
    "**/*.{py,js,mjs,cjs,jsx,ts,mts,cts,tsx}",
    "**/{agent,langgraph,package}.json",
    "**/*.{toml,lock,cfg}",
    "**/*requirements*.{txt,in}",
    "**/.env*",
    "**/.{dockerignore,gitignore,npmrc}",
    "**/{package-lock.json,pnpm-lock.yaml,pnpm-workspace.yaml,pip.conf}",
];

/// The capabilities of the editor that matter here.
#[derive(Debug, Default)]
pub(super) struct Client {
    /// The unit of columns.
    pub(super) encoding: Encoding,
    /// Whether it watches files for the server.
    pub(super) watches: bool,
    /// Whether it shows symbols as a tree.
    pub(super) shows_trees: bool,
}

impl Client {
    /// Reads the parameters of `initialize`.
    pub(super) fn new(params: &InitializeParams) -> Self {
        let capabilities = &params.capabilities;
        let offered = capabilities.general.as_ref().and_then(|it| it.position_encodings.as_deref());
        let workspace = capabilities.workspace.as_ref();
        let document = capabilities.text_document.as_ref();
        let symbols = document.and_then(|it| it.document_symbol.as_ref());
        let watched = workspace.and_then(|it| it.did_change_watched_files);
        Self {
            encoding: Encoding::choose(offered.unwrap_or_default()),
            shows_trees: symbols.and_then(|it| it.hierarchical_document_symbol_support).unwrap_or_default(),
            watches: watched.and_then(|it| it.dynamic_registration).unwrap_or_default(),
        }
    }

    /// The answer to `initialize`.
    pub(super) fn welcome(&self) -> InitializeResult {
        let sync = TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(SaveOptions::default().into()),
            ..TextDocumentSyncOptions::default()
        };
        let capabilities = ServerCapabilities {
            position_encoding: Some(self.encoding.kind()),
            text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
            code_action_provider: Some(CodeActionProviderCapability::Options(action::offered())),
            hover_provider: Some(true.into()),
            completion_provider: Some(CompletionOptions {
                trigger_characters: Some(["\"", "/", ":"].map(str::to_owned).into()),
                ..CompletionOptions::default()
            }),
            definition_provider: Some(OneOf::Left(true)),
            document_link_provider: Some(DocumentLinkOptions {
                resolve_provider: None,
                work_done_progress_options: WorkDoneProgressOptions::default(),
            }),
            document_symbol_provider: Some(OneOf::Left(true)),
            ..ServerCapabilities::default()
        };
        let version = Some(env!("CARGO_PKG_VERSION").to_owned());
        InitializeResult {
            capabilities,
            server_info: Some(ServerInfo { name: "agentcli".to_owned(), version }),
        }
    }
}

/// Asks the editor to report changes of files.
pub(super) fn watch_request() -> RegistrationParams {
    let watcher =
        |glob: &&str| FileSystemWatcher { glob_pattern: GlobPattern::String((*glob).to_owned()), kind: None };
    let options =
        DidChangeWatchedFilesRegistrationOptions { watchers: WATCHED.iter().map(watcher).collect() };
    RegistrationParams {
        registrations: vec![Registration {
            id: "watched-files".to_owned(),
            method: "workspace/didChangeWatchedFiles".to_owned(),
            register_options: serde_json::to_value(options).ok(),
        }],
    }
}
