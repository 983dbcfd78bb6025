"""Removes what the project's workers left on the engine, while none of them runs: what the host does in the end."""

from __future__ import annotations

import asyncio
import sys

from adapters.config.settings import load_settings
from domain.errors import Unavailable
from entrypoints.evidence_store import open_store
from entrypoints.host import build_sandbox


def main() -> None:
    """Remove it; an engine that is gone has nothing of ours."""
    settings = load_settings()
    sandbox = build_sandbox(settings, open_store(settings))
    try:
        asyncio.run(sandbox.clear())
    except Unavailable as error:
        sys.stderr.write(f"nothing cleared: {error.reason}\n")
    finally:
        sandbox.close()


if __name__ == "__main__":
    main()
