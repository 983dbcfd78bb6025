"""What one engine made ready is had on another: found by its name, else made there, and never anything else.

That the other engine has none of it shows here as ids that this one does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.sandbox import present
from adapters.sandbox.engine import Engine
from domain.errors import Cause, Unavailable
from domain.messages import Image, SetupInput
from tests.docker_bench import Bench, engine_id, new_folder
from tests.fakes.lying_engine import LyingEngine


def elsewhere(image: Image) -> Image:
    """The same image as another engine has it."""
    return image.model_copy(update={"id": f"sha256:{'0' * 64}"})


@pytest.fixture
def tagged(own: Bench) -> Iterator[Image]:
    """An image that is known by name alone, as one that was pulled or loaded is."""
    own.api.tag(present.LOCAL_BASE, "countersign/test-tagged", own.owner)
    reference = f"countersign/test-tagged:{own.owner}"
    yield Image(reference=reference, id=engine_id(own, present.LOCAL_BASE))
    own.api.remove_image(reference, noprune=True)


class TestImages:
    async def test_what_is_there_is_what_it_was(self, own: Bench, tagged: Image) -> None:
        assert await own.sandbox.ready(tagged, None, print) == tagged
        gone = tagged.model_copy(update={"reference": "localhost:1/gone:1"})
        assert await own.sandbox.ready(gone, None, print) == gone, "an id names its content, whatever it is called"

    async def test_it_is_found_by_its_name(self, own: Bench, tagged: Image) -> None:
        assert await own.sandbox.ready(elsewhere(tagged), None, print) == tagged

    async def test_it_is_built_under_the_same_name(self, own: Bench, folders: Path) -> None:
        name = new_folder(folders, "COPY . /made")
        reference = (await own.sandbox.prepare(name, print)).reference
        own.api.remove_image(reference)
        said: list[str] = []
        built = await own.sandbox.ready(elsewhere(Image(reference=reference, id="")), None, said.append)
        assert built == Image(reference=reference, id=engine_id(own, reference))
        assert any(line.startswith(f"building {name}") for line in said)

    async def test_what_would_be_another_image_is_not_built(self, own: Bench, folders: Path) -> None:
        name = new_folder(folders, "COPY . /made")
        for reference in (f"countersign/{name}:{'0' * 12}", f"countersign/no-such-folder:{'0' * 12}"):
            with pytest.raises(Unavailable, match=reference) as caught:
                await own.sandbox.ready(elsewhere(Image(reference=reference, id="")), None, print)
            assert caught.value.cause is Cause.IMAGE_MISSING
            assert "same version" in caught.value.next_step

    async def test_what_cannot_be_pulled_is_missing(self, own: Bench) -> None:
        with pytest.raises(Unavailable, match="localhost:1/no/such:1") as caught:
            await own.sandbox.ready(elsewhere(Image(reference="localhost:1/no/such:1", id="")), None, print)
        assert caught.value.cause is Cause.IMAGE_MISSING

    async def test_an_engine_without_limits_is_refused_here_too(
        self, own: Bench, tagged: Image, tmp_path: Path
    ) -> None:
        with LyingEngine(tmp_path / "docker.sock", info={"PidsLimit": False}) as lying:
            sandbox = own.another(docker_host=lying.host)
            with pytest.raises(Unavailable) as caught:
                await sandbox.ready(tagged, None, print)
            sandbox.close()
        assert caught.value.cause is Cause.ENGINE_LIMITS


class TestSetups:
    async def test_it_is_set_up_again_under_the_same_name(self, own: Bench, tagged: Image) -> None:
        base = own.tree({"lock": b"pin"})
        request = SetupInput(image=tagged, base=base, setup=(f": {own.owner}", "cat lock > got"), inputs=("lock",))
        first = await own.sandbox.setup(request, print)
        try:
            there = request.model_copy(update={"image": elsewhere(tagged)})
            assert await own.sandbox.setup(there, print) == first, "found by its name"
            assert await own.sandbox.ready(elsewhere(first), there, print) == first
            own.api.remove_image(first.reference, noprune=True)
            again = await own.sandbox.ready(elsewhere(first), there, print)
            assert (again.reference, again.id == first.id) == (first.reference, False), "and made where it is not there"
        finally:
            own.api.remove_image(first.reference, noprune=True)

    async def test_a_name_that_leads_to_another_image_is_set_up_anew(
        self, own: Bench, tagged: Image, folders: Path
    ) -> None:
        setup = (f": {own.owner}", "cat /made/* > got || echo nothing > got")
        request = SetupInput(image=tagged, base=own.tree({}), setup=setup)
        first = await own.sandbox.setup(request, print)
        try:
            changed = await own.sandbox.prepare(new_folder(folders, "COPY . /made"), print)
            own.api.tag(changed.id, "countersign/test-tagged", own.owner)
            moved = Image(reference=tagged.reference, id=changed.id)
            second = await own.sandbox.setup(request.model_copy(update={"image": moved}), print)
            assert (second.reference, second.id == first.id) == (first.reference, False)
        finally:
            own.api.remove_image(first.reference, noprune=True)
            own.api.remove_image(first.id, force=True, noprune=True)


class TestWhatIsLeft:
    async def test_the_rounds_with_something_on_the_engine_are_known(self, bench: Bench) -> None:
        assert await bench.sandbox.rounds() == frozenset()
        await bench.run("true")
        assert await bench.sandbox.rounds() == {bench.round}
        other = Bench()
        assert await other.sandbox.rounds() == frozenset(), "of another state directory"
        other.close()
        await bench.sandbox.release(bench.round)
        assert await bench.sandbox.rounds() == frozenset()

    def test_whether_an_engine_answers(self, bench: Bench) -> None:
        assert Engine().answers(60)
        assert not Engine("unix:///nowhere.sock").answers(60)
