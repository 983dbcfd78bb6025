"""A headless Chromium, as Debian packages it, that looks at the Temporal server's Web UI. It downloads nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote

from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    InvalidSwitchToTargetException,
    NoSuchElementException,
    StaleElementReferenceException,
)
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

CHROMIUM = "/usr/bin/chromium"
DRIVER = "/usr/bin/chromedriver"
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage")
LOOK_SECONDS = 150.0
ANEW_SECONDS = 30.0
"""A page asks the server once for what it shows: after that long it is loaded again, and asks once more."""

DRAWN_ANEW = (StaleElementReferenceException, NoSuchElementException, InvalidSwitchToTargetException)
NEWS = "newsfeed.temporal.io"
"""What the Web UI asks for news, and cannot reach where there is no network."""

MEASURED_EARLY = (
    "Uncaught TypeError: Failed to execute 'getComputedStyle' on 'Window': parameter 1 is not of type 'Element'."
)
"""The Web UI's own mistake: it measures a frame of Markdown whenever its size changes (a ResizeObserver), on a slow
machine before the frame has a body. What has to be on the page, `see` waits for.
"""


class Browser:
    """One window; `ui` is the address of the Web UI."""

    def __init__(self, driver: Chrome, ui: str) -> None:
        self.driver = driver
        self._ui = ui

    def open(self, path: str) -> None:
        """The page of the default namespace at `path`."""
        self.driver.get(f"{self._ui}/namespaces/default/{path}")

    def open_round(self, todo: str, attempt: int, tab: str) -> None:
        """A tab of a standalone round's page: `timeline`, `user-metadata`, `search-attributes`."""
        self.open(f"workflows/{quote(f'round/local/{todo}/{attempt}', safe='')}")
        self.see("Event History")
        self.driver.get(self.driver.current_url.partition("?")[0].rpartition("/")[0] + f"/{tab}")

    def see(self, *wanted: str) -> str:
        """What the page says once it says all of `wanted`; fails when it never does."""
        deadline, anew = time.monotonic() + LOOK_SECONDS, time.monotonic() + ANEW_SECONDS
        while True:
            text = self._text()
            missing = [part for part in wanted if part not in text]
            if not missing:
                return text
            assert time.monotonic() < deadline, f"{missing} not on the page {self.driver.current_url}:\n{text}"
            if time.monotonic() > anew:
                self.complaints()  # of a page that is left
                self.driver.refresh()
                anew = time.monotonic() + ANEW_SECONDS
            time.sleep(0.3)

    def press(self, selector: str, text: str = "") -> WebElement:
        """Click what can be seen at `selector`, with that text if one is named; fails when it never is there."""
        deadline = time.monotonic() + LOOK_SECONDS
        while True:
            for found in self.driver.find_elements(By.CSS_SELECTOR, selector):
                with suppress(*DRAWN_ANEW, ElementClickInterceptedException, ElementNotInteractableException):
                    if found.is_displayed() and text in ("", found.text.strip()):
                        found.click()
                        return found
            assert time.monotonic() < deadline, f"no {selector} {text} to click on {self.driver.current_url}"
            time.sleep(0.1)

    def _text(self) -> str:
        """Of the page and the frames in it: Markdown is shown in frames of its own."""
        try:
            texts = [self.driver.find_element(By.TAG_NAME, "body").text]
            for frame in self.driver.find_elements(By.TAG_NAME, "iframe"):
                self.driver.switch_to.frame(frame)
                texts.append(self.driver.find_element(By.TAG_NAME, "body").text)
                self.driver.switch_to.default_content()
        except DRAWN_ANEW:  # just now, the page or a frame of it
            self.driver.switch_to.default_content()
            return ""
        return "\n".join(texts)

    def complaints(self) -> list[dict[str, Any]]:
        """What the browser's console has that is worse than a warning, since it was last asked."""
        return [entry for entry in self.errors() if not _of_the_ui_alone(entry["message"])]

    def errors(self) -> list[dict[str, Any]]:
        """All that is worse than a warning, whoever's fault it is, since the console was last asked."""
        entries: list[dict[str, Any]] = self.driver.get_log("browser")  # type: ignore[no-untyped-call] # of selenium
        return [entry for entry in entries if entry["level"] == "SEVERE"]


def _of_the_ui_alone(message: str) -> bool:
    return NEWS in message or message.endswith(MEASURED_EARLY)


@contextmanager
def browser(ui: str, width: int = 1400, height: int = 1000) -> Iterator[Browser]:
    """A window of that size, closed in the end."""
    options = ChromeOptions()
    options.binary_location = CHROMIUM
    for option in (*OPTIONS, f"--window-size={width},{height}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(DRIVER))
    try:
        yield Browser(driver, ui)
    finally:
        driver.quit()
