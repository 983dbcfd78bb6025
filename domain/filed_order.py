"""The order in an attempt's `spec.json`: alone, although the designer's answer may stand beside it.

A module of its own, since it is read before anything of a report is needed.
"""

from __future__ import annotations

import json

SPECIFICATION = "specification"
"""The key of the designer's answer beside those of the order: no order has a field of that name."""


def order_in(spec: bytes) -> bytes:
    """The order alone, of the document that `domain.filing` has as `spec.json`; what is none stays what it is."""
    try:
        written = json.loads(spec)
    except ValueError:
        return spec
    if not isinstance(written, dict) or SPECIFICATION not in written:
        return spec
    order = {name: value for name, value in written.items() if name != SPECIFICATION}
    return json.dumps(order, indent=2, ensure_ascii=False).encode()
