from report import report


def test_the_most_frequent_first():
    assert report({"or": 1, "to": 2}, 2) == ["to 2", "or 1"]


def test_the_same_count_by_the_alphabet():
    assert report({"to": 2, "be": 2, "or": 1}, 2) == ["be 2", "to 2"]


def test_no_more_than_asked_for():
    assert report({"a": 3, "b": 2, "c": 1}, 1) == ["a 3"]


def test_the_counts_are_left_as_they_are():
    counts = {"to": 2, "be": 2}
    report(counts, 1)
    assert counts == {"to": 2, "be": 2}
