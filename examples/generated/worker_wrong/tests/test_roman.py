import pytest
from roman import from_roman, to_roman

KNOWN = {1: "I", 4: "IV", 9: "IX", 14: "XIV", 40: "XL", 90: "XC", 400: "CD", 1994: "MCMXCIV", 3999: "MMMCMXCIX"}


@pytest.mark.parametrize(("number", "numeral"), KNOWN.items())
def test_known_numerals(number, numeral):
    assert to_roman(number) == numeral
    assert from_roman(numeral) == number


@pytest.mark.parametrize("number", [0, -1, 4000])
def test_other_numbers_are_refused(number):
    with pytest.raises(ValueError):
        to_roman(number)
