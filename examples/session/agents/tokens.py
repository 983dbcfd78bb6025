"""Is wrong at first: it takes a text apart at blanks only. Told which test failed, it repairs itself."""

from __future__ import annotations

from agent import begin, claim, told, write

BODY = """    words = (word.strip('.,:;!?"-').lower() for word in text.split({at}))
    return [word for word in words if word]
"""

begin()
if "newline" in told():
    write("tokens", BODY.format(at=""))
    claim("tokens", "A text is split at any white space now: a newline and a tab end a word, as the test asks.")
else:
    write("tokens", BODY.format(at='" "'))
    claim("tokens", "A text is split at blanks, punctuation is stripped from each word, empty words are left out.")
