"""The language server with another client, that of pytest-lsp. AGENTCLI is the executable."""

import os
import pathlib

import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

TEXT = """{
  "dependencies": ["."],
  "graphs": { "agent": "./agent.py:grahp" },
  "pip_installer": "uv"
}
"""


@pytest_lsp.fixture(
    params=["visual_studio_code", "neovim", "emacs"],
    config=ClientServerConfig(server_command=[os.environ["AGENTCLI"], "lsp"]),
)
async def client(request, lsp_client: LanguageClient, tmp_path: pathlib.Path):
    (tmp_path / "agent.py").write_text("import os\n\ngraph = object()\n")
    (tmp_path / "requirements.txt").write_text("")
    lsp_client.uri = (tmp_path / "agent.json").as_uri()
    lsp_client.directory = tmp_path
    capabilities = client_capabilities(request.param)
    await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities, root_uri=tmp_path.as_uri()))
    item = types.TextDocumentItem(uri=lsp_client.uri, language_id="json", version=1, text=TEXT)
    lsp_client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
    await lsp_client.wait_for_notification("textDocument/publishDiagnostics")
    yield
    await lsp_client.shutdown_session()


def document(client):
    return types.TextDocumentIdentifier(uri=client.uri)


def codes(client):
    return [found.code for found in client.diagnostics[client.uri]]


async def test_whole_session(client: LanguageClient):
    assert codes(client) == ["undefined-name"]
    at = lambda line, character: types.Position(line=line, character=character)

    hover = await client.text_document_hover_async(types.HoverParams(document(client), at(3, 5)))
    assert hover.contents.value.startswith("**pip_installer**")

    found = await client.text_document_completion_async(types.CompletionParams(document(client), at(2, 35)))
    items = found if isinstance(found, list) else found.items
    assert [item.label for item in items] == ["os", "graph"]

    place = await client.text_document_definition_async(types.DefinitionParams(document(client), at(2, 30)))
    assert place.uri.endswith("/agent.py")

    links = await client.text_document_document_link_async(types.DocumentLinkParams(document(client)))
    assert [link.target for link in links] == [(client.directory / "agent.py").as_uri()]

    context = types.CodeActionContext(diagnostics=[])
    name = types.Range(at(2, 35), at(2, 40))
    actions = await client.text_document_code_action_async(types.CodeActionParams(document(client), name, context))
    assert [edit.new_text for edit in actions[0].edit.changes[client.uri]] == ["graph"]

    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document(client)))
    assert [symbol.name for symbol in symbols] == ["dependencies", "graphs", "pip_installer"]

    identifier = types.VersionedTextDocumentIdentifier(uri=client.uri, version=2)
    change = types.TextDocumentContentChangePartial(range=name, text="graph")
    client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
    await client.wait_for_notification("textDocument/publishDiagnostics")
    assert codes(client) == []

    (client.directory / "agent.py").write_text("graph = 1\n")
    event = types.FileEvent((client.directory / "agent.py").as_uri(), types.FileChangeType.Changed)
    client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    await client.wait_for_notification("textDocument/publishDiagnostics")
    assert codes(client) == ["unusable-value"]
