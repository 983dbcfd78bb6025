"""A check's network is its own and has nothing but a loopback, on which it finds localhost."""

from __future__ import annotations

import pytest

from adapters.sandbox.hosts import Hosts
from tests.docker_bench import HEAR, HELD, KNOCK, Bench

LISTENS = "0100007F:1F40.*:0000.0A"
"""What /proc/net/tcp says of 127.0.0.1:8000 while somebody listens there."""

LOOK = """
tail -n +3 /proc/net/dev | cut -d: -f1
python3 -c '
import socket
found = sorted({address[0] for *_, address in socket.getaddrinfo("localhost", 80)})
server = socket.create_server(("localhost", 8000))
client = socket.create_connection(("localhost", 8000), 5)
print(found, socket.gethostname())
try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError as error:
    print(type(error).__name__, error.errno)
'
( : >> /etc/hosts ) 2>/dev/null || echo hosts stay
"""


@pytest.fixture(params=["shared", "each its own"])
def hosts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways that an engine may allow."""
    if request.param != "shared":
        monkeypatch.setattr(Hosts, "_try", lambda *_: False)
    return str(request.param)


async def test_only_a_loopback_and_localhost_on_it(bench: Bench, hosts: str) -> None:
    seen = await bench.run(LOOK)
    assert seen.exit_code == 0, seen.stderr
    lines = ["    lo", "['127.0.0.1', '::1'] sandbox", "OSError 101", "hosts stay", ""]
    assert seen.stdout.split("\n") == lines


async def test_the_engine_sets_up_no_network_where_it_need_not(bench: Bench, hosts: str) -> None:
    task, container = await bench.running(HELD)
    found = bench.api.inspect_container(container)
    assert found["HostConfig"]["NetworkMode"] == "none"
    assert found["Config"].get("NetworkDisabled", False) is (hosts == "shared")
    assert [mount["Destination"] for mount in found["Mounts"] if mount["Type"] == "bind" and not mount["RW"]] == (
        ["/etc/hosts"] if hosts == "shared" else []
    )
    bench.let_go(container)
    assert (await task).exit_code == 0


async def test_checks_at_the_same_time_do_not_share_a_port(bench: Bench, hosts: str) -> None:
    task, container = await bench.running(f"{HEAR} & {HELD}; kill $!")
    bench.inside(container, f"until grep -q '{LISTENS}' /proc/net/tcp; do sleep 0.05; done")
    beside = await bench.run(f"{HEAR} & {KNOCK} && wait $!")
    assert beside.exit_code == 0, beside.stderr
    assert not task.done()
    bench.let_go(container)
    assert (await task).exit_code == 0


async def test_that_they_can_be_shared_is_tried_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.run("true")
    monkeypatch.setattr(Hosts, "_try", lambda *_: pytest.fail("it is known"))
    second = bench.another()
    try:
        assert (await second.run(bench.request("true"))).exit_code == 0
        await second.release(bench.round)
        assert (await second.run(bench.request("true"))).exit_code == 0
    finally:
        second.close()


async def test_hosts_that_went_with_their_holder_are_made_anew(bench: Bench) -> None:
    await bench.run("true")
    seals = bench.sandbox._seals
    tree = bench.tree({"file": b"content"})
    old = seals.find_or_make(bench.round, tree, bench.image)
    for container in bench.containers(f"countersign.round={bench.round}"):
        bench.api.remove_container(container["Id"], force=True)
    found = iter([old])
    find = seals.find_or_make
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seals, "find_or_make", lambda *asked: next(found, None) or find(*asked))
        seen = await bench.run("cat file", tree)
    assert (seen.exit_code, seen.stdout) == (0, "content")
