"""People with keys: real `ssh-keygen`, the signers that a project allows, and statements as they are signed by hand."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from domain.signatures import NAMESPACE, Statement
from tests.integration.conftest import Project

ANN, BOB, EVE = "ann@example.org", "bob@example.org", "eve@example.org"
"""The owner, a reviewer, and somebody whose key nobody has listed."""


@dataclass(frozen=True)
class People:
    """Their keys, and the file that lists two of them."""

    folder: Path

    @property
    def allowed(self) -> Path:
        """The allowed signers file."""
        return self.folder / "allowed_signers"

    def key(self, who: str) -> str:
        """The file of their private key."""
        return str(self.folder / who)

    def listed(self, *who: str) -> None:
        """Let these be the allowed signers, and nobody else."""
        lines = [f"{one} {Path(self.key(one) + '.pub').read_text().strip()}\n" for one in who]
        self.allowed.write_text("".join(lines))


def people(project: Project, signatures: str = "") -> People:
    """Ann and bob may sign in sessions of the project from now on; what that is needed for is the default's to say."""
    folder = project.root / "keys"
    folder.mkdir()
    for who in (ANN, BOB, EVE):
        line = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", who, "-f", str(folder / who)]
        subprocess.run(line, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    made = People(folder)
    made.listed(ANN, BOB)
    policy = f'\n[override_policy]\nsignatures = "{signatures}"\n' if signatures else ""
    text = f'[signers]\nfile = "keys/allowed_signers"\n\n[signers.roles]\n"{ANN}" = "owner"\n{policy}'
    (project.root / "countersign.toml").write_text(text)
    return made


def statement(project: Project, *command: str, **changes: Any) -> str:
    """The text that has to be signed for a command, with some of it changed."""
    printed = project.run(*command, "--print-statement")
    assert printed.returncode == 0, printed.stderr
    said = Statement.model_validate_json(printed.stdout)
    assert said.text == printed.stdout, "exactly what is signed, with no line end"
    return said.model_copy(update=changes).text


def signed(project: Project, text: str, key: str, namespace: str = NAMESPACE) -> tuple[str, ...]:
    """The options that send a statement which was signed by hand."""
    file = project.root / "statement.json"
    signature = project.root / "statement.json.sig"
    file.write_text(text)
    signature.unlink(missing_ok=True)
    line = ["ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", key, str(file)]
    subprocess.run(line, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return "--statement", str(file), "--signature", str(signature)


LONG_AGO = datetime.fromisoformat("2020-01-01T00:00:00+00:00")
"""When a statement may have expired."""
