"""Roman numerals."""

import sys

NUMERALS = {
    "M": 1000, "CM": 900, "D": 500, "CD": 400, "C": 100, "XC": 90,
    "L": 50, "XL": 40, "X": 10, "IX": 9, "V": 5, "IV": 4, "I": 1,
}  # fmt: skip


def to_roman(n):
    """`n` as a Roman numeral, 1 to 3999."""
    if not 0 < n < 4000:
        raise ValueError(f"{n} has no Roman numeral")
    found = ""
    for numeral, value in NUMERALS.items():
        found += numeral * (n // value)
        n %= value
    return found


def from_roman(text):
    """The number that a Roman numeral stands for."""
    values = [NUMERALS[letter] for letter in text]
    return sum(-v if later > v else v for v, later in zip(values, [*values[1:], 0], strict=True))


if __name__ == "__main__":
    for line in sys.stdin:
        print(to_roman(int(line)))
