"""Roman numerals."""


def to_roman(n):
    """`n` as a Roman numeral, 1 to 3999."""
    raise NotImplementedError


def from_roman(text):
    """The number that a Roman numeral stands for."""
    raise NotImplementedError
