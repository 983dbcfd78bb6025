import sys

NUMERALS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
            (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


def roman(n):
    if not 1 <= n <= 3999:
        raise ValueError(n)
    text = ""
    for size, numeral in NUMERALS:
        text += numeral * (n // size)
        n %= size
    return text


if __name__ == "__main__":
    print(roman(int(sys.argv[1])))
