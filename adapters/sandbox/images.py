"""Makes images available by name: one of the folders of Dockerfiles, or any reference. It judges none of them.

Source: DESIGN section 7, "Images". Whether checks can run on an image is for `suitability` to find out.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import threading
from pathlib import Path

import docker
from docker.errors import APIError
from docker.utils import parse_repository_tag

from adapters.sandbox.archive import tar_end, tar_member
from adapters.sandbox.engine import FREE_SPACE, Engine, explanation, inspect_image
from adapters.sandbox.present import FOLDER_NAME, LOCAL_BASE, bases_of, files_of, tag_of
from domain.errors import Cause, Unavailable
from domain.messages import Image
from domain.ports import Progress

HOST_CERTIFICATES = "host-ca.crt"
"""A file in every build's context: the host's certificates, or nothing. Only a stage that is left behind copies it."""

_USUAL_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_BUILT = re.compile(rf"countersign/({FOLDER_NAME.pattern}):[0-9a-f]{{12}}")
_MAKING_A_BASE_SECONDS = 1800
_SHOWN_LINES = 5


class Images:
    """The images of one engine. `base_image` is what folders are built on, None for what each Dockerfile says."""

    def __init__(self, engine: Engine, images_dir: Path, base_image: str | None) -> None:
        self._engine = engine
        self._folders = images_dir
        self._base_image = base_image
        self._lock = threading.Lock()

    def prepare(self, image: str, progress: Progress) -> Image:
        """Find, build or pull. Raises `Unavailable` (image_missing, engine_unavailable, disk_full)."""
        folder = self._folders / image
        with self._lock, self._engine.speaking(f"prepare the image {image}") as api:
            if FOLDER_NAME.fullmatch(image) and (folder / "Dockerfile").is_file():
                return self._from_folder(api, folder, progress)
            return Image(reference=image, id=_local(api, image) or _pull(api, image, progress))

    def has(self, image: str) -> bool:
        """Whether the engine has the image, by id or reference. Raises `Unavailable`."""
        with self._engine.speaking(f"look for the image {image}") as api:
            return _local(api, image) is not None

    def again(self, image: Image, progress: Progress) -> Image:
        """What `prepare` answered with on some engine, on this one: found by id or reference, else built or pulled.

        Raises `Unavailable` as `prepare` does, so (image_missing) where this worker would build another image.
        """
        if self.has(image.id):  # without the lock: what is there must not wait for what is being built
            return image
        with self._lock, self._engine.speaking(f"prepare the image {image.reference}") as api:
            return Image(reference=image.reference, id=self._by_reference(api, image.reference, progress))

    def _by_reference(self, api: docker.APIClient, reference: str, progress: Progress) -> str:
        if found := _local(api, reference):
            return found
        built = _BUILT.fullmatch(reference)
        if built is None:
            return _pull(api, reference, progress)
        folder = self._folders / built[1]
        base = self._first_base(api, [self._base_of(folder, reference)], progress)
        return _build(api, folder, base, progress)

    def _base_of(self, folder: Path, reference: str) -> str:
        """What the folder is to be built on for that name: it says what is in the image."""
        bases = bases_of(folder, self._base_image) if (folder / "Dockerfile").is_file() else []
        for base in bases:
            if tag_of(folder, base) == reference:
                return base
        raise Unavailable(
            Cause.IMAGE_MISSING,
            f"the Docker engine has no image {reference}, and this worker would build another of that name: its "
            f"sandbox_images/{folder.name} or its base image differs from that of the worker that prepared it",
            "run the same version of Countersign with the same base_image on all workers of the queue sandbox",
        )

    def _from_folder(self, api: docker.APIClient, folder: Path, progress: Progress) -> Image:
        bases = bases_of(folder, self._base_image)
        for base in bases:
            built = _local(api, tag_of(folder, base))
            if built:
                return Image(reference=tag_of(folder, base), id=built)
        base = self._first_base(api, bases, progress)
        return Image(reference=tag_of(folder, base), id=_build(api, folder, base, progress))

    def _first_base(self, api: docker.APIClient, bases: list[str], progress: Progress) -> str:
        for base in bases:
            if not base or _local(api, base):
                return base
            try:
                if base != LOCAL_BASE:
                    _pull(api, base, progress)
                    return base
            except Unavailable as error:
                if LOCAL_BASE not in bases or error.cause is not Cause.IMAGE_MISSING:
                    raise
                progress(f"{base} cannot be pulled, going on with {LOCAL_BASE}")
        self._make_local_base(progress)
        return LOCAL_BASE

    def _make_local_base(self, progress: Progress) -> None:
        progress(f"making {LOCAL_BASE}, once: this takes a few minutes")
        environment = dict(os.environ)
        if self._engine.docker_host is not None:
            environment["DOCKER_HOST"] = self._engine.docker_host
        try:
            subprocess.run(  # noqa: S603  # our own script, with a constant
                ["/bin/sh", str(self._folders / "debian-base"), LOCAL_BASE],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                timeout=_MAKING_A_BASE_SECONDS,
                check=True,
            )
        except subprocess.SubprocessError as error:
            said = _last(error.stderr) if isinstance(error, subprocess.CalledProcessError) else str(error)
            raise _failed(f"the base image {LOCAL_BASE} is not here and could not be made: {said}") from error


def _build(api: docker.APIClient, folder: Path, base: str, progress: Progress) -> str:
    members = [tar_member(path, data, 0o755) for path, data in files_of(folder)]
    members += [tar_member(HOST_CERTIFICATES, host_certificates()), tar_end()]
    tag = tag_of(folder, base)
    lines = api.build(
        fileobj=io.BytesIO(b"".join(members)),
        custom_context=True,
        tag=tag,
        buildargs={"BASE": base} if base else {},
        network_mode="host",
        rm=True,
        forcerm=True,
        decode=True,
    )
    said, error = "", ""
    for line in lines:  # to the end, error or not: a stream left half read stays open
        text = str(line.get("stream", ""))
        said += text
        error = str(line.get("error", error))
        if text.startswith("Step "):
            progress(f"building {folder.name}: {text.strip()}")
    if error:
        raise _failed(f"the image {folder.name} could not be built: {error}: {_last(said)}")
    built = _local(api, tag)
    if built is None:
        raise _missing(f"the image {folder.name} was built and is gone again")
    return built


def _pull(api: docker.APIClient, reference: str, progress: Progress) -> str:
    repository, tag = parse_repository_tag(reference)
    progress(f"pulling {reference}")
    try:
        lines = list(api.pull(repository, tag=tag, stream=True, decode=True))
    except APIError as error:
        raise _failed(f"there is no image {reference} here and it could not be pulled: {explanation(error)}") from error
    for line in lines:
        if "error" in line:
            raise _failed(f"the image {reference} could not be pulled: {line['error']}")
    found = _local(api, reference)
    if found is None:
        raise _missing(f"the image {reference} was pulled and is gone again")
    return found


def _local(api: docker.APIClient, reference: str) -> str | None:
    found = inspect_image(api, reference)
    return None if found is None else str(found["Id"])


def host_certificates() -> bytes:
    """What this host trusts: behind a proxy that ends TLS, a build that does not could fetch nothing."""
    path = Path(os.environ.get("SSL_CERT_FILE") or _USUAL_CERTIFICATES)
    return path.read_bytes() if path.is_file() else b""


def _failed(reason: str) -> Unavailable:
    if "no space left on device" in reason.lower():
        return Unavailable(Cause.DISK_FULL, reason, FREE_SPACE)
    return _missing(reason)


def _missing(reason: str) -> Unavailable:
    return Unavailable(
        Cause.IMAGE_MISSING,
        reason,
        "name a folder of sandbox_images/ or an image that the engine has or can pull, "
        "or set a base image that it has; countersign doctor shows what is there",
    )


def _last(text: str) -> str:
    return " / ".join(text.strip().splitlines()[-_SHOWN_LINES:])
