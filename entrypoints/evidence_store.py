"""Opens the project's evidence store, and what prunes it: a folder, or a bucket where `evidence_url` names one.

Without masks: what commands read is masked already (`stores`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from adapters.config.settings import Settings
from adapters.evidence.folder import FolderStore
from domain.filed_order import order_in

if TYPE_CHECKING:
    from domain.ports import EvidenceStore
    from entrypoints.pruning import Sweep

ORDER = "spec.json"
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""Variables that say where the store is, the stronger first; AWS itself where there is none."""

WEB_PORTS = (80, 443)
SECRET_FILES = ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
"""Variables that name files whose reader may use the bucket."""


def open_store(settings: Settings) -> EvidenceStore:
    """The project's evidence store. Raises `Unavailable` where its folder cannot be used; a bucket is not asked yet."""
    if settings.evidence_url is None:
        return FolderStore(settings.evidence_dir)
    from adapters.evidence.bucket import Bucket  # noqa: PLC0415 - obstore: only who has a bucket needs it
    from adapters.evidence.s3 import S3Store  # noqa: PLC0415 - as above

    return S3Store(Bucket(settings.evidence_url, endpoint()), settings.state_dir / "staging")


def open_sweep(settings: Settings) -> Sweep:
    """What finds and removes old evidence there."""
    if settings.evidence_url is None:
        from adapters.evidence.sweep import FolderSweep  # noqa: PLC0415 - only pruning needs it

        return FolderSweep(settings.evidence_dir)
    from adapters.evidence.bucket import Bucket  # noqa: PLC0415 - obstore: only who has a bucket needs it
    from adapters.evidence.s3_sweep import S3Sweep  # noqa: PLC0415 - as above

    return S3Sweep(Bucket(settings.evidence_url, endpoint()))


@contextmanager
def filed_order(settings: Settings, session: str, todo: str, attempt: int) -> Iterator[Path | None]:
    """The file with the order of that attempt, for the length of the block; None when there is none.

    Without the designer's answer that may stand beside the order: no order has such a field.
    """
    found = open_store(settings).placed(session, todo, attempt, ORDER)
    if found is None:
        yield None
        return
    order = order_in(found)
    if settings.evidence_url is None and order == found:
        yield settings.evidence_dir / session / todo / str(attempt) / ORDER
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / ORDER
        path.write_bytes(order)
        yield path


def endpoint() -> str | None:
    """Where the bucket's store is; None for AWS."""
    return next((os.environ[name] for name in ENDPOINTS if os.environ.get(name)), None)


def store_port(settings: Settings) -> int | None:
    """The store's port, if there is a bucket and the port is none that everything else is on, too."""
    url = endpoint() if settings.evidence_url is not None else None
    port = urlsplit(url).port if url else None
    return None if port in WEB_PORTS else port


def secret_files() -> tuple[Path, ...]:
    """Files of this host that give access to the bucket."""
    return tuple(Path(path) for name in SECRET_FILES if (path := os.environ.get(name)))
