"""A real Chromium for the tests of pages: what it fetches and what it complains about is noted."""

import json
import os
import shutil
import time
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from matplotlib.image import imread

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-unsafe-swiftshader"]
FLAGS += [f"--disable-{what}" for what in ("background-networking", "component-update", "sync")]
AXE = Path(__file__).parents[1] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS, SCHEMES = (1280, 390), ("light", "dark")


def is_blank(image):
    """Whether nearly all of a picture is of one colour."""
    pixels = (imread(BytesIO(image))[..., :3] * 255).astype(np.int64)
    colours, counts = np.unique(pixels @ np.array([65536, 256, 1]), return_counts=True)
    return len(colours) < 20 or counts.max() > 0.99 * counts.sum()


@contextmanager
def chromium():
    """The browser; the test is skipped, and says so, where there is none."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("no Chromium installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def skip_without_axe():
    """The last line of a test that asks for faults: it held, but nobody looked for them."""
    if not AXE.is_file():
        pytest.skip("all else held, but axe-core is not installed: npm install in frontend/")


def until(tab, expression, arg=None, seconds=30):
    """Wait until an expression holds in the page; its policy forbids playwright's own way."""
    end = time.monotonic() + seconds
    while not tab.evaluate(expression, arg):
        assert time.monotonic() < end, f"never came true: {expression}"
        tab.wait_for_timeout(50)


class Page:
    """A tab, with all it asked for and all it complained about."""

    def __init__(self, browser, width=1280, scheme="light", **more):
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True, **more
        )
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(30_000)
        self.asked, self.complaints = [], []
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.on("console", self.note)
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))

    def note(self, message):
        if message.type == "error":
            self.complaints.append(message.text)

    def elsewhere(self, home):
        """Requests to anywhere but `home`."""
        return [url for url in self.asked if not url.startswith((home, "data:", "blob:"))]

    def faults(self):
        """What axe-core finds that keeps people out: serious and critical faults."""
        if not AXE.is_file():
            return []  # `skip_without_axe` says so, when all else has held
        self.tab.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.tab.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        grave = [each for each in found if each["impact"] in ("serious", "critical")]
        return [f"{each['id']}: {json.dumps([node['html'] for node in each['nodes']][:3])}" for each in grave]

    def views(self):
        """The same page at every width, light and dark: (width, scheme) of each."""
        for width in WIDTHS:
            for scheme in SCHEMES:
                self.tab.set_viewport_size({"width": width, "height": 900})
                self.tab.emulate_media(color_scheme=scheme)
                self.tab.wait_for_timeout(150)
                assert self.tab.evaluate("document.documentElement.scrollWidth") <= width
                yield width, scheme

    def picture(self, name):
        """A screenshot of the whole page, which is not blank; kept where ALTOPT_SCREENSHOTS names a folder."""
        with TemporaryDirectory() as forgotten:
            path = Path(os.environ.get("ALTOPT_SCREENSHOTS", forgotten)) / f"{name}.png"
            self.tab.screenshot(full_page=True, path=path)
            image = path.read_bytes()
        assert not is_blank(image), f"{name} shows nothing"
        return image

    def close(self):
        self.context.close()
