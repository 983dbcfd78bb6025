import pytest

from numerals import roman


@pytest.mark.parametrize(("number", "text"), [(1, "I"), (4, "IV"), (9, "IX"), (14, "XIV"), (40, "XL")])
def test_small_numbers(number, text):
    assert roman(number) == text


def test_a_year():
    assert roman(1994) == "MCMXCIV"


def test_the_largest():
    assert roman(3999) == "MMMCMXCIX"


def test_zero_is_refused():
    with pytest.raises(ValueError):
        roman(0)
