"""What the task's author wrote down as tests; the order's criteria ask for more than these."""

import pytest
from solution import is_prime


@pytest.mark.parametrize("n", [2, 3, 5, 7, 97])
def test_primes(n: int) -> None:
    assert is_prime(n) is True


@pytest.mark.parametrize("n", [1, 4, 9, 91])
def test_what_is_no_prime(n: int) -> None:
    assert is_prime(n) is False
