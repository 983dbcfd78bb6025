from numerals import value


def test_a_numeral_has_its_value():
    assert value("XIV") == 14


def test_a_long_one_too():
    assert value("MCMXCIV") == 1994
