"""What only containers can show of a set-up: what it sees and leaves behind, that no secret is in it, its cache."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker
import pytest

from adapters.sandbox import setup, setup_watch
from adapters.sandbox.engine import Engine, inspect_image
from adapters.sandbox.images import host_certificates
from adapters.sandbox.sandbox import DockerSandbox
from domain.errors import Cause, Unavailable
from domain.messages import Image, SetupInput
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore

IMAGES = Path(__file__).resolve().parents[2] / "sandbox_images"
FILES = {
    "lock.txt": b"one\n",
    "tools/install.sh": b"echo installed\n",
    "tools/deep/er": b"x",
    "src/main.py": b"no input",
}
SECRET = "hunter2'hunter2\\$HOME \xe9"


class Workshop:
    """One owner's sandbox, and the engine to look behind it; what it made goes when it closes."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.owner = f"test-{uuid.uuid4().hex}"
        self.store = MemoryStore()
        self.sandbox = DockerSandbox(self.store, images_dir=IMAGES, base_image=None, owner=self.owner)
        self.api = docker.APIClient()
        self.said: list[str] = []
        self.requests: list[SetupInput] = []
        self._unique = f": {self.owner}"

    def base(self, files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> str:
        entries = [
            Entry(path=path, size=len(data), digest=self.store.put(data), executable=path.endswith(".sh"))
            for path, data in files.items()
        ]
        entries += [Entry(path=path, kind="link", target=target) for path, target in (links or {}).items()]
        return self.store.put(Manifest.of(entries).encode())

    def request(self, *commands: str, base: str | None = None, **other: Any) -> SetupInput:
        """A set-up that no other test's is like, the first command being the owner's own."""
        request = SetupInput(
            image=other.pop("image", self.image),
            base=self.base(FILES) if base is None else base,
            setup=(self._unique, *commands),
            **other,
        )
        self.requests.append(request)
        return request

    async def setup(self, *commands: str, **other: Any) -> Image:
        return await self.sandbox.setup(self.request(*commands, **other), self.said.append)

    async def refusal(self, *commands: str, **other: Any) -> Unavailable:
        """How it is refused; then there is no image."""
        with pytest.raises(Unavailable) as refused:
            await self.setup(*commands, **other)
        assert self.made() == []
        assert not refused.value.retryable
        return refused.value

    def see(self, image: Image, command: str) -> str:
        """What a command writes in a container of the image, as its configuration has it."""
        offline = self.api.create_host_config(network_mode="none")
        container = self.api.create_container(image.id, entrypoint=["sh", "-c", command], host_config=offline)
        try:
            self.api.start(container["Id"])
            self.api.wait(container["Id"])
            return bytes(self.api.logs(container["Id"])).decode()
        finally:
            self.api.remove_container(container["Id"], v=True)

    def config(self, image: str) -> dict[str, Any]:
        found = inspect_image(self.api, image)
        assert found is not None
        config: dict[str, Any] = found["Config"]
        return config

    def containers(self) -> list[Any]:
        found: list[Any] = self.api.containers(all=True, filters={"label": f"countersign.owner={self.owner}"})
        return found

    def made(self) -> list[str]:
        """The tags of the images that this owner's requests have led to."""
        tags = [tag for image in self.api.images(setup.REPOSITORY) for tag in image["RepoTags"] or ()]
        return [tag for tag in tags if tag in self._tags()]

    def _tags(self) -> set[str]:
        tags = set()
        for request in self.requests:
            base = Manifest.decode(self.store.get(request.base))
            below = tuple(f"{path.rstrip('/')}/" for path in request.inputs)
            tags.add(
                setup.tag_of(request, [e for e in base.entries if e.path in request.inputs or e.path.startswith(below)])
            )
        return tags

    def close(self) -> None:
        for tag in self.made():
            self.api.remove_image(tag, force=True, noprune=True)
        left = self.containers()
        self.sandbox.close()
        self.api.close()
        assert left == []


@pytest.fixture(scope="module")
async def python_image() -> Image:
    sandbox = DockerSandbox(MemoryStore(), images_dir=IMAGES, base_image=None, owner="test-setup")
    image = await sandbox.prepare("python", print)
    sandbox.close()
    return image


@pytest.fixture
def workshop(python_image: Image) -> Iterator[Workshop]:
    made = Workshop(python_image)
    yield made
    made.close()


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TOKEN", SECRET)
    return SECRET


def index_is_reachable() -> bool:
    """Whether this machine's pip, as it is configured, finds packages."""
    asked = [sys.executable, "-m", "pip", "index", "versions", "toolz"]
    return subprocess.run(asked, capture_output=True, timeout=300, check=False).returncode == 0


class TestWhatItSees:
    async def test_only_the_inputs_below_deps(self, workshop: Workshop) -> None:
        base = workshop.base(FILES | {"toolsmith": b"beside"}, {"tools/link": "deep/er"})
        await workshop.setup(
            "test \"$(find . -type f -o -type l | sort | tr '\\n' ' ')\" = "
            "'./lock.txt ./tools/deep/er ./tools/install.sh ./tools/link '",
            '[ "$(pwd)" = /deps ] && [ "$(id -u)" = 0 ] && [ -x tools/install.sh ] && [ ! -x lock.txt ]',
            '[ "$(readlink tools/link)" = deep/er ] && [ "$(cat tools/link)" = x ] && [ -O lock.txt ]',
            base=base,
            inputs=("lock.txt", "tools"),
        )

    async def test_an_input_that_the_base_does_not_have(self, workshop: Workshop) -> None:
        refused = await workshop.refusal("true", inputs=("lock.txt", "tool"))
        assert refused.cause is Cause.SETUP_FAILED
        assert refused.reason == "environment.inputs names tool, which the base does not have"

    async def test_commands_have_the_secret_and_nothing_to_read(self, workshop: Workshop, token: str) -> None:
        code = f"import os, sys; sys.exit(os.environ['TOKEN'].encode().hex() != '{token.encode().hex()}')"
        await workshop.setup(
            f'python3 -c "{code}"', '[ "$(readlink /proc/self/fd/0)" = /dev/null ]', secrets=("TOKEN",)
        )

    async def test_a_secret_of_any_bytes(self, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
        value = bytes(range(1, 256)) + b"\nsecond 'line'\\\n\n"
        monkeypatch.setenv("TOKEN", value.decode("utf-8", "surrogateescape"))
        code = f"import os, sys; sys.exit(os.environb[b'TOKEN'].hex() != '{value.hex()}')"
        await workshop.setup(f'python3 -c "{code}"', secrets=("TOKEN",))

    async def test_a_secret_that_is_not_there(self, workshop: Workshop) -> None:
        refused = await workshop.refusal("true", secrets=("NO_SUCH_TOKEN",))
        assert refused.cause is Cause.SETUP_FAILED
        assert refused.reason == "environment.secrets names NO_SUCH_TOKEN, which the worker's environment does not have"
        assert "where that worker is started" in refused.next_step

    async def test_the_proxies_of_the_host(self, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HTTPS_PROXY", "http://me:proxy-password@proxy:1")
        image = await workshop.setup('[ "$HTTPS_PROXY" = http://me:proxy-password@proxy:1 ]; echo "$HTTPS_PROXY"')
        assert "HTTPS_PROXY" not in json.dumps(workshop.config(image.id))
        workshop.api.remove_image(image.reference)
        refused = await workshop.refusal('echo "$HTTPS_PROXY"; false')
        assert "[secret HTTPS_PROXY]" in refused.reason
        assert "proxy-password" not in str(refused)


class TestWhatItLeaves:
    async def test_what_was_installed_without_the_inputs(self, workshop: Workshop) -> None:
        image = await workshop.setup(
            "umask 077; mkdir -p lib tools/deep/made; echo content > lib/a; echo kept > tools/deep/made/b; rm lock.txt",
            "echo changed > tools/install.sh; mkdir lock.txt; echo outside > /opt/outside",
            inputs=("lock.txt", "tools"),
        )
        assert workshop.see(image, "cd /deps; find . -type f -o -type d | sort; cat lib/a /opt/outside").split() == [
            *(".", "./lib", "./lib/a", "./tools", "./tools/deep", "./tools/deep/made", "./tools/deep/made/b"),
            *("content", "outside"),
        ]
        image = await workshop.setup("touch -- installed", inputs=("lock.txt", "tools"))
        assert workshop.see(image, "ls -A /deps") == "installed\n"

    async def test_the_configuration_is_the_image_s(self, workshop: Workshop, engine: docker.APIClient) -> None:
        container = engine.create_container(workshop.image.id)
        changes = ["USER 1234:1", 'ENTRYPOINT ["e"]', 'CMD ["c"]', "WORKDIR /opt", "LABEL a=b", "VOLUME /v", "ENV X=y"]
        try:
            rich = engine.commit(container["Id"], changes=changes)["Id"]
        finally:
            engine.remove_container(container["Id"])
        try:
            for before in (workshop.image.id, rich):
                after = await workshop.setup("true", image=Image(reference="it", id=before))
                assert settled(workshop.config(after.id)) == settled(workshop.config(before))
                workshop.api.remove_image(after.reference, noprune=True)  # its parent has no name of its own
        finally:
            engine.remove_image(rich)

    async def test_caches_and_home_are_not_kept(self, workshop: Workshop) -> None:
        image = await workshop.setup(
            'touch "$HOME/.npmrc" "$TMPDIR/left"',
            'printf "#!/bin/sh\\n" > "$TMPDIR/x" && chmod +x "$TMPDIR/x" && "$TMPDIR/x"',
            '[ "$npm_config_cache" ] && case $npm_config_cache in "$HOME"/*) ;; *) exit 9; esac',
            '[ "$PIP_NO_CACHE_DIR$UV_NO_CACHE" = 11 ]',
        )
        assert workshop.see(image, "find / -xdev -name .npmrc -o -xdev -name left 2>/dev/null") == ""

    async def test_pip_installs_into_the_environment_on_the_path(self, workshop: Workshop) -> None:
        if not index_is_reachable():
            pytest.skip("no way to PyPI")
        base = workshop.base({"requirements.txt": b"toolz==1.0.0\n"})
        image = await workshop.setup("pip install -r requirements.txt", base=base, inputs=("requirements.txt",))
        assert workshop.see(
            image, "id -u; python -c 'import toolz; print(toolz.__file__, toolz.__version__)'"
        ).split() == [
            "1000",
            *("/opt/venv/lib/python3.11/site-packages/toolz/__init__.py", "1.0.0"),
        ]
        assert workshop.see(image, "find /home -name '*cache*'") == ""


def settled(config: dict[str, Any]) -> dict[str, Any]:
    """Without what the engine notes of the container, and one spelling of nothing."""
    labels = {name: text for name, text in (config.get("Labels") or {}).items() if text and name != setup.MADE_ON}
    kept = {name: value for name, value in config.items() if name not in ("Hostname", "Image", "Labels")}
    return {name: value for name, value in kept.items() if value} | {"Labels": labels}


class TestSecrets:
    async def test_neither_secret_nor_certificates_are_in_the_image(
        self, workshop: Workshop, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mark = uuid.uuid4().hex
        (tmp_path / "ca.crt").write_bytes(host_certificates() + f"# {mark}\n".encode())
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.crt"))
        names = "SSL_CERT_FILE PIP_CERT REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO NODE_EXTRA_CA_CERTS"
        image = await workshop.setup(
            f'for name in {names}; do eval "grep -q {mark[:16]} \\"\\$$name\\"" || exit; done',
            'echo "$TOKEN" > /deps/used; echo "$TOKEN" > "$HOME/.netrc"; rm /deps/used; touch /deps/installed',
            secrets=("TOKEN",),
        )
        history = workshop.api.history(image.id)  # type: ignore[no-untyped-call]  # docker's stubs lack it
        assert "TOKEN" not in json.dumps([inspect_image(workshop.api, image.id), history])
        texts = (token.encode(), mark.encode(), b"deps/installed")
        assert in_layers(workshop.api, image.id, texts) == {b"deps/installed"}

    @pytest.mark.parametrize(
        ("command", "path"),
        [
            ('printf "before%s" "$TOKEN" > /opt/.hidden', "/opt/.hidden"),
            pytest.param(
                'python3 -c \'import base64 as b, os; print(b.b64encode(b"me:" + os.environb[b"TOKEN"]))\' > /x',
                "/x",
                marks=pytest.mark.slow,
            ),
            (
                'python3 -c \'import os, urllib.parse as u; print(u.quote(os.environ["TOKEN"], safe=""))\' > lib',
                "/deps/lib",
            ),
            ('ln -s "$TOKEN" link', "/deps/link"),
            pytest.param(
                'echo "$TOKEN" >> /etc/hostname.new; ln /etc/hostname.new /etc/other; rm /etc/hostname.new',
                "/etc/other",
                marks=pytest.mark.slow,
            ),
        ],
    )
    async def test_a_secret_that_would_be_kept_is_refused(
        self, workshop: Workshop, token: str, command: str, path: str
    ) -> None:
        refused = await workshop.refusal(command, secrets=("TOKEN",))
        assert refused.cause is Cause.SETUP_FAILED
        assert refused.reason == f"the secret TOKEN would be in the image: {path}"
        assert token not in str(refused)

    async def test_a_command_that_fails_says_why_and_no_secret(
        self, workshop: Workshop, token: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(setup_watch, "_SAY_SECONDS", 0.0)
        command = '{ echo "it is $TOKEN"; printf %s "$TOKEN" | base64 -w0; echo; echo "really $TOKEN"; } >&2; exit 7'
        refused = await workshop.refusal(command, "echo never", secrets=("TOKEN",))
        assert refused.cause is Cause.SETUP_FAILED
        assert refused.reason.startswith('environment.setup: `{ echo "it is $TOKEN"; printf')
        assert refused.reason.endswith(
            "ended with exit code 7: it is [secret TOKEN] / [secret TOKEN] / really [secret TOKEN]"
        )
        assert workshop.said[1].startswith('setup 2/3: { echo "it is $TOKEN"')
        assert workshop.said[-1] == "setup 2/3: really [secret TOKEN]"
        everything = str(refused) + "".join(workshop.said)
        assert token not in everything
        assert base64.b64encode(token.encode()).decode()[:12] not in everything


def in_layers(api: docker.APIClient, image: str, texts: tuple[bytes, ...]) -> set[bytes]:
    before, found = b"", set()
    for chunk in api.get_image(image, chunk_size=1 << 22):  # to the end: a stream left half read stays open
        found |= {text for text in texts if text in before + chunk}
        before = chunk[-100:]
    return found


class TestCache:
    async def test_what_was_made_is_found_without_secret_network_or_container(
        self, workshop: Workshop, token: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = await workshop.setup("touch installed", inputs=("lock.txt",), secrets=("TOKEN",))
        monkeypatch.delenv("TOKEN")
        monkeypatch.setattr(docker.APIClient, "create_container", None)
        monkeypatch.setattr(docker.APIClient, "commit", None)
        assert await workshop.setup("touch installed", inputs=("lock.txt",), secrets=("TOKEN",)) == made
        other = workshop.base(FILES | {"src/main.py": b"changed, and no input"})
        again = workshop.request("touch installed", base=other, inputs=("lock.txt",), secrets=("OTHER",))
        assert await workshop.sandbox.setup(again, print) == made

    async def test_what_it_follows_from_makes_another(self, workshop: Workshop) -> None:
        changed = workshop.base(FILES | {"lock.txt": b"two\n"})
        executable = workshop.base({"lock.sh": b"one\n"})
        linked = workshop.base({}, {"lock.txt": "one\n"})
        requests = [
            workshop.request("cat lock* > got || :", inputs=("lock.txt",)),
            workshop.request("cat lock* > got || :", inputs=("lock.txt",), base=changed),
            workshop.request("cat lock* > got || : ", inputs=("lock.txt",)),
            workshop.request("cat lock* > got || :", inputs=("lock.txt",), base=linked),
            workshop.request("cat lock* > got || :", inputs=("lock.sh",), base=executable),
        ]
        images = [await workshop.sandbox.setup(request, print) for request in requests]
        assert len({image.reference for image in images}) == len({image.id for image in images}) == len(requests)
        assert [workshop.see(image, "cat /deps/got") for image in images[:3]] == ["one\n", "two\n", "one\n"]

    async def test_two_at_once_make_it_once(self, workshop: Workshop) -> None:
        first, second = await asyncio.gather(*(workshop.setup("head -c 16 /dev/urandom > drawn") for _ in range(2)))
        assert first == second
        assert len([text for text in workshop.said if text.startswith("setup 1/")]) == 1


class TestEndings:
    async def test_cancelled_it_leaves_nothing(self, workshop: Workshop) -> None:
        task = asyncio.create_task(workshop.setup("sleep 250"))
        await until(lambda: any(text.startswith("setup 2/2") for text in workshop.said))
        assert [c["State"] for c in workshop.containers()] == ["running"]
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 100
        assert workshop.containers() == []
        assert workshop.made() == []

    async def test_cancelled_while_another_makes_the_same(self, workshop: Workshop) -> None:
        waits = "until [ -e /go-on ]; do sleep 0.1; done"
        first = asyncio.create_task(workshop.setup(waits))
        await until(lambda: any(text.startswith("setup 2/2") for text in workshop.said))
        second = asyncio.create_task(workshop.setup(waits))
        await asyncio.sleep(0.3)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert not first.done()
        (container,) = workshop.containers()
        touch = workshop.api.exec_create(container["Id"], ["touch", "/go-on"])
        workshop.api.exec_start(touch["Id"])
        await first

    async def test_too_slow(self, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
        """By a clock that goes on once the command has begun and said so."""
        monkeypatch.setattr(setup_watch, "_SAY_SECONDS", 0.0)
        said: list[str] = []
        clock = SimpleNamespace(monotonic=lambda: 3.0 if "setup 2/2: half" in said else 0.0, sleep=time.sleep)
        monkeypatch.setattr(setup_watch, "time", clock)
        slow = setup.Setups(Engine(), workshop.store, workshop.owner, limit=2.0)
        request = workshop.request("echo half; sleep 60")
        with pytest.raises(Unavailable, match="`echo half; sleep 60` was not done after 2 s: half") as refused:
            await asyncio.to_thread(slow.find_or_make, request, said.append, threading.Event())
        assert refused.value.cause is Cause.SETUP_FAILED

    async def test_a_flood_is_read_and_forgotten(self, workshop: Workshop) -> None:
        refused = await workshop.refusal(
            "head -c 100000000 /dev/zero | tr '\\0' x; yes | head -c 10000000; echo last; exit 3"
        )
        assert refused.reason.endswith("y / y / y / last")
        assert len(refused.reason) < 6000

    async def test_a_full_disk_is_no_failure_of_the_order(
        self, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(setup, "_TEMPORARY_BYTES", 16 * 1024 * 1024)
        with pytest.raises(Unavailable) as refused:
            await workshop.setup('head -c 30000000 /dev/zero > "$TMPDIR/full"')
        assert refused.value.cause is Cause.DISK_FULL
        assert "16 MiB" in refused.value.next_step


async def until(what: Any) -> None:
    deadline = time.monotonic() + 120
    while not what():
        assert time.monotonic() < deadline, "it never came"
        await asyncio.sleep(0.05)
