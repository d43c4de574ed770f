"""The labelling page in a real Chromium: with keys alone, in two tabs, light and dark, wide and narrow."""

import csv
import shutil

import pytest

from altopt import AltOpt
from browser import Page, chromium, skip_without_axe, until
from explored import EVIL_ID, served

pytest.importorskip("fastapi")


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
        with first.tab.expect_download() as download:
            first.tab.get_by_role("link", name="Predictions").click()
        rows = list(csv.reader(download.value.path().read_text(encoding="utf-8").splitlines()))
        assert len(rows) == 241
        assert sum(row[2] == "yes" for row in rows) == labels(first.tab)
        for name in ("Suggested", "Suspicious", "Browse"):
            first.tab.get_by_role("button", name=name).press("Enter")
            first.tab.wait_for_timeout(300)
            assert first.faults() == []
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


def title(tab):
    return tab.locator("#node-title").inner_text()


def until_idle(tab):
    """Until no request has been under way for half a second."""
    tab.wait_for_load_state("networkidle")


def a_node_that_moves_others(folder):
    """A node, the class that it is to get, and the changes of others that follow."""
    model = AltOpt.load(folder)
    for node in model.graph_.ids[~model.labelled_].tolist():
        for code, name in enumerate(model.classes_.tolist()):
            moved = [each for each in model.what_if(labels={node: name}).moved if each[0] != node]
            if moved:
                return node, code, {f"{other}: {was} → {now}" for other, was, now in moved}
    raise AssertionError("no answer changes the label of another node")


def test_predictions_change_before_ones_eyes(folder):
    node, code, expected = a_node_that_moves_others(folder)
    with chromium() as browser, served(folder) as address:
        page = opened(browser, address)
        tab = page.tab
        tab.keyboard.press("/")
        tab.keyboard.type(node)
        tab.keyboard.press("Enter")
        until(tab, "name => document.querySelector('#node-title').textContent == name", node)
        until(tab, "document.activeElement.id == 'node-title'")
        before = labels(tab)
        tab.keyboard.press(str(code + 1))
        wait_for_labels(tab, before + 1)
        shown = set(tab.locator(".log ul li").all_inner_texts())
        assert shown
        assert shown <= expected
        assert page.complaints == []


def test_a_key_answers_once_and_about_the_node_that_is_shown(folder):
    """A held key is one answer; a key that comes before the next node is shown is none."""
    with chromium() as browser, served(folder) as address:
        tab = opened(browser, address).tab
        n = labels(tab)
        tab.evaluate(
            "for (const repeat of [false, true, true, true]) "
            "window.dispatchEvent(new KeyboardEvent('keydown', {key: '1', repeat, bubbles: true}))"
        )
        wait_for_labels(tab, n + 1)
        until_idle(tab)
        assert labels(tab) == n + 1
        asked = title(tab)

        def slowly(route):
            tab.wait_for_timeout(400)
            route.continue_()

        tab.route("**/api/node/*?*", slowly)
        tab.keyboard.press("1")
        wait_for_labels(tab, n + 2)
        assert title(tab) == asked  # the next one is on its way
        tab.keyboard.press("2")
        until(tab, "asked => document.querySelector('#node-title').textContent != asked", asked)
        tab.unroute("**/api/node/*?*")
        until_idle(tab)
        assert labels(tab) == n + 2
    stored = AltOpt.load(folder)
    assert stored.transduction_[stored.graph_.position(asked)] == stored.classes_[0]


def test_tab_goes_through_the_page_and_focus_stays(folder):
    """From the first link to the panel by Tab alone; an answer given there keeps the focus, and names the next node."""
    with chromium() as browser, served(folder) as address:
        tab = opened(browser, address).tab
        until_idle(tab)
        seen = []
        for _ in range(60):
            tab.keyboard.press("Tab")
            seen.append(
                tab.evaluate("document.activeElement.textContent || document.activeElement.ariaLabel")
            )
            if tab.evaluate("document.activeElement.dataset.focus == 'answer 1'"):
                break
        assert tab.evaluate("document.activeElement.dataset.focus") == "answer 1", seen
        assert seen[:2] == ["Labels", "Predictions"]
        n, asked = labels(tab), title(tab)
        tab.keyboard.press("Enter")
        wait_for_labels(tab, n + 1)
        until(tab, "asked => document.querySelector('#node-title').textContent != asked", asked)
        assert tab.evaluate("document.activeElement.dataset.focus") == "answer 1"
        assert title(tab) in tab.locator("p.hidden[aria-live]").inner_text()
        tab.get_by_label("Single keys act").uncheck()
        tab.keyboard.press("2")
        tab.reload()
        tab.wait_for_selector("#app[data-ready]")
        assert not tab.get_by_label("Single keys act").is_checked()
        tab.keyboard.press("2")
        until_idle(tab)
        assert labels(tab) == n + 1


def test_skipping_goes_on_past_the_first_suggestions(folder):
    with chromium() as browser, served(folder) as address:
        tab = opened(browser, address).tab
        seen = {title(tab)}
        for _ in range(30):
            shown = title(tab)
            tab.keyboard.press("s")
            until(tab, "shown => document.querySelector('#node-title').textContent != shown", shown)
            until(tab, "document.querySelector('.listed').textContent.includes('best first')")
            tab.wait_for_timeout(30)
            seen.add(title(tab))
        assert len(seen) == 31
        assert "Every node has a label" not in tab.locator(".listed").inner_text()


def test_a_copied_tab_undoes_its_own_answers_alone(folder):
    with chromium() as browser, served(folder) as address:
        page = opened(browser, address)
        tab, n = page.tab, labels(page.tab)
        tab.keyboard.press("1")
        wait_for_labels(tab, n + 1)
        with page.context.expect_page() as copied:
            tab.evaluate(
                "window.open(location.href)"
            )  # which copies the session storage, as duplicating does
        copy = copied.value
        copy.wait_for_selector("#app[data-ready]")
        assert copy.evaluate("sessionStorage.getItem('altopt-who')") != tab.evaluate(
            "sessionStorage.getItem('altopt-who')"
        )
        copy.keyboard.press("u")
        until(copy, "document.querySelector('.said').textContent.includes('no answer of yours')")
        copy.close()
        tab.reload()
        tab.wait_for_selector("#app[data-ready]")
        tab.keyboard.press("u")  # a tab that is loaded again is the same
        wait_for_labels(tab, n)


def test_a_page_shows_the_model_that_a_new_fit_put_there(folder, other_fit):
    """What it had numbered otherwise is refused, and the page goes on with the new nodes and classes."""
    with chromium() as browser, served(folder, idle=1.0) as address:
        page, late = opened(browser, address), opened(browser, address)
        tab, n = page.tab, labels(page.tab)
        shutil.rmtree(folder)
        shutil.copytree(other_fit, folder)
        late.tab.route("**/api/state?*", lambda route: route.abort())  # so it learns of it by its own answer
        tab.keyboard.press("1")
        wait_for_labels(tab, n + 1)
        until(tab, "document.querySelector('.choices')?.textContent.includes('aside')")
        until(tab, "document.querySelector('.said').textContent.includes('Another process put a model')")
        assert page.complaints == []
        assert "aside" not in late.tab.locator(".choices").inner_text()
        late.tab.keyboard.press("1")
        until(late.tab, "document.querySelector('.said').textContent.includes('nothing was recorded')")
        until(late.tab, "document.querySelector('.choices')?.textContent.includes('aside')")
        assert labels(late.tab) == labels(tab)


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
    rows = tab.locator(".doubted > li")
    rows.first.wait_for()
    before = rows.count()
    rows.first.get_by_role("button", name="is right").press("Enter")
    until(tab, f"document.querySelectorAll('.doubted > li').length == {before - 1}")
    assert tab.evaluate("document.querySelector('.listed').contains(document.activeElement)")
    tab.get_by_role("button", name="List it again").press("Enter")
    until(tab, f"document.querySelectorAll('.doubted > li').length == {before}")
    rows.first.get_by_role("button", name="is right").press("Enter")
    until(tab, f"document.querySelectorAll('.doubted > li').length == {before - 1}")
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
