"""SSH keys for tests, and what they sign: made by `ssh-keygen`, in a folder of the test's own."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from domain.signatures import NAMESPACE, PersonRole, Signed, Signers


@dataclass(frozen=True)
class Key:
    """A key pair. `public` is a line's end: its type and itself."""

    file: Path

    @property
    def public(self) -> str:
        return " ".join(self.file.with_name(f"{self.file.name}.pub").read_text().split()[:2])

    def line(self, principals: str, options: str = "") -> str:
        """Of an allowed signers file."""
        return f"{principals} {options}{' ' if options else ''}{self.public}\n"

    def signs(self, text: str, namespace: str = NAMESPACE) -> Signed:
        return signed_with(self.file, text, namespace)


def make_key(folder: Path, name: str, kind: str = "ed25519") -> Key:
    keygen("-q", "-t", kind, *(("-b", "2048") if kind == "rsa" else ()), "-N", "", "-f", str(folder / name))
    return Key(folder / name)


def signed_with(file: Path, text: str, namespace: str = NAMESPACE, **environment: str) -> Signed:
    signed = file.with_name(f"{file.name}.text")
    made = file.with_name(f"{file.name}.text.sig")
    signed.write_bytes(text.encode())
    made.unlink(missing_ok=True)
    keygen("-q", "-Y", "sign", "-n", namespace, "-f", str(file), str(signed), **environment)
    return Signed(statement=text, signature=made.read_text())


def keygen(*arguments: str, **environment: str) -> str:
    """What it prints. Raises CalledProcessError."""
    env = {"PATH": "/usr/bin:/bin", **environment}
    done = subprocess.run(["ssh-keygen", *arguments], check=True, capture_output=True, text=True, env=env)
    return done.stdout


def signers_of(*lines: str, **roles: PersonRole) -> Signers:
    """`roles` by the name before the @ of a principal at example.org."""
    return Signers(allowed="".join(lines), roles={f"{name}@example.org": role for name, role in roles.items()})
