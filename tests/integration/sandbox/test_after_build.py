"""Builds that cheat: when the command begins, what was sealed is as it was, and nothing of a build runs by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from adapters.sandbox import build_script
from domain.builds import BuildRules, Unwanted
from domain.checks import Observation
from domain.errors import Cause, Unavailable
from domain.order import Resources
from tests.docker_bench import Bench, new_folder

FILES = {
    "conftest.py": b"sealed conftest\n",
    "package.json": b"sealed package\n",
    "src/mod.py": b"sealed mod\n",
    "tests/test_it.py": b"sealed test\n",
    "tests/deep/helpers.py": b"sealed helpers\n",
}
LINKS = {"link": "tests/test_it.py"}
SEALED = "".join(text.decode() for path, text in FILES.items() if path != "src/mod.py")
SHOW = f"cat {' '.join(path for path in FILES if path != 'src/mod.py')}"
KINDS = "stat -c %A conftest.py tests tests/deep tests/test_it.py link; readlink link"
KINDS_SEALED = "-rw-r--r--\ndrwxr-xr-x\ndrwxr-xr-x\n-rw-r--r--\nlrwxrwxrwx\ntests/test_it.py\n"
RULES = BuildRules(changeable=("src/mod.py",), hiding=("json", "pytest"))
LIST = "find . ! -type d | sort; find /work/home ! -type d; ls -A /work /tmp /dev/shm"
NOTHING_NEW = "\n".join(
    (*sorted(f"./{path}" for path in {**FILES, **LINKS}), "/dev/shm:", "", "/tmp:", "", "/work:", "home\ntree\n")
)


async def built(bench: Bench, *build: str, command: str, rules: BuildRules = RULES, **other: Any) -> Observation:
    digest = bench.store.put(rules.model_dump_json().encode())
    tree = bench.tree(FILES, LINKS)
    return await bench.run(command, tree, build=build, build_rules=digest, **other)


@dataclass(frozen=True)
class Cheat:
    """A build that changes what it may not."""

    name: str
    build: str


CHANGES = (
    Cheat("rewrites", "for f in tests/test_it.py conftest.py package.json tests/deep/helpers.py; do echo x > $f; done"),
    Cheat("deletes", "rm -r tests conftest.py package.json link"),
    Cheat("takes rights", "chmod 000 tests/test_it.py tests/deep tests conftest.py . /work /tmp"),
    Cheat("puts folders", "rm -r conftest.py link tests/test_it.py; mkdir -p conftest.py/x link tests/test_it.py/x/y"),
    Cheat("puts folders without rights", "rm conftest.py && mkdir -p conftest.py/x && chmod 000 conftest.py/x"),
    Cheat("puts links", "ln -sf ../src/mod.py tests/test_it.py; ln -sf src/mod.py conftest.py; ln -sf src link"),
    Cheat("puts a link for a folder", "mv tests other; ln -s other tests; echo x > other/test_it.py"),
    Cheat("puts a link for a folder outside", "mv tests /tmp/t; ln -s /tmp/t tests; echo x > /tmp/t/test_it.py"),
    Cheat("puts a link for a deep folder", "mv tests/deep x; ln -s ../x tests/deep; echo x > x/helpers.py"),
    Cheat("puts a file for a folder", "rm -r tests; echo x > tests"),
    Cheat("puts pipes", "rm conftest.py tests/test_it.py; mkfifo conftest.py tests/test_it.py"),
    Cheat("hard links", "ln -f src/mod.py tests/test_it.py; ln -f src/mod.py conftest.py; echo x > src/mod.py"),
    Cheat("leaves a daemon", "(setsid sh -c 'while :; do echo x > conftest.py; done' 2> /dev/null &); sleep 0.2"),
    Cheat(
        "leaves many daemons",
        "for i in 1 2 3 4 5 6 7; do (trap '' TERM HUP; while :; do (echo x > conftest.py) & wait; done) &"
        "done; sleep 0.3",
    ),
    Cheat("leaves a stopped daemon", "(setsid sh -c 'kill -STOP $$; echo x > tests/test_it.py' &); sleep 0.2"),
    Cheat("holds a file open", "(exec 9>> tests/test_it.py; while :; do echo x >&9; sleep 0.01; done) & sleep 0.2"),
)  # fmt: skip


IN_EVERY_RUN = {"rewrites", "takes rights", "puts a link for a folder", "holds a file open", "leaves many daemons"}


def some(values: Iterable[Any], names: Iterable[str], kept: Container[str]) -> list[ParameterSet]:
    """Each under its name, those that are not `kept` in `make long` alone."""
    return [
        pytest.param(value, id=name, marks=() if name in kept else pytest.mark.slow)
        for value, name in zip(values, names, strict=True)
    ]


class TestPutBack:
    @pytest.mark.parametrize("cheat", some(CHANGES, (cheat.name for cheat in CHANGES), IN_EVERY_RUN))
    async def test_what_is_not_the_build_s_to_change_is_as_it_was(self, bench: Bench, cheat: Cheat) -> None:
        seen = await built(bench, cheat.build, command=f"sleep 0.3; {SHOW}; {KINDS}; ls -d /proc/[0-9]* | wc -l")
        assert (seen.exit_code, seen.build_failed) == (0, False), seen
        assert seen.stdout.startswith(SEALED + KINDS_SEALED)
        assert int(seen.stdout.split()[-1]) <= 5, "the keeper, the timer and the command"

    async def test_what_the_worker_may_change_a_build_may_change(self, bench: Bench) -> None:
        seen = await built(
            bench, "echo built >> src/mod.py; echo new > src/new.py", command="cat src/mod.py src/new.py"
        )
        assert (seen.exit_code, seen.stdout) == (0, "sealed mod\nbuilt\nnew\n")

    async def test_a_tree_of_which_nothing_is_said_is_put_back_whole(self, bench: Bench) -> None:
        tree = bench.tree(FILES)
        seen = await bench.run("cat src/mod.py new", tree, build=("echo x > src/mod.py; echo new > new",))
        assert (seen.exit_code, seen.stdout) == (0, "sealed mod\nnew\n")

    async def test_names_that_are_meant_to_harm_are_put_back(self, bench: Bench) -> None:
        names = ("-rf", "a b/-x", "new\nline/y", "quote'\"", "$(id)", "üñí/☃", "*", "[a]")
        tree = bench.tree({name: name.encode() for name in names})
        build = 'for f in ./*; do rm -rf "$f"; mkdir "$f"; done; ls -A > /work/home/seen'
        seen = await bench.run("cat ./-rf ./a*/-x ./new*/y './[a]' './*'; find . | wc -l", tree, build=(build,))
        assert (seen.exit_code, seen.stdout) == (0, "-rfa b/-xnew\nline/y[a]*14\n"), seen

    @pytest.mark.parametrize(
        "build",
        ["rm -rf tests; for i in 1 2 3; do cat /dev/zero > fill$i; done; true",
         "mv /work/tree /work/other; ln -s /work/other /work/tree", "rm -rf /work/tree; true",
         "i=0; while [ $i -lt 99 ]; do sleep 300 & i=$((i + 1)); done"],
        ids=["no room", "the tree a link", "no tree", "no processes"],
    )  # fmt: skip
    async def test_what_cannot_be_put_back_failed(self, bench: Bench, build: str) -> None:
        seen = await built(bench, build, command="echo ran")
        assert (seen.build_failed, seen.stdout) == (True, ""), seen
        assert seen.exit_code != 0
        assert "could not be put back" in seen.stderr or "fork" in seen.stderr


class TestNothingRunsByItself:
    @pytest.mark.parametrize(
        "build",
        some([
            "mkdir new; for d in src tests new; do touch $d/conftest.py $d/pytest.ini $d/tox.ini; done;"
            "touch .pytest.ini pytest.toml setup.cfg pyproject.toml",
            "mkdir src/sitecustomize; touch src/sitecustomize/__init__.py usercustomize.py tests/sitecustomize.so",
            "echo 'import os' > x.pth; ln -s /etc/passwd y.pth; mkdir z.pth",
            "touch jest.config.js .npmrc src/package.json .env GNUmakefile tests/vitest.config.ts",
            "mkdir -p tests/__pycache__; touch tests/__pycache__/test_it.cpython-311-pytest-8.pyc src/mod.pyc",
            "mkdir x.egg-info; echo '[pytest11]' > x.egg-info/entry_points.txt",
            "touch json.py src/json.so tests/pytest.py; mkdir src/pytest; touch src/pytest/__init__.py",
            "touch tests/test_it.cpython-311-x86_64.so; cd tests/deep; mkdir helpers; touch helpers/__init__.py",
            "mkdir -p ~/.local/lib ~/.config; touch ~/.local/lib/x.py ~/.config/x ~/.npmrc ~/.pydistutils.cfg ~/..x",
            "touch /tmp/x /tmp/.x /dev/shm/x /work/x /work/.x /work/tox.ini; mkdir -p /work/node_modules/x /tmp/y",
            "mkdir -p ~/site; touch ~/site/json.py ~/site/sitecustomize.py ~/conftest.py; echo import x > ~/site/x.pth",
            "mkdir ~/bin; touch ~/bin/python3 ~/bin/sh ~/bin/test",
            "rm -rf ~; ln -s /work/tree/src ~",
        ],
        ["python's configuration", "start-up modules", "start-up lines", "others' configuration",
         "bytecode", "plugins", "hidden modules", "hidden tests", "home",
         "other folders", "home's site", "programs", "no home"],
        {"python's configuration", "start-up modules", "hidden modules", "home", "programs"}),
    )  # fmt: skip
    async def test_it_is_gone(self, bench: Bench, build: str) -> None:
        env = {"PYTHONPATH": "src:/work/tree:/work/home/site", "PATH": "/work/home/bin:/opt/venv/bin:/usr/bin:/bin"}
        seen = await built(bench, build, command=f"{LIST}; test -d /work/home", env=env)
        assert (seen.exit_code, seen.stdout) == (0, NOTHING_NEW), seen

    async def test_what_an_honest_build_makes_stays(self, bench: Bench) -> None:
        products = (
            *("src/gen.py", "src/mod.cpython-311-x86_64-linux-gnu.so", "dist/index.js", "dist/package.json"),
            *("build/lib/mod.py", "build/Makefile", "Makefile", "x.egg-info/PKG-INFO", "CTestTestfile.cmake"),
            *("x.egg-info/entry_points.txt", "tests/data/made.json", "tests/run_tests", ".venv/site-packages/x.pth"),
            *("node_modules/x/package.json", "/work/home/site/mod/__init__.py", "/work/home/bin/mod", "pkg/json.py"),
            *("/work/home/site/yaml.py",),
        )
        env = {"PYTHONPATH": "src:/work/home/site", "PATH": "/work/home/bin:/opt/venv/bin:/usr/bin:/bin"}
        build = f'for f in {" ".join(products)}; do mkdir -p "$(dirname $f)"; echo /work/tree/made > $f; done'
        seen = await built(bench, build, command=f"for f in {' '.join(products)}; do cat $f || exit 1; done", env=env)
        assert (seen.exit_code, seen.stdout) == (0, "/work/tree/made\n" * len(products)), seen

    async def test_a_package_that_the_tree_has_may_be_installed(self, bench: Bench) -> None:
        tree = bench.tree({"src/json/__init__.py": b"mine"})
        rules = bench.store.put(BuildRules(hiding=("json",)).model_dump_json().encode())
        seen = await bench.run(
            "cat ~/site/json/__init__.py",
            tree,
            build=("mkdir ~/site; cp -R src/json ~/site",),
            build_rules=rules,
            env={"PYTHONPATH": "/work/home/site"},
        )
        assert (seen.exit_code, seen.stdout) == (0, "mine"), seen

    async def test_an_order_may_allow_a_name(self, bench: Bench) -> None:
        seen = await built(bench, "echo x > setup.cfg", command="cat setup.cfg", rules=BuildRules(unwanted=()))
        assert seen.stdout == "x\n"

    async def test_poisoned_bytecode_of_a_test_is_not_run(self, bench: Bench) -> None:
        """Bytecode with the time and size of its source is taken for it, were it left."""
        tree = bench.tree({"tests/test_it.py": b"assert 1 == 2, 'sealed'\n"})
        poison = (
            "cp -p tests/test_it.py saved.py; printf \"print('forged bytecode')\\n\" > tests/test_it.py; "
            "touch -r saved.py tests/test_it.py; python3 -m compileall -q tests; ls tests/__pycache__ > /dev/null"
        )
        build = f"truncate -s 24 saved.py; {poison}"
        command = "cd tests && python3 -c 'import test_it'"
        seen = await bench.run(command, tree, build=(build,))
        assert (seen.exit_code, seen.stdout) == (1, "")
        assert "sealed" in seen.stderr


class TestKeeper:
    """The shell that lives on after a build."""

    async def test_a_build_cannot_look_into_it(self, bench: Bench) -> None:
        look = "for f in mem environ maps fd/1 exe cwd fd; do head -c 1 /proc/1/$f && echo $f; done; ls /work/keeper"
        seen = await built(bench, f"( {look} ) > ~/seen 2> ~/denied; true", command="cat ~/seen; wc -l < ~/denied")
        assert seen.stdout == "8\n", "one refusal each"

    @pytest.mark.parametrize(
        "build", ["kill -9 1", "kill -STOP 1; kill -TERM 1; kill -INT 1; kill -HUP 1; kill -USR1 1; kill -SEGV 1"]
    )
    async def test_a_build_cannot_end_it(self, bench: Bench, build: str) -> None:
        assert (await built(bench, build, command=SHOW)).stdout == SEALED

    async def test_a_build_that_takes_its_resources_wins_nothing(self, bench: Bench) -> None:
        for limit in ("NOFILE", "FSIZE", "STACK", "CPU", "AS", "NPROC", "DATA"):
            take = f"import resource as r; r.prlimit(1, r.RLIMIT_{limit}, (0, 0))"
            seen = await built(bench, f"python3 -c '{take}'; echo x > tests/test_it.py", command=SHOW)
            assert seen.stdout == SEALED or (seen.exit_code != 0 and seen.stdout == ""), (limit, seen)

    async def test_where_it_could_be_written_to_nothing_is_built(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(build_script, "SCRIPT", build_script.SCRIPT.replace("chmod 111", "chmod 755"))
        with pytest.raises(Unavailable) as caught:
            await built(bench, "true", command="true")
        assert caught.value.cause is Cause.ENGINE_LIMITS

    async def test_an_image_without_a_tool_is_named(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(build_script, "SCRIPT", build_script.SCRIPT.replace("find", "no-such-find"))
        with pytest.raises(Unavailable, match="the image has no no-such-find") as caught:
            await built(bench, "true", command="true")
        assert caught.value.cause is Cause.IMAGE_UNSUITABLE

    async def test_the_command_s_zombies_are_reaped(self, bench: Bench) -> None:
        seen = await built(
            bench,
            "true",
            command="for i in 1 2 3; do (sleep 0.1 &); done; sleep 0.6; "
            "while grep -lE '^(State:.Z|Name:.sleep)' /proc/[0-9]*/status; do sleep 0.3; done > /dev/null; echo gone",
        )
        assert (seen.exit_code, seen.stdout) == (0, "gone\n")

    async def test_what_a_build_leaves_running_does_not_speak_for_the_command(self, bench: Bench) -> None:
        seen = await built(bench, "(while :; do echo forged; done) & sleep 0.1", command="echo mine; exit 4")
        assert (seen.exit_code, seen.stdout, seen.stderr) == (4, "mine\n", "")


class TestDeps:
    """What was set up is put back, too."""

    @pytest.fixture
    async def installed(self, own: Bench, folders: Path) -> AsyncIterator[Bench]:
        lines = "RUN mkdir -p /deps/lib/runner && echo installed > /deps/lib/runner/main && ln -s main /deps/lib/link"
        own.image = (await own.sandbox.prepare(new_folder(folders, lines), print)).id
        yield own
        await own.sandbox.release(own.round)

    async def test_it_is_as_it_was(self, installed: Bench) -> None:
        build = (
            "echo forged > lib/runner/main; ln -sf /etc/passwd lib/link; touch lib/.npmrc lib/new; echo x > lib/a.pth"
        )
        rules = BuildRules(unwanted=(Unwanted(name=".npmrc", known_folders=True),))
        digest = installed.store.put(rules.model_dump_json().encode())
        seen = await installed.run(
            "cat lib/runner/main; readlink lib/link; ls -A lib",
            build=(build,),
            build_rules=digest,
            resources=Resources(memory="64m", disk="16m", pids=32),
        )
        assert (seen.exit_code, seen.stdout) == (0, "installed\nmain\na.pth\nlink\nnew\nrunner\n"), seen
