"""What every sandbox does once a tree is built; how Docker's does so against an enemy has tests of its own."""

from __future__ import annotations

import pytest

from domain.builds import BuildRules
from tests.contract.test_sandbox import HEAR, KNOCK, LONG, STORE, Bench, bench, docker_sandbox, local_sandbox

__all__ = ["bench", "docker_sandbox", "local_sandbox"]  # fixtures

FILES = {"src/mod.py": b"sealed", "tests/test_it.py": b"sealed"}
RULES = STORE.put(BuildRules(changeable=("src/mod.py",)).model_dump_json().encode())
SHOW = "cat src/mod.py tests/test_it.py"
CHANGE = "printf built > src/mod.py; printf built > tests/test_it.py"


class TestAfterABuild:
    async def test_only_what_may_change_has_changed(self, bench: Bench) -> None:
        tree = bench.tree(FILES, links={"link": "src/mod.py"})
        build = (f"{CHANGE}; ln -sf tests/test_it.py link", "rm tests/test_it.py")
        seen = await bench.run(f"{SHOW}; readlink link", tree, build=build, build_rules=RULES)
        assert (seen.exit_code, seen.stdout) == (0, "builtsealedsrc/mod.py\n")

    async def test_where_nothing_is_said_nothing_has_changed(self, bench: Bench) -> None:
        assert (await bench.run(SHOW, bench.tree(FILES), build=(CHANGE,))).stdout == "sealedsealed"

    async def test_without_a_build_nothing_is_put_back(self, bench: Bench) -> None:
        assert (await bench.run(f"{CHANGE}; touch conftest.py; {SHOW}; ls", bench.tree(FILES))).stdout.split() == [
            "builtbuiltconftest.py",
            "src",
            "tests",
        ]

    @pytest.mark.parametrize(
        ("made", "stays"),
        [
            ("src/gen.py", True),
            ("conftest.py", False),
            ("new/conftest.py", False),
            ("package.json", False),
            ("dist/package.json", True),
            ("src/sitecustomize.py", False),
            ("$HOME/site/mod.py", True),
            ("$HOME/site/usercustomize.py", False),
            ("$HOME/.config/x", False),
        ],
    )
    async def test_what_is_new_stays_unless_something_runs_or_obeys_it(
        self, bench: Bench, made: str, stays: bool
    ) -> None:
        build = f"mkdir -p $(dirname {made}); echo x > {made}"
        seen = await bench.run(f"test -e {made}", bench.tree(FILES), build=(build,), build_rules=RULES)
        assert (seen.exit_code == 0) == stays

    async def test_a_server_is_built_alike(self, bench: Bench) -> None:
        server = f"{SHOW}; {HEAR}; sleep {LONG}"
        seen = await bench.serve(server, KNOCK, bench.tree(FILES), build=(CHANGE,), build_rules=RULES)
        assert seen.server.stdout == "builtsealed"
