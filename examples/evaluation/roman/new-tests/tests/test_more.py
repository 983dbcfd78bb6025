from numerals import roman


def test_forty_nine():
    assert roman(49) == 'XLIX'
