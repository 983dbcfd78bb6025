"""Asks the todo or session what a reviewer wants, signed where a key is there. A refusal is an answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from adapters.config.settings import Settings
from domain.requests import Answer, Edit, HumanRequest
from domain.signing import UNSIGNED
from entrypoints import standalone
from entrypoints.cli import common
from entrypoints.cli.edits import keep_order
from entrypoints.cli.person import Agent, Person, by_agent, refuse_unsigned
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

    What an agent asks, `who` is one, is sent as a worker's, for the workflow to refuse and record. A person is
    established by the screen's terminal. `named`: whom the request names has to be the signer.
    """

    def __init__(
        self, settings: Settings, key: Path | None = None, who: Person | Agent | None = None, *, named: bool = False
    ) -> None:
        self._settings = settings
        self._key = key
        self._agent = who if isinstance(who, Agent) else None
        self._named = named
        self._lives: Lives | None = None

    def signs(self, act: Act) -> bool:
        """Acts on the todo, but for those that need no signature."""
        if self._key is None or self._agent or act.command is None:
            return False
        return act.command not in UNSIGNED or self._settings.human_acts == "signed"

    def signed(self, page: Page, act: Act, request: HumanRequest) -> HumanRequest:
        """Raises what `entrypoints.signing` does where the key cannot sign."""
        if not self.signs(act):
            if act.command is not None and not self._agent:
                refuse_unsigned(f"{act.name} {page.name}")
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
        request = by_agent(request, self._agent) if self._agent else _at_the_screen(request)
        if act.command is None:
            return masked(await self._lives.ask_session(page.todo.session, act.name, request))
        if isinstance(request, Edit) and not request.dry_run:
            keep_order(self._settings, page.todo.order_digest, request.changes)
        store = common.open_trail().store_id() if page.standalone else ""
        return masked(await standalone.ask(self._lives, page.todo, act.name, request, store))


def _at_the_screen(request: HumanRequest) -> HumanRequest:
    """Whoever has tried an act and then confirmed it has done so at a terminal: the screen is drawn on none else."""
    return request.model_copy(update={"established": "terminal"})
