"""Is right at once."""

from __future__ import annotations

from agent import begin, claim, write

BODY = """    counts: dict[str, int] = {}
    for word in tokens(text):
        counts[word] = counts.get(word, 0) + 1
    return counts
"""

begin()
write("counting", f"    from tokens import tokens\n\n{BODY}")
claim("counting", "Each word that tokens() gives is counted in a dictionary.")
