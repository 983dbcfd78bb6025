"""One bucket of an S3-compatible store: requests with an end, and what they come to in our words. It knows no evidence.

Who asks, and in which region, is said as for every tool that speaks S3, by the environment: `AWS_REGION`,
`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_CA_BUNDLE` and the rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, PreconditionError, UnauthenticatedError
from obstore.store import S3Store

from domain.errors import Cause, Unavailable

if TYPE_CHECKING:  # of its types these are not there when it runs
    from obstore.store import ClientConfig, RetryConfig

_CLIENT: ClientConfig = {
    "connect_timeout": timedelta(seconds=5),
    "read_timeout": timedelta(seconds=20),
    "timeout": timedelta(seconds=300),
}
_RETRIES: RetryConfig = {
    "max_retries": 4,
    "retry_timeout": timedelta(seconds=20),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=3), "base": 2},
}
"""A store that is away fails a request in seconds, one that says nothing in less than a minute; activities go on."""

_PARTS_AT_ONCE = 2
"""Of one large file, 5 MiB each: a bulk sends many files at once."""

_NOT_ALLOWED = (PermissionDeniedError, UnauthenticatedError)
_NO_CREDENTIALS = ("169.254.169.254", "169.254.170.2")
"""Where credentials are looked for last, on AWS alone."""


class Found(NamedTuple):
    """An object: its path in the bucket, its bytes, when it was written (seconds since 1970), which version it is."""

    path: str
    size: int
    written: float
    etag: str


class Bucket:
    """The bucket that `url` names, `s3://BUCKET` or `s3://BUCKET/PREFIX`, at `endpoint`, or of AWS itself.

    Nothing is asked of it yet.

    Every method raises `Unavailable` (store_unavailable).
    """

    def __init__(self, url: str, endpoint: str | None = None) -> None:
        self.url = url.rstrip("/")
        parts = urlsplit(self.url)
        client: ClientConfig = {**_CLIENT, "allow_http": (endpoint or "").startswith("http://")}
        if authorities := os.environ.get("AWS_CA_BUNDLE"):
            client["root_certificate"] = _certificates(Path(authorities))
        config = {"endpoint": endpoint} if endpoint else {}
        with self._said("read the configuration of"):
            self._store = S3Store(
                parts.netloc,
                prefix=parts.path.strip("/") or None,
                client_options=client,
                retry_config=_RETRIES,
                **config,  # type: ignore[arg-type]  # of the options that S3Store takes, one
            )

    def head(self, path: str) -> Found | None:
        """What is known of the object, None when there is none."""
        with self._said(f"look for {path} in"):
            try:
                meta = obstore.head(self._store, path)
            except FileNotFoundError:
                return None
        return Found(path, meta["size"], meta["last_modified"].timestamp(), meta["e_tag"] or "")

    def get(self, path: str) -> tuple[bytes, Found] | None:
        """The object's bytes and what is known of it, None when there is none."""
        with self._said(f"read {path} from"):
            try:
                answer = obstore.get(self._store, path)
                data = bytes(answer.bytes())
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise
                return None
        meta = answer.meta
        return data, Found(path, meta["size"], meta["last_modified"].timestamp(), meta["e_tag"] or "")

    def put(self, path: str, data: bytes | Path) -> None:
        """Store bytes, or a file of this host in parts, under `path`, whatever was there."""
        with self._said(f"write {path} to"):
            obstore.put(self._store, path, data, max_concurrency=_PARTS_AT_ONCE)

    def put_over(self, found: Found, data: bytes) -> None:
        """Store `data` in place of `found`; where another has come meanwhile, that stays.

        A store that knows no conditions replaces that as well.
        """
        with self._said(f"write {found.path} to"):
            try:
                obstore.put(self._store, found.path, data, mode={"e_tag": found.etag})
            except PreconditionError:
                return
            except (NotImplementedError, FileNotFoundError):  # conditions are switched off; it was removed meanwhile
                obstore.put(self._store, found.path, data)

    def delete(self, path: str) -> None:
        """Remove the object, if it is there."""
        with self._said(f"remove {path} from"):
            try:
                obstore.delete(self._store, path)
            except FileNotFoundError:
                return

    def below(self, folder: str) -> Iterator[Found]:
        """Everything below `folder`, sorted by path."""
        with self._said(f"list {folder} of"):
            for page in obstore.list(self._store, folder):
                for meta in page:
                    yield Found(meta["path"], meta["size"], meta["last_modified"].timestamp(), meta["e_tag"] or "")

    def folders(self, folder: str = "") -> list[str]:
        """The paths of what looks like a folder in `folder`, sorted."""
        with self._said(f"list {folder or 'the top'} of"):
            return sorted(obstore.list_with_delimiter(self._store, folder or None)["common_prefixes"])

    @contextmanager
    def _said(self, doing: str) -> Iterator[None]:
        """What the store refuses in the block, as `Unavailable` with what to do about it."""
        try:
            yield
        except (FileNotFoundError, BaseError) as error:
            what, next_step = _meaning(error)
            raise _unavailable(f"cannot {doing} {self.url}: {what}", next_step) from error


def _meaning(error: Exception) -> tuple[str, str]:
    """What is wrong, and what to do. A listing's errors have no class of their own, so the text is looked at, too."""
    text = str(error)
    if isinstance(error, FileNotFoundError) or "<Code>NoSuchBucket" in text:
        return "there is no such bucket", "make it, or see that evidence_url and AWS_ENDPOINT_URL name the right one"
    if isinstance(error, _NOT_ALLOWED) or "status code: 403" in text:
        return _brief(text), (
            "see that AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are right, and may read, write, list and delete"
        )
    if any(address in text for address in _NO_CREDENTIALS):
        return "nobody said with what credentials", (
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role"
        )
    return _brief(text), "see that the store runs and can be reached; what failed is tried again"


def _certificates(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unavailable(
            f"AWS_CA_BUNDLE names {path}, which cannot be read: {error.strerror}", "name a file of certificates"
        ) from error


def _brief(text: str) -> str:
    """The first line, without the request's whole story; the store's code where it gave one."""
    code = text.partition("<Code>")[2].partition("</Code>")[0]
    first = text.partition("\n")[0].removeprefix("Generic S3 error: ")
    return f"the store says {code}" if code else first[:300]


def _unavailable(reason: str, next_step: str) -> Unavailable:
    return Unavailable(
        Cause.STORE_UNAVAILABLE, f"The evidence store {reason}"[:600], next_step[:1].upper() + next_step[1:]
    )
