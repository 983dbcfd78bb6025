"""Roman numerals."""



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


DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def value(text):
    """The number that a numeral stands for."""
    digits = [DIGITS[letter] for letter in text]
    return sum(-a if a < b else a for a, b in zip(digits, [*digits[1:], 0]))
