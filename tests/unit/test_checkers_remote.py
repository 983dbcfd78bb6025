"""Which URLs may be asked: an entry of the allow-list is never escaped, however a URL is spelt."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.checkers.remote import allowed, parsed

ORIGIN = ("https://service.example",)
PREFIX = ("https://service.example/v1",)


def permits(text: str, allow: tuple[str, ...]) -> bool:
    url = parsed(text)
    return url is not None and allowed(url, allow)


@pytest.mark.parametrize(
    ("text", "allow"),
    [
        ("https://service.example", ORIGIN),
        ("https://service.example/", ORIGIN),
        ("https://service.example/any/where?q=..%2f&r=a\\b", ORIGIN),
        ("https://service.example//v1", ORIGIN),
        ("HTTPS://SERVICE.example/v1", ORIGIN),
        ("https://service.example:443/v1", ORIGIN),
        ("HTTPS://service.example:443/v1", ORIGIN),
        ("https://service.example/v1", ("https://SERVICE.example:443",)),
        ("http://service.example:80/", ("http://service.example",)),
        ("https://service.example:8443/x", ("https://service.example:8443",)),
        ("http://[::1]:8000/x", ("http://[::1]:8000",)),
        ("https://service.example/v1", PREFIX),
        ("https://service.example/v1/", PREFIX),
        ("https://service.example/v1/version?x=1", PREFIX),
        ("https://service.example/v1?x=1", PREFIX),
        ("https://service.example/v1/a/../b", PREFIX),
        ("https://service.example/v2/../v1/b", PREFIX),
        ("https://service.example/v1/a%2fb/c.d/...", PREFIX),
        ("https://service.example/v1/caf%C3%A9;x=..", PREFIX),
        ("https://service.example/v1//x", PREFIX),
        ("https://service.example/v1/x", ("https://service.example/v1/",)),
        ("https://other.example/", ("https://service.example", "https://other.example")),
    ],
)
def test_what_is_under_an_entry_may_be_asked(text: str, allow: tuple[str, ...]) -> None:
    assert permits(text, allow)


@pytest.mark.parametrize(
    ("text", "allow"),
    [
        ("https://service.example/", ()),
        ("http://service.example/", ORIGIN),
        ("https://service.example:8443/", ORIGIN),
        ("https://service.example:80/", ORIGIN),
        ("https://service.example.evil.example/", ORIGIN),
        ("https://evil-service.example/", ORIGIN),
        ("https://service.example./", ORIGIN),
        ("https://api.service.example/", ORIGIN),
        ("ftp://service.example/", ORIGIN),
        ("//service.example/", ORIGIN),
        ("service.example", ORIGIN),
        ("https://user@service.example/", ORIGIN),
        ("https://user:secret@service.example/", ORIGIN),
        ("https://service.example@evil.example/", ORIGIN),
        ("https://service.example:443@evil.example/", ORIGIN),
        ("https://service.example\\@evil.example/", ORIGIN),
        ("https://evil.example\\@service.example/", ORIGIN),
        ("https://evil.example#@service.example/", ORIGIN),
        ("https://service.example\\.evil.example/", ORIGIN),
        ("https://service%2eexample/", ORIGIN),
        ("https://service.example:99999999/", ORIGIN),
        ("https://[::1/", ORIGIN),
        ("https://service.example/\x00", ORIGIN),
        ("https://service.example", PREFIX),
        ("https://service.example/", PREFIX),
        ("https://service.example/v10", PREFIX),
        ("https://service.example/v", PREFIX),
        ("https://service.example/V1", PREFIX),
        ("https://service.example//v1/x", PREFIX),
        ("https://service.example/%76%31/x", PREFIX),
        ("https://service.example/v1/../admin", PREFIX),
        ("https://service.example/v1/../../admin", PREFIX),
        ("https://service.example/v1/./../admin", PREFIX),
        ("https://service.example/v1/%2e%2e/admin", PREFIX),
        ("https://service.example/v1/%2E./admin", PREFIX),
        ("https://service.example/v1/.%2e/admin", PREFIX),
        ("https://service.example/v1/%252e%252e/admin", PREFIX),
        ("https://service.example/v1/%2525252e%2e/admin", PREFIX),
        ("https://service.example/v1/%" + "25" * 30_000 + "2e", PREFIX),
        ("https://service.example/v1/..%2fadmin", PREFIX),
        ("https://service.example/v1%2f..%2fadmin", PREFIX),
        ("https://service.example/v1/..%5cadmin", PREFIX),
        ("https://service.example/v1/..\\admin", PREFIX),
        ("https://service.example/v1\\..\\admin", PREFIX),
        ("https://service.example/v1/..;/admin", PREFIX),
        ("https://service.example/v1/..;x=1/admin", PREFIX),
        ("https://service.example/v1/..%3b/admin", PREFIX),
        ("https://service.example/v1/%00/admin", PREFIX),
        ("https://service.example/v1/..%0a/admin", PREFIX),
        ("https://service.example/v1/%c0%ae%c0%ae/admin", PREFIX),
        ("https://service.example/v1/%ef%bc%8e%ef%bc%8e/admin", PREFIX),
    ],
)
def test_nothing_else_may(text: str, allow: tuple[str, ...]) -> None:
    assert not permits(text, allow)


PIECES = ["..", ".", "/", "\\", ";", "%2e", "%2E", "%2f", "%5c", "%25", "2e", "v1", "a", "admin", "?", "#", "@", ":"]


def steps(path: str) -> list[str]:
    """The path as the most careless server would resolve it."""
    for _ in range(8):
        path = path.replace("%25", "%").replace("%2e", ".").replace("%2E", ".").replace("%2f", "/")
        path = path.replace("%5c", "/").replace("\\", "/")
    found: list[str] = []
    for segment in path.split("/"):
        match segment.partition(";")[0]:
            case "..":
                found = found[:-1]
            case "." | "":
                pass
            case name:
                found.append(name)
    return found


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_spelling_leads_a_careless_server_out_of_the_prefix(tail: str) -> None:
    url = parsed(f"https://service.example/v1/{tail}")
    if url is not None and allowed(url, PREFIX):
        assert steps(url.raw_path.decode().partition("?")[0])[:1] == ["v1"]
        assert url.host == "service.example"


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_is_told_without_an_error(host: str, path: str) -> None:
    for text in (host, f"https://{host}/{path}", f"https://service.example/{quote(path, errors='replace')}"):
        url = parsed(text)
        assert url is None or allowed(url, ORIGIN) in (True, False)
