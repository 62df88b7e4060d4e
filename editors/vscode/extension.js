// Starts the language server; everything else is in agentcli.

const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const command = workspace.getConfiguration("agentcli").get("path");
  const documentSelector = [{ scheme: "file", pattern: "**/{agent,langgraph}.json" }];
  client = new LanguageClient("agentcli", { command, args: ["lsp"] }, { documentSelector });
  return client.start();
};

exports.deactivate = () => client?.stop();
