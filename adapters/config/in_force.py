"""Names what decides besides an order: the files in force, who may sign, and the variables that choose who decides."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from adapters.config.configuration import Configured
from adapters.config.problems import shown_as
from adapters.config.settings import CONFIGURATION, Settings, variables_of_field
from adapters.config.signers import file_of_signers
from adapters.config.text_file import bytes_of
from adapters.config.worker_written import AUTHORITY
from domain.authority import Authority
from domain.base import sha256_hex

FIELDS = (
    *AUTHORITY,
    "project",
    "state_dir",
    "temporal_profile",
    "temporal_binary",
    "database_owner_url",
    "signers_file",
    "model",
)
"""Settings whose variables choose who decides, or on what."""

OTHERS = (
    CONFIGURATION,
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL",
    "ANTHROPIC_BASE_URL",
    "OPENAI_BASE_URL",
    "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY",
)
"""Variables that libraries read for themselves: which server is asked."""

_OF_THE_SERVER = re.compile(r"TEMPORAL_(?!.*(?:KEY|META))[A-Z0-9_]+")
"""What Temporal's own configuration reads, without what it authenticates with."""

_PASSWORD = re.compile(r"//[^/@]*@")


def authority_of(settings: Settings, files: Iterable[Configured] = ()) -> Authority:
    """What is in force under `settings`, and by `files` above an order and its workspace. Raises `Malformed`.

    A password in a URL authenticates and decides nothing: the digest is of the URL without it.
    """
    every = {one.path: one for one in (*settings.files, *settings.above, *files)}.values()
    signers = file_of_signers(settings, every)
    content = "an OpenSSH allowed signers file"
    return Authority(
        configuration=tuple(one.named for one in every),
        signers=sha256_hex(bytes_of(signers, shown_as(signers), content)) if signers else "",
        environment=dict(_variables(os.environ)),
    )


def _variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    known = {*OTHERS, *(name for field in FIELDS for name in variables_of_field(field))}
    for name, value in sorted(environ.items()):
        if value and (name in known or _OF_THE_SERVER.fullmatch(name)):
            yield name, sha256_hex(os.fsencode(_PASSWORD.sub("//", value)))
