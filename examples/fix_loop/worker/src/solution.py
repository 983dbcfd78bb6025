"""Prime numbers."""

from math import isqrt


def is_prime(n: int) -> bool:
    """Whether `n` is a prime number."""
    if n == 0:
        raise ValueError("Input must be positive")
    if n < 2:
        return False
    return all(n % divisor for divisor in range(2, isqrt(n) + 1))
