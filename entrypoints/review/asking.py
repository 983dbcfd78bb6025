"""Asks the todo or session what a reviewer wants, signed where a key is there. A refusal is an answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from adapters.config.settings import Settings
from domain.requests import Answer, Edit, HumanRequest
from domain.signing import UNSIGNED
from entrypoints.cli.edits import keep_order
from entrypoints.imports import without_collecting
from entrypoints.review.acts import Act
from entrypoints.review.masking import masked
from entrypoints.review.page import Page

if TYPE_CHECKING:
    from entrypoints.lives import Lives


class Asker(Protocol):
    """Who the screen asks. Raises `Unavailable`, and `Refused` for a todo that is not there."""

    def signs(self, act: Act) -> bool:
        """Whether a key signs it, which may need the terminal for a passphrase."""
        ...

    def signed(self, page: Page, act: Act, request: HumanRequest) -> HumanRequest:
        """The request with its signature, for the todo as the page has it."""
        ...

    async def ask(self, page: Page, act: Act, request: HumanRequest) -> Answer:
        """What is answered."""
        ...


class LiveAsker:
    """Asks workflows, through one connection that is made when it is first needed. `key` signs, if there is one.

    `named`: whom the request names has to be the signer.
    """

    def __init__(self, settings: Settings, key: Path | None = None, *, named: bool = False) -> None:
        self._settings = settings
        self._key = key
        self._named = named
        self._lives: Lives | None = None

    def signs(self, act: Act) -> bool:
        """Acts on the todo, but for those that need no signature."""
        return self._key is not None and act.command is not None and act.command not in UNSIGNED

    def signed(self, page: Page, act: Act, request: HumanRequest) -> HumanRequest:
        """Raises what `entrypoints.signing` does where the key cannot sign."""
        if not self.signs(act):
            return request
        signing = without_collecting("entrypoints.signing")
        signed: HumanRequest = signing.sign(request, act.command, signing.about_of(page.todo), self._key)
        named: HumanRequest = signing.named(signed) if self._named else signed
        return named

    async def ask(self, page: Page, act: Act, request: HumanRequest) -> Answer:
        """Of an edit the order that will be is stored first: it is named by its digest. Raises as `keep_order` does."""
        if self._lives is None:
            self._lives = await without_collecting("entrypoints.lives").open_lives(self._settings)
        assert self._lives is not None
        if act.command is None:
            return masked(await self._lives.ask_session(page.todo.session, act.name, request))
        if isinstance(request, Edit) and not request.dry_run:
            keep_order(self._settings, page.todo.order_digest, request.changes)
        return masked(await self._lives.ask_todo(page.todo.session, page.todo.todo, act.name, request))
