"""The protocol without a second copy of every document: `lsp/documents.py` keeps the texts.

The copy that pygls keeps is edited before ours, at a cost, and an edit that it stumbles over would be lost.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method

Handled = Generator[Any, Any, None]


class TextProtocol(LanguageServerProtocol):
    """Hands edits of documents to the server's own handlers, and keeps nothing of them."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message as data. A request that has another form than its method's is answered, so that nobody waits for it."""
        try:
            return super().structure_message(data)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        except JsonRpcException as problem:
            number = data.get("id")
            if isinstance(data.get("method"), str) and isinstance(number, str | int):
                self._send_response(number, error=problem.to_response_error())
            raise

    def _own(self, method: str, params: Any) -> Handled:
        handlers = cast("dict[str, Any]", self.fm.features)  # pyright: ignore[reportUnknownMemberType] - untyped there
        yield handlers[method], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Handled:
        yield from self._own(types.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Handled:
        yield from self._own(types.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Handled:
        yield from self._own(types.TEXT_DOCUMENT_DID_CLOSE, params)
