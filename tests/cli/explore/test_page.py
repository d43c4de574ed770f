"""The labelling page in a real Chromium: with keys alone, in two tabs, light and dark, wide and narrow."""

import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from altopt import AltOpt
from browser import Page, chromium, skip_without_axe, until
from explored import EVIL_ID

pytest.importorskip("fastapi")
EXPLORE = "import sys; from altopt.cli.main import main; sys.argv[0] = 'altopt'; main()"


@contextmanager
def served(folder):
    """The address of altopt explore on this model; it is ended as Ctrl-C ends it."""
    call = [sys.executable, "-c", EXPLORE, "explore", str(folder), "--no-browser"]
    server = subprocess.Popen(call, stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().strip()
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
        server.stdout.close()


def opened(browser, address, **more):
    page = Page(browser, **more)
    page.tab.goto(address)
    page.tab.wait_for_selector("#app[data-ready]")
    return page


def labels(tab):
    return int(tab.locator(".facts-line").get_attribute("data-labels"))


def wait_for_labels(tab, n):
    until(tab, f"document.querySelector('.facts-line').dataset.labels == '{n}'")


def test_a_labelling_session(folder):
    before = int(AltOpt.load(folder).labelled_.sum())
    with chromium() as browser, served(folder) as address:
        home = address.split("?")[0]
        first, second = opened(browser, address), opened(browser, address)
        answer_with_keys(first.tab, before)
        until(second.tab, "document.querySelector('.said').textContent.includes('another tab')")
        wait_for_labels(second.tab, before + 2)
        search_with_keys(first.tab)
        mend(first.tab, before + 2)
        look_around(first.tab)
        refit(first.tab, second.tab)
        with first.tab.expect_download() as download:
            first.tab.get_by_role("link", name="Labels").click()
        rows = download.value.path().read_text(encoding="utf-8").splitlines()
        assert len(rows) == 1 + labels(first.tab)
        for width, scheme in first.views():
            assert len(first.picture(f"explore-{width}-{scheme}")) > 20_000
            assert first.faults() == []
        for page in (first, second):
            assert page.complaints == []
            assert page.elsewhere(home) == []
        stranger = Page(browser)
        assert stranger.tab.goto(home).status == 403
        stranger.close()
    stored = AltOpt.load(folder)
    assert int(stored.labelled_.sum()) == before + 2
    skip_without_axe()


def answer_with_keys(tab, before):
    """Three answers, each to another node, one of them taken back: the keyboard is enough."""
    assert labels(tab) == before
    seen = set()
    for k, key in enumerate("123", 1):
        seen.add(tab.locator("#node-title").inner_text())
        shown = tab.locator("#node-title").inner_text()
        tab.keyboard.press(key)
        wait_for_labels(tab, before + k)
        until(tab, "shown => document.querySelector('#node-title').textContent != shown", shown)
    assert len(seen) == 3
    assert "changed" in tab.locator(".log").inner_text()
    skipped = tab.locator("#node-title").inner_text()
    tab.keyboard.press("s")
    until(tab, "shown => document.querySelector('#node-title').textContent != shown", skipped)
    tab.keyboard.press("u")
    wait_for_labels(tab, before + 2)
    assert "Undone" in tab.locator(".said").inner_text()


def search_with_keys(tab):
    """/ goes to the search, Enter opens the first hit; a name that looks like markup is text."""
    tab.keyboard.press("/")
    tab.keyboard.type("<img")
    tab.keyboard.press("Enter")
    until(tab, "name => document.querySelector('#node-title').textContent == name", EVIL_ID)
    until(tab, "document.activeElement.id == 'node-title'")
    assert tab.locator("img").count() == 0


def mend(tab, n):
    """A suspicious label is confirmed and leaves the list; mending one changes its label and no count."""
    tab.get_by_role("button", name="Suspicious").press("Enter")
    rows = tab.locator(".listed > div > ul > li")
    rows.first.wait_for()
    before = rows.count()
    rows.first.get_by_role("button", name="is right").press("Enter")
    until(tab, f"document.querySelectorAll('.listed > div > ul > li').length == {before - 1}")
    rows.first.get_by_role("button", name="make it").press("Enter")
    until(tab, "document.querySelector('.log').children.length >= 5")
    assert labels(tab) == n


def refit(tab, other):
    """r refits while the page stays in use; both tabs say so, and draw another point of the curve."""
    assert "not taught the encoder" in tab.locator(".taught").inner_text()
    tab.get_by_role("button", name="Browse").focus()
    tab.keyboard.press("r")
    for each in (tab, other):
        until(each, "document.querySelector('.said').textContent.startsWith('Refitted with')")
        assert "learnt from all labels" in each.locator(".taught").inner_text()


def look_around(tab):
    """Filters list nodes; a node of the picture tells about itself under the pointer."""
    tab.get_by_role("button", name="Browse").press("Enter")
    tab.get_by_label("Given or predicted").select_option("true")
    until(tab, f"document.querySelector('.listed').textContent.includes('{labels(tab)} nodes')")
    tab.get_by_label("Given or predicted").select_option("suspicious")
    until(tab, f"!document.querySelector('.listed').textContent.includes('{labels(tab)} nodes')")
    tab.wait_for_timeout(300)
    box = tab.locator(".picture").bounding_box()
    for dx in range(0, 400, 9):  # somewhere on this line there is a node
        tab.mouse.move(box["x"] + box["width"] / 2 - 200 + dx, box["y"] + box["height"] / 2)
        for dy in (-60, -30, 0, 30, 60):
            tab.mouse.move(box["x"] + box["width"] / 2 - 200 + dx, box["y"] + box["height"] / 2 + dy)
            if tab.locator(".tip:not([hidden])").count():
                assert tab.locator(".tip").inner_text()
                return
    raise AssertionError("no node told about itself")
