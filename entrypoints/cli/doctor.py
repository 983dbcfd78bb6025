"""`countersign doctor`: what is there and what is missing, each with the fix. It changes nothing, and sends nothing
unless it is asked to."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from adapters.config.signers import load_signers
from adapters.signatures.allowed import lines_of
from adapters.signatures.keygen import keygen
from adapters.trail.database import parsed, place_of
from domain.errors import Malformed, Unavailable
from entrypoints.agents import build_workers
from entrypoints.cli import common
from entrypoints.cli.doctor_models import models, web
from entrypoints.cli.doctor_notifier import notifications
from entrypoints.cli.finding import Finding
from entrypoints.client import connect
from entrypoints.host import build_sandbox
from entrypoints.host_files import Files
from entrypoints.names import IMAGES_DIR
from entrypoints.state_dir import prepare_state_dir
from entrypoints.temporal_binary import server_binary


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable on stdout.")] = False,
    notify: Annotated[
        bool, typer.Option("--notify", help="Send a test message to every address in [notifications].")
    ] = False,
) -> None:
    """Look at everything that a verdict needs. Exit code 3 when something is missing.

    Example: countersign doctor
    """
    findings = [_python(), _state_dir(), _database(), _evidence(), _temporal(), *_sandbox(), _images(), _workers()]
    findings += [*_configuration(), *_signers()]
    findings += [*models(common.settings()), *web(common.settings()), *notifications(common.settings(), send=notify)]
    if as_json:
        common.emit_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            common.out(common.visible(f"{'✓' if finding.ok else '✗'} {finding.name:16} {finding.text}"))
            if finding.fix:
                common.out(common.visible(f"  {'':16} fix: {finding.fix}"))
    if not all(finding.ok for finding in findings):
        raise typer.Exit(common.EXIT_UNAVAILABLE)


def _python() -> Finding:
    version = ".".join(str(part) for part in sys.version_info[:3])
    return Finding("python", True, f"{version} at {sys.executable}")


def _state_dir() -> Finding:
    path = common.settings().state_dir
    try:
        prepare_state_dir(path)
    except Unavailable as error:
        return Finding("state directory", False, error.reason, error.next_step)
    return Finding("state directory", True, f"{path}, {shutil.disk_usage(path).free // 2**20} MiB free")


def _database() -> Finding:
    try:
        trail = common.open_trail()
        place = place_of(parsed(common.settings().database_url))
        return Finding("database", True, f"{place}, trail {trail.store_id()}")
    except Unavailable as error:
        return Finding("database", False, error.reason, error.next_step)


def _evidence() -> Finding:
    settings = common.settings()
    try:
        common.open_evidence().recall("0" * 64)  # of a bucket nothing was asked before
    except Unavailable as error:
        return Finding("evidence", False, error.reason, error.next_step)
    return Finding("evidence", True, settings.evidence_url or str(settings.evidence_dir))


def _temporal() -> Finding:
    settings = common.settings()
    state = Files(settings.state_dir).alive()
    try:
        if settings.remote:
            client = asyncio.run(connect(settings))
            return Finding("temporal", True, f"answers at {client.service_client.config.target_host}")
        if state is not None:
            asyncio.run(connect(settings, state.address))
            return Finding("temporal", True, f"embedded, answers at {state.address}, Web UI {state.ui}")
        return Finding("temporal", True, f"embedded, starts when needed: {server_binary(settings.temporal_binary)}")
    except Unavailable as error:
        return Finding("temporal", False, error.reason, error.next_step)


def _sandbox() -> list[Finding]:
    sandbox = build_sandbox(common.settings(), common.open_evidence())
    return [Finding(probe.name, probe.ok, probe.text, probe.fix) for probe in asyncio.run(sandbox.probe())]


def _workers() -> Finding:
    """No precondition of a verdict: whoever wrote the work, it is judged the same."""
    why = build_workers(common.settings(), common.open_evidence()).why_not_confined()
    return Finding("worker commands", True, f"not confined: {why}" if why else "confined by namespaces")


def _configuration() -> list[Finding]:
    """The files that are in force here, where there are any."""
    settings = common.settings()
    files = [str(one.path) for one in (*settings.files, *settings.above)]
    return [Finding("configuration", True, ", ".join(files))] if files else []


def _signers() -> list[Finding]:
    """Who may sign, where that is configured, and what signatures are looked at with."""
    try:
        signers = load_signers(common.settings())
        if signers is None:
            return []
        keygen("-Y", "find-principals", "-s", os.devnull, "-f", os.devnull)
    except Malformed as error:
        return [Finding("signers", False, str(error.problems[0]), "mend it: until then nobody's signature is taken")]
    except Unavailable as error:
        return [Finding("signers", False, error.reason, error.next_step)]
    names = {name for line in lines_of(signers.allowed)[0] for name in line.principals}
    owners = sorted(name for name, role in signers.roles.items() if role == "owner")
    return [Finding("signers", True, f"{', '.join(sorted(names))}; owners: {', '.join(owners) or 'none'}")]


def _images() -> Finding:
    names = sorted(path.parent.name for path in IMAGES_DIR.glob("*/Dockerfile"))
    return Finding("images", True, f"built when first used: {', '.join(names)}")
