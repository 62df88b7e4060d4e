-- Waits for the finding in the open configuration, applies its code action, and saves the file. Prints the finding.

local function wait_for(what, condition)
  assert(vim.wait(60000, condition, 20), "no " .. what)
end

local ok, failure = pcall(function()
  wait_for("finding", function()
    return #vim.diagnostic.get(0) > 0
  end)
  local finding = vim.diagnostic.get(0)[1]
  print(("%s:%d:%d: %s"):format(finding.source, finding.lnum + 1, finding.col + 1, finding.message))
  vim.api.nvim_win_set_cursor(0, { finding.lnum + 1, finding.col })
  -- The user's choice.
  vim.ui.select = function(actions, _, choose)
    choose(actions[1], 1)
  end
  vim.lsp.buf.code_action()
  wait_for("fix", function()
    return #vim.diagnostic.get(0) == 0
  end)
  vim.cmd("write")
end)
if not ok then
  io.stderr:write(tostring(failure))
  vim.cmd("cquit")
end
vim.cmd("quit")
