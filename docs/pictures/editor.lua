-- What a reader of the picture would have typed: open a plan, wait for its findings, go to a place, ask for what is said there.
vim.opt.termguicolors = true
vim.opt.number = true
vim.opt.signcolumn = "yes"
vim.opt.laststatus = 2
vim.opt.statusline = " %f"
vim.opt.shortmess:append("F")
vim.opt.ruler = false
vim.opt.showcmd = false
vim.cmd("highlight Normal guibg=NONE | highlight LineNr guifg=#98a3ae | highlight StatusLine gui=NONE guibg=#2b333d guifg=#e6eaee")
vim.cmd("highlight SignColumn guibg=NONE | highlight NormalFloat guibg=#222a33 guifg=#e6eaee | highlight FloatBorder guibg=#222a33")
vim.cmd("highlight EndOfBuffer guifg=#98a3ae | highlight Comment guifg=#98a3ae")
vim.cmd("highlight DiagnosticError guifg=#ff9aa5 | highlight DiagnosticSignError guifg=#ff9aa5")
vim.cmd("highlight DiagnosticFloatingError guifg=#ff9aa5 | highlight DiagnosticUnderlineError gui=underline guisp=#ff9aa5 guifg=#ff9aa5")
vim.diagnostic.config({ virtual_text = false, float = { border = "single", source = false, max_width = 84 } })

local function done()
  os.execute(vim.env.DONE)
end

local function ask()
  if vim.env.ASK == "hover" then
    vim.lsp.handlers["textDocument/hover"] = vim.lsp.with(vim.lsp.handlers.hover, { border = "single", max_width = 84 })
    vim.lsp.buf.hover()
  else
    vim.diagnostic.open_float()
  end
  vim.defer_fn(done, 3000)
end

vim.cmd("edit " .. vim.env.PLAN)
vim.wait(120000, function()
  local clients = vim.lsp.buf_get_clients(0)
  if vim.env.ASK == "hover" then
    return #clients > 0
  end
  return #vim.diagnostic.get(0) > 0
end, 50)
vim.fn.search(vim.env.PLACE)
-- A float closes when the cursor moves, so the move is told before.
vim.defer_fn(ask, vim.env.ASK == "hover" and 8000 or 1000)
