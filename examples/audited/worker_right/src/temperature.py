ABSOLUTE_ZERO = -273.15


def to_fahrenheit(celsius: float) -> float:
    """Degrees Celsius as degrees Fahrenheit. Raises `ValueError` below absolute zero."""
    if celsius < ABSOLUTE_ZERO:
        raise ValueError(f"{celsius} is below absolute zero")
    return celsius * 9 / 5 + 32
