"""The `[notifications]` table: what it may say, and where its secrets are."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.config.settings import Settings, load_settings
from adapters.config.worker_written import refuse_authority_within
from adapters.masking.known import masker_of, secrets_of
from domain.addresses import Notifications, variables
from domain.errors import Malformed
from entrypoints.cli.doctor_notifier import notifications
from entrypoints.host_files import HostState, Process
from entrypoints.host_state import keys_lacking
from entrypoints.names import AT_WORK
from entrypoints.slots import slots
from entrypoints.spawning import shown

WHOLE = """
[notifications]
remind_after = 60
second_after = 0
[notifications.addresses.team]
url_variable = "TEAM_URL"
events = ["escalated", "reminder"]
sessions = ["release-*"]
[notifications.addresses.boss]
url = "json://127.0.0.1:1/x"
second = true
[notifications.webhooks.ci]
url = "https://ci.example/hook"
secret_variable = "CI_SECRET"
"""
URL = "json://ann:pass-word-9@127.0.0.1:1/x"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COUNTERSIGN_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("TEAM_URL", raising=False)
    monkeypatch.delenv("CI_SECRET", raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def written(project: Path, text: str) -> Settings:
    (project / "countersign.toml").write_text(text)
    return load_settings(project)


def test_the_whole_table(project: Path) -> None:
    found = written(project, WHOLE).notifications
    assert list(found.by_name()) == ["team", "boss", "ci"]
    assert (found.remind_after, found.second_after) == (60, 0)
    assert variables(found) == ("TEAM_URL", "CI_SECRET")


def test_without_one_nobody_is_told(project: Path) -> None:
    assert written(project, "").notifications == Notifications()
    assert Notifications().by_name() == {}
    assert (Notifications().remind_after, Notifications().second_after) == (3600, 14_400)


ADDRESS = "[notifications.addresses.a]\n"
HOOK = "[notifications.webhooks.a]\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{ADDRESS}events = ['question']\n", "1: notifications.addresses.a: has no URL, expected url_variable"),
        (f"{ADDRESS}url = 'json://h/x'\nurl_variable = 'V'\n", "2: notifications.addresses.a.url: there is a url_v"),
        (f"{ADDRESS}url = 'slack://a/b/c'\n", "2: notifications.addresses.a.url: may have a secret in it"),
        (f"{ADDRESS}url = 'json://u:p@h'\n", "2: notifications.addresses.a.url: has a user, a password or par"),
        (f"{ADDRESS}url = 'json://h?+X-Key=v'\n", "2: notifications.addresses.a.url: has a user, a password or par"),
        (f"{ADDRESS}url = 'garbage'\n", "2: notifications.addresses.a.url: is no URL, expected url_variable"),
        (f"{ADDRESS}url_variable = 'V'\nevents = []\n", "3: notifications.addresses.a.events: is told of nothing"),
        (f"{ADDRESS}url_variable = 'V'\nevents = ['x']\n", "3: notifications.addresses.a.events[0]: the text 'x'"),
        (f"{ADDRESS}url_variable = '1'\n", "2: notifications.addresses.a.url_variable: '1' is no variable name"),
        (
            f"{ADDRESS}url_variable = 'V'\nevents = ['question']\nsecond = true\n",
            "4: notifications.addresses.a.second: is told by the second reminder, of which it hears nothing",
        ),
        (f"{HOOK}url = 'https://h/x'\n", "1: notifications.webhooks.a.secret_variable: is missing"),
        (f"{HOOK}url = 'https://u:p@h/x'\nsecret_variable = 'S'\n", "2: notifications.webhooks.a.url: the URL has a"),
        (
            f"{ADDRESS}url_variable = 'V'\n{HOOK}url = 'https://h/x'\nsecret_variable = 'S'\n",
            "3: notifications.webhooks.a: an address has the same name, expected a name of its own",
        ),
        (
            "[notifications.addresses.'a b']\nurl_variable = 'V'\n",
            "1: notifications.addresses['a b']: is no name",
        ),
        ("[notifications]\nremind_after = 60\nsecond_after = 60\n", "3: notifications.second_after: is not after"),
        (
            "[notifications]\nremind_after = -1\n",
            "2: notifications.remind_after: the number -1, expected",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line(project: Path, text: str, problem: str) -> None:
    with pytest.raises(Malformed) as raised:
        written(project, text)
    (line,) = str(raised.value).splitlines()
    assert problem in line
    assert "u:p" not in line


def test_a_worker_chooses_nobody_who_is_told(project: Path) -> None:
    settings = written(project, WHOLE)
    with pytest.raises(Malformed, match="notifications: is set in a file that the worker can write"):
        refuse_authority_within(settings, project)


def test_what_the_variables_have_is_masked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_URL", URL)
    monkeypatch.setenv("CI_SECRET", "hunter2-and-more")
    settings = written(project, WHOLE)
    assert {"TEAM_URL", "CI_SECRET", "TEAM_URL_PASSWORD"} <= set(secrets_of(settings))
    masked = masker_of(settings).text(f"{URL} hunter2-and-more pass-word-9")
    assert "pass-word-9" not in masked
    assert "hunter2" not in masked
    assert "pass-word-9" not in str(shown(settings))


def test_a_secret_that_cannot_be_masked_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI_SECRET", "abc")
    with pytest.raises(Malformed, match="CI_SECRET: has a value of less than 6 characters"):
        written(project, WHOLE)


def test_a_host_without_the_addresses_gets_them(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = written(project, WHOLE)
    state = HostState(host=Process(pid=0, created=0.0), settings={})
    assert keys_lacking(state, settings) == []
    monkeypatch.setenv("TEAM_URL", URL)
    assert keys_lacking(state, settings) == ["TEAM_URL"]


def test_a_host_stays_for_people_who_are_to_be_told_yet() -> None:
    assert "NotificationWorkflow" in AT_WORK


def test_the_queue_has_places_of_its_own() -> None:
    assert slots("notifications", 1)["max_concurrent_activities"] == 32


class TestDoctor:
    def test_nobody_is_told(self, project: Path) -> None:
        (line,) = notifications(written(project, ""))
        assert line.ok
        assert "nobody is told" in line.text

    def test_each_address_and_what_is_missing_for_it(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        found = notifications(written(project, WHOLE))
        assert [(one.ok, one.text) for one in found] == [
            (False, "team: the variable TEAM_URL is not set here"),
            (
                True,
                "boss (apprise, json://127.0.0.1:1/x): escalated, question, reminder, resolved, from the second"
                " reminder on",
            ),
            (False, "ci: the variable CI_SECRET is not set here"),
        ]
        monkeypatch.setenv("TEAM_URL", "nonesuch://very-secret")
        team = notifications(load_settings(project))[0]
        assert (team.ok, team.text) == (False, "team: the URL in TEAM_URL is none that apprise knows")
        monkeypatch.setenv("TEAM_URL", URL)
        team = notifications(load_settings(project))[0]
        assert (team.ok, team.text) == (True, "team (apprise, in TEAM_URL): escalated, reminder of release-*")

    def test_a_test_message_is_sent_to_those_who_lack_nothing(self, project: Path) -> None:
        found = notifications(written(project, WHOLE), send=True)
        boss = found[1]
        assert not boss.ok, "nobody listens there"
        assert "the address boss did not take it" in boss.text
        assert found[0].text == "team: the variable TEAM_URL is not set here"
