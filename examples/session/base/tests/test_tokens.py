from tokens import tokens


def test_words_in_their_order():
    assert tokens("one two one") == ["one", "two", "one"]


def test_lower_case_and_no_punctuation_around():
    assert tokens('"Yes", he said.') == ["yes", "he", "said"]


def test_a_newline_and_a_tab_end_a_word():
    assert tokens("one\ntwo\tthree") == ["one", "two", "three"]


def test_nothing_has_no_words():
    assert tokens(" -- ") == []
