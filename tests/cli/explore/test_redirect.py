"""The file that leads a browser to the page: the token is in no command line."""

import stat
import sys

import pytest

from altopt.cli.commands.explore import redirect
from altopt.cli.main import run
from browser import Page, chromium
from explored import served


@pytest.mark.skipif(sys.platform == "win32", reason="folders of a user have no mode there")
def test_it_is_for_this_user_alone_and_goes_with_the_session():
    with redirect("http://127.0.0.1:1/?token=a&b") as file:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert "url=http://127.0.0.1:1/?token=a&amp;b" in file.read_text(encoding="utf-8")
    assert not file.parent.exists()


def test_a_browser_gets_to_the_page_by_it(folder):
    with chromium() as browser, served(folder) as address, redirect(address) as file:
        page = Page(browser)
        page.tab.goto(file.as_uri())
        page.tab.wait_for_selector("#app[data-ready]")
        assert page.tab.url == address


def test_the_browser_is_not_called_with_the_token(folder, monkeypatch):
    import threading
    import webbrowser

    import uvicorn

    called, opened = [], threading.Event()
    monkeypatch.setattr(webbrowser, "open", lambda url: (called.append(url), opened.set()))
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: opened.wait(20))
    assert run(["explore", str(folder)]) == 0
    (url,) = called
    assert url.startswith("file:")
    assert "token" not in url
