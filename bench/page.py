"""Writes the numbers into `docs/performance.md`, between two marks; the text around them is written by people."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

BEGIN, END = "<!-- measured: written by make bench -->", "<!-- end of measured -->"


def written(page: str, results: Mapping[str, Any]) -> str:
    """`page` with these results between its marks. Raises `ValueError` for a page without them."""
    between = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if not between.search(page):
        raise ValueError(f"the page has no {BEGIN} ... {END}")
    return between.sub(lambda _: f"{BEGIN}\n\n{section(results)}\n\n{END}", page)


def section(results: Mapping[str, Any]) -> str:
    """Ratios first, then the numbers that they come from, then the machine."""
    parts = [_bars(results), *(_part(results, name, shown) for name, shown in PARTS.items()), _machine(results)]
    return "\n\n".join(part for part in parts if part)


def _bars(results: Mapping[str, Any]) -> str:
    rows = []
    for name, bar, below, find in BARS:
        value = _found(results, find)
        if value is None:
            rows.append((name, "not measured", _bar(bar, below), ""))
        else:
            met = value <= bar if below else value >= bar
            rows.append((name, f"{value:g}", _bar(bar, below), "yes" if met else "**no**"))
    return _table(("", "measured", "bar", "met"), rows)


def _bar(bar: float, below: bool) -> str:
    return f"{'at most' if below else 'at least'} {bar:g}"


def _found(results: Mapping[str, Any], find: Callable[[Mapping[str, Any]], float]) -> float | None:
    """None for what was not measured, or could not be."""
    try:
        return find(results["measured"])
    except (KeyError, StopIteration):
        return None


def _round(measured: Mapping[str, Any], tree: str, checks: int, ratio: str) -> float:
    rounds = measured["rounds"]["rounds"]
    return float(next(r[ratio] for r in rounds if r["tree"].startswith(tree) and r["checks"] == checks))


def _suite(measured: Mapping[str, Any], name: str) -> float:
    return float(next(s["b/a"] for s in measured["structured"]["suites"] if s["suite"] == name))


def _ratio(measured: Mapping[str, Any], name: str) -> float:
    return float(measured["sessions"]["ratios"][name])


def _waits(measured: Mapping[str, Any], kind: str) -> float:
    return float(next(found["ratio"] for found in measured["fairness"]["kinds"] if found["kind"] == kind))


Bar = tuple[str, float, bool, Callable[[Mapping[str, Any]], float]]
BARS: tuple[Bar, ...] = (
    (
        "7 checks, 10 MB: round on a running host / loop of docker run",
        0.75,
        True,
        lambda m: _round(m, "10 MB", 7, "c/a"),
    ),
    ("7 checks, 10 MB: cold `verify` / loop", 1.5, True, lambda m: _round(m, "10 MB", 7, "b/a")),
    ("20 checks, 10 MB: round on a running host / loop", 0.7, True, lambda m: _round(m, "10 MB", 20, "c/a")),
    ("7 checks, 100 MB: round on a running host / loop", 0.75, True, lambda m: _round(m, "100 MB", 7, "c/a")),
    ("7 checks, 100 MB: cold `verify` / loop", 1.5, True, lambda m: _round(m, "100 MB", 7, "b/a")),
    ("20 checks, 100 MB: round on a running host / loop", 0.7, True, lambda m: _round(m, "100 MB", 20, "c/a")),
    ("structured check / bare pytest, suite of 0.5 s", 1.8, True, lambda m: _suite(m, "0.5 s")),
    ("structured check / bare pytest, suite of 10 s", 1.8, True, lambda m: _suite(m, "10 s")),
    ("appends / bare inserts, SQLite", 0.8, False, lambda m: float(m["trails"]["sqlite"]["appends/bare"])),
    ("`countersign --help`, seconds", 0.4, True, lambda m: _median(m["starts"]["starts"]["countersign --help"])),
    *(
        (f"a todo of 10,000 / of 100 {beside}, {phase}", 1.2, True, partial(_ratio, name=f"{phase}, cpu_ms{when}"))
        for phase in ("created", "lived")
        for beside, when in (("beside it", ""), ("on a new host", ", of a new host's"))
    ),
    *(
        (f"10 todos beside very many / alone, {kind}", 2.0, True, partial(_waits, kind=kind))
        for kind in ("criteria", "checks")
    ),
    ("idle host, PSS in MB", 200, True, lambda m: _median(m["memory"]["idle"]["pss"])),
)


def _median(measured: Mapping[str, Any]) -> float:
    return float(measured["median"])


def _part(results: Mapping[str, Any], name: str, shown: Callable[[Mapping[str, Any]], str]) -> str:
    part = results["measured"].get(name)
    if part is None:
        return ""
    return f"`{name}`: not measured: {part['skipped']}" if "skipped" in part else shown(part)


def _rounds(part: Mapping[str, Any]) -> str:
    head = ("tree", "checks", "b/a", "c/a", "d/a", "(a) loop, s", "(b) cold, s", "(c) round, s", "(d) command, s")
    rows = [
        (r["tree"], r["checks"], r["b/a"], r["c/a"], r["d/a"], *(_span(r[name]) for name in ("a", "b", "c", "d")))
        for r in part["rounds"]
    ]
    return _table(head, rows)


def _structured(part: Mapping[str, Any]) -> str:
    rows = [(s["suite"], s["tests"], s["b/a"], _span(s["a"]), _span(s["b"])) for s in part["suites"]]
    return _table(("suite", "tests", "b/a", "(a) bare pytest, s", "(b) structured check, s"), rows)


def _trails(part: Mapping[str, Any]) -> str:
    rows = []
    for name in ("sqlite", "postgresql"):
        found = part[name]
        if "skipped" in found:
            rows.append((name, f"not measured: {found['skipped']}", "", "", ""))
        else:
            speeds = (found[f"{kind}_per_second"]["median"] for kind in ("appends", "bare inserts", "verified"))
            rows.append((name, found["appends/bare"], *speeds))
    return _table(("trail", "appends / bare", "appends a second", "bare inserts", "`log verify`, rows a second"), rows)


def _cost(part: Mapping[str, Any]) -> str:
    rows = [
        ("events in the history", part["events_ratio"], part["events"]["round"], part["events"]["one activity"]),
        ("CPU ms of server and worker", part["cpu_ratio"], *(_median(part["cpu_ms"][n]) for n in ("round", ONE))),
    ]
    return _table((f"a round of {part['checks']} checks", "ratio", "round", "one activity"), rows)


ONE = "one activity"


def _starts(part: Mapping[str, Any]) -> str:
    return _table(("command", "seconds"), [(f"`{name}`", _span(found)) for name, found in part["starts"].items()])


def _memory(part: Mapping[str, Any]) -> str:
    rows = [(f"idle, {kind}", _span(found)) for kind, found in part["idle"].items()]
    rows += [(f"of it {name}, pss", round(found["pss"], 1)) for name, found in part["idle_of_each"].items()]
    rows.append(("at most during a round, pss", _span(part["peak_pss"])))
    rows.append(("idle after rounds, pss", part["after_rounds"]["pss"]))
    return _table(("host", "MB"), rows)


def _sessions(part: Mapping[str, Any]) -> str:
    head = ("sessions", "created, ms", "CPU", "lived, ms", "CPU", "events a life", "CPU an event", "stop, s")
    rows = [
        (
            found["name"],
            *(found[phase][what] for phase in ("created", "lived") for what in ("wall_ms", "cpu_ms")),
            found["events_a_life"],
            found["cpu_ms_an_event"],
            found["stop"],
        )
        for found in part["sizes"]
    ]
    bare = part["one_activity"]
    rows.append(("one activity", "", "", bare["wall_ms"], bare["cpu_ms"], bare["events"], bare["cpu_ms_an_event"], ""))
    return "\n\n".join((_table(head, rows), _histories(part)))


def _histories(part: Mapping[str, Any]) -> str:
    """What of the server's limits the history of a session uses."""
    head = ("a session's history", "runs", "events a todo", "largest, MB", "carried to the next run, kB")
    rows = [
        (
            found["name"],
            found["runs"],
            found["session_events_a_todo"],
            round(found["most_history_bytes"] / 1e6, 1),
            round(found["packed_bytes"] / 1e3),
        )
        for found in part["sizes"]
    ]
    return _table(head, rows)


def _fairness(part: Mapping[str, Any]) -> str:
    head = ("a session of", "beside one of", "ratio", "beside, s", "alone, s", "the large one, s")
    rows = [
        (
            f"{k['small']}, {k['kind']}",
            k["large"],
            k["ratio"],
            _span(k["beside"]),
            _span(k["alone"]),
            k["large_seconds"],
        )
        for k in part["kinds"]
    ]
    return _table(head, rows)


def _updates(part: Mapping[str, Any]) -> str:
    kinds = {"bare": "bare", "one activity": "one activity", "note": "a note on a todo"}
    head = ("agents", *(f"{shown}, {cut}" for shown in kinds.values() for cut in ("p50", "p99")))
    rows = [
        (found["agents"], *(found[name][cut] for name in kinds for cut in ("p50_ms", "p99_ms")))
        for found in part["updates"]
    ]
    return _table(head, rows)


PARTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "rounds": _rounds,
    "structured": _structured,
    "cost": _cost,
    "trails": _trails,
    "starts": _starts,
    "memory": _memory,
    "sessions": _sessions,
    "updates": _updates,
    "fairness": _fairness,
}


def _machine(results: Mapping[str, Any]) -> str:
    machine = results["machine"]
    packages = ", ".join(f"{name} {found}" for name, found in machine["packages"].items())
    return (
        f"Measured on {machine['date']}: {machine['cores']} cores ({machine['processor']}), {machine['memory_gb']} GB, "
        f"load before {machine['load_before'][0]}, Linux {machine['kernel']}, Docker {machine['docker']}, "
        f"Python {machine['python']}, SQLite {machine['sqlite']}, {packages}. "
        f"Medians of {results['runs']} runs, least and most in brackets."
    )


def _span(found: Mapping[str, Any]) -> str:
    return f"{found['median']:g} ({found['min']:g} to {found['max']:g})"


def _table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    names = tuple(head)
    lines = [names, ("---",) * len(names), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
