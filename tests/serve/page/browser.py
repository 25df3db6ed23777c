"""Chromium for tests of the page, and what a page must never do."""

import json
import os
import shutil
from contextlib import contextmanager

import pytest

VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
});
"""
AWAY = ("net::ERR_CONNECTION", "net::ERR_INCOMPLETE", "net::ERR_EMPTY_RESPONSE", "net::ERR_SOCKET", "503")


def chromium():
    """Return the path of Chromium; without it, or without Playwright, a test is skipped, except in CI."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    missing = "there is no Chromium" if path is None else ""
    try:
        import playwright.sync_api  # noqa: F401 (only whether it is there)
    except ImportError:
        missing = "there is no Playwright"
    if missing and os.environ.get("CI"):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    return path


@contextmanager
def launched():
    """A browser, which ends with the block."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


class Visit:
    """A visitor of one server, with storage of their own; every page of theirs is watched for errors.

    Parameters
    ----------
    browser : playwright.sync_api.Browser
    url : str
        Of the server.
    expected : tuple of str
        Parts of console errors that the test provokes.
    person : str, optional
        Who labels; by default somebody, and None is asked.
    options
        Of the context.
    """

    def __init__(self, browser, url, expected=(), person="somebody", **options):
        self.url, self.expected, self.errors = url, expected, []
        self.refused = []
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        self.context.set_default_timeout(30_000)
        self.context.add_init_script(VIOLATIONS)
        if person is not None:
            keep = f"localStorage.setItem('confidently.name', {json.dumps(person)})"
            self.context.add_init_script(f"try {{ {keep} }} catch {{}}")  # the first page has no storage

    def open(self, path="/"):
        """Open a tab."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("response", lambda answer: answer.status >= 400 and self.refused.append(answer.url))
        page.on("console", lambda message: message.type in ("error", "warning") and self.errors.append(message.text))
        page.goto(self.url + path)
        return page

    def close(self):
        self.context.close()
        found = [error for error in self.errors if not any(part in error for part in self.expected)]
        assert not found, "\n".join([*found, *self.refused])
