"""The roles that language models play, and the stages in which each is asked. Source: seed `pipeline` "Roles"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Role = Literal["designer", "strategist", "auditor", "advocate", "critic", "judge", "fix_builder"]
Stage = Literal["design", "strategy", "blind", "informed", "argument", "judgement", "fix"]
Side = Literal["advocate", "critic"]

STAGES: Mapping[Role, tuple[Stage, ...]] = {
    "designer": ("design",),
    "strategist": ("strategy",),
    "auditor": ("blind", "informed"),
    "advocate": ("argument",),
    "critic": ("argument",),
    "judge": ("judgement",),
    "fix_builder": ("fix",),
}
