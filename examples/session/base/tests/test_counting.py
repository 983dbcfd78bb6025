from counting import count


def test_every_word_with_its_count():
    assert count("to be or not to be") == {"to": 2, "be": 2, "or": 1, "not": 1}


def test_upper_and_lower_case_are_one_word():
    assert count("Be be BE") == {"be": 3}


def test_nothing_counts_nothing():
    assert count("") == {}
