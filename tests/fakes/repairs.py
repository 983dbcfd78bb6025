"""Work that is to be repaired, with its trees in a store, and passes of a fix builder on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.snapshot.snapshots import FileSnapshots
from domain.base import canonical_json
from domain.feedback import RetryContext
from domain.messages import Frozen, ScopeInput
from domain.ports import EvidenceStore
from domain.roles.passes import PassInput
from domain.suite.scripts import scripts_of
from domain.tree import Dropped, Entry, Manifest
from tests.fakes.role_desk import Desk

Contents = Mapping[str, bytes | str]
"""By path: bytes are a file, a string is a link's target."""

WRONG = b"def is_prime(n):\n    return n > 1\n"
RIGHT = b"def is_prime(n):\n    return n > 1 and all(n % d for d in range(2, n))\n"
BASE: Contents = {
    "src/prime.py": b"def is_prime(n):\n    raise NotImplementedError\n",
    "src/other.py": b"from prime import is_prime\n",
    "tests/test_prime.py": b"def test_two():\n    assert is_prime(2)\n",
    "requirements.txt": b"pytest\n",
}
HEAD: Contents = {**BASE, "src/prime.py": WRONG}
FEEDBACK = RetryContext(
    attempt_number=2,
    max_attempts=3,
    human_feedback="Mind the even numbers.",
    specific_failures=("AC-1: is_prime(4) returned True",),
    verifier_feedback="the auditor: it says yes too often",
    outputs={"AC-1": "first line\nsecond line\n"},
    contradictions=("the claim says that all tests passed",),
)
FIX: dict[str, Any] = {
    "path": "src/prime.py",
    "old": "return n > 1",
    "new": "return n > 1 and all(n % d for d in range(2, n))",
}
APPLIED: dict[str, Any] = {"result": "APPLIED:1", "notes": "It divides now."}


def kept(store: EvidenceStore, data: bytes) -> str:
    """Stored as it is."""
    with store.bulk() as bulk:
        return bulk.add((data,))


def tree_of(store: EvidenceStore, contents: Contents, executable: tuple[str, ...] = ()) -> Manifest:
    """A stored tree."""
    tree = Manifest.of(
        Entry(path=path, kind="link", target=what)
        if isinstance(what, str)
        else Entry(path=path, size=len(what), digest=kept(store, what), executable=path in executable)
        for path, what in contents.items()
    )
    kept(store, tree.encode())
    return tree


def pass_on(
    desk: Desk,
    head: Contents = HEAD,
    base: Contents = BASE,
    *,
    own: Contents | None = None,
    dropped: tuple[str, ...] = (),
    executable: tuple[str, ...] = (),
    **more: Any,
) -> PassInput:
    """A pass of the fix builder on `head`, with the trees as a round makes them. `order` as `Desk.pass_of` has it."""
    store = desk.store
    feedback = store.put(canonical_json(FEEDBACK.model_dump(mode="json")))
    request = desk.pass_of("fix", role="fix_builder", **{"feedback": feedback, **more})
    left = [Dropped(path=path, reason="too large").model_dump() for path in dropped]
    frozen = Frozen(
        head=tree_of(store, head, executable).digest,
        base=tree_of(store, base, executable).digest,
        head_files=len(head),
        head_bytes=1,
        base_files=len(base),
        dropped=kept(store, canonical_json(left)),
        order_files=tree_of(store, own).digest if own else "",
    )
    order = request.round.order
    asked = ScopeInput(
        frozen=frozen,
        scope=order.scope,
        inputs=tuple(order.environment.inputs),
        tests=tuple(order.verification.tests),
        scripts=scripts_of(order),
    )
    scope = FileSnapshots(store).assess(asked)
    return request.model_copy(update={"frozen": frozen, "scope": scope})
