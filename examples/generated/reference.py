"""What the harness compares with: slow and plain, digit by digit."""

import sys

UNITS = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"]
TENS = ["", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC"]
HUNDREDS = ["", "C", "CC", "CCC", "CD", "D", "DC", "DCC", "DCCC", "CM"]


def to_roman(n):
    if not 1 <= n <= 3999:
        raise ValueError(n)
    return "M" * (n // 1000) + HUNDREDS[n // 100 % 10] + TENS[n // 10 % 10] + UNITS[n % 10]


if __name__ == "__main__":
    for line in sys.stdin:
        print(to_roman(int(line)))
