"""Writes the shell program of a set-up: secrets, certificates, commands and the tidying afterwards. It runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from domain.tree import Entry, Manifest

PROTOCOL = 1
"""Changes when what a set-up leaves behind changes: images made before are then not found."""

DEPS = "/deps"
TEMPORARY = "/run/countersign"
"""A tmpfs, so that what is in it never reaches a layer."""

NOT_WHOLE = 119
MARK = b"\x06"
"""Begins the line that says which command is next, counted from 1; after the last comes the tidying."""

READ_PROGRAM = rf"""
umask 077
while IFS= read -r line; do
    [ "$line" = "$1" ] && whole=yes && break
    printf '%s\n' "$line"
done > {TEMPORARY}/program
[ "$whole" = yes ] || exit {NOT_WHOLE}
exec sh {TEMPORARY}/program < /dev/null 2>&1
"""
"""All that the container's configuration, and so the image's history, says: the program comes by standard input, up
to a line that is the first argument."""

_PATHS_AT_ONCE = 200
_CERTIFICATES = f"{TEMPORARY}/ca.crt"
_PREPARE = f"""
rm -f {TEMPORARY}/program
umask 022
mkdir {TEMPORARY}/home {TEMPORARY}/scratch && chmod 700 {TEMPORARY}/home && chmod 1777 {TEMPORARY}/scratch || exit
cd {DEPS} || exit
"""
_SETTINGS = {
    "HOME": f"{TEMPORARY}/home",
    "TMPDIR": f"{TEMPORARY}/scratch",
    "XDG_CACHE_HOME": f"{TEMPORARY}/home/.cache",
    "XDG_CONFIG_HOME": f"{TEMPORARY}/home/.config",
    "PIP_NO_CACHE_DIR": "1",
    "PIP_ROOT_USER_ACTION": "ignore",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "UV_NO_CACHE": "1",
    "UV_LINK_MODE": "copy",
    "npm_config_cache": f"{TEMPORARY}/home/.npm",
    "npm_config_update_notifier": "false",
    "YARN_CACHE_FOLDER": f"{TEMPORARY}/home/.yarn",
}
_TRUSTING = (
    *("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS"),
)


def program(
    commands: Sequence[str], inputs: Sequence[Entry], end_mark: str, *, exports: Mapping[str, bytes], bundle: bytes
) -> bytes:
    """What `READ_PROGRAM` reads. `exports` are the variables of the commands, `bundle` the certificates or nothing.

    Its exit code is that of the command that failed.
    """
    lines = [b"export %s=%s" % (name.encode(), quoted(value)) for name, value in exports.items()]
    lines += [f"export {name}={value}".encode() for name, value in _SETTINGS.items()]
    lines.append(_PREPARE.encode())
    if bundle:
        lines.append(b"printf %%s %s > %s" % (quoted(bundle), _CERTIFICATES.encode()))
        lines += [f"export {name}={_CERTIFICATES}".encode() for name in _TRUSTING]
    for place, command in enumerate(commands, start=1):
        lines += [_mark(place), b'sh -c %s || exit "$?"' % quoted(command.encode("utf-8", "surrogateescape"))]
    lines += [_mark(len(commands) + 1), *_tidying(inputs), end_mark.encode(), b""]
    return b"\n".join(lines)


def quoted(value: bytes) -> bytes:
    """`value`, of any bytes but NUL, as one word of the shell."""
    return b"'" + value.replace(b"'", b"'\"'\"'") + b"'"


def _mark(place: int) -> bytes:
    return rb"printf '\n\006%d\n'" % place


def _tidying(inputs: Sequence[Entry]) -> Iterator[bytes]:
    """Remove the inputs, or they would overwrite the tree's own files where a check copies /deps over it."""
    yield f"cd {DEPS} || exit".encode()
    folders = Manifest(entries=tuple(inputs)).directories - {""}
    for paths in _some([entry.path for entry in inputs]):
        yield b"rm -rf %s || exit" % paths
    for paths in _some(sorted(folders, key=lambda folder: folder.count("/"), reverse=True)):
        yield b"rmdir %s 2>/dev/null" % paths
    yield b"chmod -R a+rX . || exit"


def _some(paths: Sequence[str]) -> Iterator[bytes]:
    for first in range(0, len(paths), _PATHS_AT_ONCE):
        words = (quoted(f"./{path}".encode()) for path in paths[first : first + _PATHS_AT_ONCE])
        yield b" ".join(words)
