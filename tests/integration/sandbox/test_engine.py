"""The engine as it is found, and the images made on it."""

from __future__ import annotations

import asyncio
import io
import shutil
import tarfile
import uuid
from pathlib import Path

import pytest

from adapters.sandbox import engine, images, present
from adapters.sandbox.sandbox import DockerSandbox
from domain.errors import Cause, Unavailable
from tests.docker_bench import IMAGES, MIB, Bench, engine_id, new_folder
from tests.fakes.evidence import MemoryStore


class TestEngine:
    async def test_where_no_engine_is_nothing_is_told(self) -> None:
        sandbox = DockerSandbox(
            MemoryStore(), images_dir=IMAGES, base_image=None, owner="nobody", docker_host="unix:///nowhere.sock"
        )
        for call in (sandbox.prepare("python", print), sandbox.release("round"), sandbox.reap()):
            with pytest.raises(Unavailable) as caught:
                await call
            assert caught.value.cause is Cause.ENGINE_UNAVAILABLE
            assert "countersign doctor" in caught.value.next_step
        (finding,) = await sandbox.probe()
        assert not finding.ok
        assert finding.fix

    def test_a_full_disk_is_told_as_one(self) -> None:
        error = engine.unavailable("write", OSError("write /x: no space left on device"))
        assert error.cause is Cause.DISK_FULL

    async def test_limits_are_proven(self, bench: Bench) -> None:
        findings = await bench.sandbox.probe()
        assert [(finding.name, finding.ok) for finding in findings] == [
            ("docker", True),
            ("memory limit", True),
            ("process limit", True),
            ("no network", True),
            ("no network set up", True),
        ]


class TestImages:
    async def test_the_python_image_has_its_tools(self, bench: Bench) -> None:
        tools = "python git pytest ruff mypy"
        seen = await bench.run(
            f"for tool in {tools}; do $tool --version || exit 1; done; test ! -e /build", timeout=240
        )
        assert seen.exit_code == 0, seen.stderr
        wanted = (IMAGES / "python" / "requirements.txt").read_text().split()
        said = seen.stdout.lower().replace(" ", "==")
        assert all(pin in said for pin in wanted if pin.startswith(("pytest==", "ruff==", "mypy==")))

    async def test_the_python_image_is_built_from_its_folder(self, own: Bench, folders: Path) -> None:
        name = f"test-{uuid.uuid4().hex[:8]}"
        shutil.copytree(IMAGES / "python", folders / name)
        said: list[str] = []
        image = await own.sandbox.prepare(name, said.append)
        assert any(line.startswith(f"building {name}: Step 1/") for line in said)
        assert image.reference.startswith(f"countersign/{name}:")
        assert await own.sandbox.prepare(name, said.append) == image

    async def test_a_changed_folder_or_base_is_another_image(self, own: Bench, folders: Path) -> None:
        name = new_folder(folders, "RUN true")
        first = await own.sandbox.prepare(name, print)
        (folders / name / "more").write_text("x")
        second = await own.sandbox.prepare(name, print)
        own.api.tag(present.LOCAL_BASE, f"countersign/{name}", "base")
        based = own.another(folders, f"countersign/{name}:base")
        third = await based.prepare(name, print)
        based.close()
        assert len({first.reference, second.reference, third.reference}) == 3

    async def test_prepared_at_once_by_two_processes(self, own: Bench, folders: Path) -> None:
        name = new_folder(folders, "RUN sleep 1; date > /made")
        other = own.another(folders)
        first, second = await asyncio.gather(own.sandbox.prepare(name, print), other.prepare(name, print))
        other.close()
        for untagged in {first.id, second.id} - {engine_id(own, first.reference)}:
            own.api.remove_image(untagged)
        assert first.reference == second.reference

    async def test_a_build_that_fails_says_why(self, own: Bench, folders: Path) -> None:
        name = new_folder(folders, "RUN echo the reason; exit 3")
        with pytest.raises(Unavailable) as caught:
            await own.sandbox.prepare(name, print)
        assert caught.value.cause is Cause.IMAGE_MISSING
        assert "the reason" in caught.value.reason
        assert name in caught.value.reason

    async def test_without_registry_and_base_the_base_is_made(
        self, own: Bench, folders: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        name = new_folder(folders)
        (folders / name / "Dockerfile").write_text("ARG BASE=localhost:1/none\nFROM ${BASE}\n")
        (folders / "debian-base").write_text('echo "needs root for $1" >&2; exit 1')
        for module in (images, present):
            monkeypatch.setattr(module, "LOCAL_BASE", "countersign/test-base:none")
        with pytest.raises(Unavailable) as caught:
            await own.sandbox.prepare(name, print)
        assert caught.value.cause is Cause.IMAGE_MISSING
        assert "needs root for countersign/test-base:none" in caught.value.reason

    async def test_a_configured_base_that_is_not_there_is_named(self, own: Bench, folders: Path) -> None:
        name = new_folder(folders)
        based = own.another(folders, "localhost:1/my-base")
        with pytest.raises(Unavailable, match="localhost:1/my-base"):
            await based.prepare(name, print)
        based.close()

    @pytest.mark.parametrize(("tool", "named"), [("timeout", "timeout"), ("cp", "cp")])
    async def test_an_image_without_a_tool_is_unsuitable(
        self, own: Bench, folders: Path, tool: str, named: str
    ) -> None:
        name = new_folder(folders, f"RUN rm /bin/{tool}")
        with pytest.raises(Unavailable) as caught:
            await own.sandbox.prepare(name, print)
        assert caught.value.cause is Cause.IMAGE_UNSUITABLE
        assert f"has no {named}" in caught.value.reason

    async def test_an_image_without_a_shell_is_unsuitable(self, own: Bench) -> None:
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            tar.addfile(tarfile.TarInfo("empty"))
        own.api.import_image_from_data(archive.getvalue(), repository="countersign/test-empty", tag="1")
        with pytest.raises(Unavailable) as caught:
            await own.sandbox.prepare("countersign/test-empty:1", print)
        assert caught.value.cause is Cause.IMAGE_UNSUITABLE
        assert "has no sh" in caught.value.reason

    async def test_what_an_image_declares_as_volume_is_bounded_and_empty(self, own: Bench, folders: Path) -> None:
        name = new_folder(folders, "RUN mkdir /data && touch /data/kept && chmod 777 /data", "VOLUME /data /tmp /src")
        own.image = (await own.sandbox.prepare(name, print)).id
        seen = await own.run(
            "grep ' /data ' /proc/mounts; head -c 1G /dev/zero > /data/x; stat -c %s /data/x; cat file"
        )
        await own.sandbox.release(own.round)
        assert seen.stdout.startswith("tmpfs /data tmpfs rw")
        assert seen.stdout.endswith(f"{16 * MIB}\ncontent")

    async def test_an_image_s_entrypoint_is_not_asked(self, own: Bench, folders: Path) -> None:
        name = new_folder(folders, 'ENTRYPOINT ["echo", "never"]', 'CMD ["never"]', "HEALTHCHECK CMD true")
        own.image = (await own.sandbox.prepare(name, print)).id
        seen = await own.run("cat file")
        await own.sandbox.release(own.round)
        assert seen.stdout == "content"
