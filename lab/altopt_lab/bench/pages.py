"""How large report.html is, and how soon it can be used in Chromium: Cora, and a model of the size of ogbn-arxiv.

usage: python -m altopt_lab.bench.pages [--times 5] [--record results/pages.jsonl] [--page docs/labelling.md]

From navigation until the picture of the graph is drawn and its search answers, by the browser's own clock.
"""

import argparse
import re
import shutil
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from altopt import AltOpt
from altopt.cli.report import model_report
from altopt.datasets import load
from altopt.datasets.splits import hide, per_class
from altopt.errors import require_extra
from altopt_lab.bench.explore import generated
from altopt_lab.experiments.work import made_on
from altopt_lab.records import Record, append_record

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-unsafe-swiftshader", "--disable-sync"]


def models(folder: Path) -> dict[str, AltOpt]:
    """The models whose reports are opened, by name."""
    cora = load("Cora")
    y = hide(cora.y, per_class(cora.y, 20, 0, 0, seed=900).train)
    return {
        "Cora": AltOpt(random_state=0).fit(cora.X, y, graph=cora.graph),
        "169,343 nodes": AltOpt.load(generated(folder)),
    }


def opened(page: Path, times: int) -> list[float]:
    """Seconds from navigation until the page can be used, in a fresh tab each."""
    playwright: Any = require_extra("playwright.sync_api", "explore", "Driving a browser")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    found = []
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=FLAGS)
        for _ in range(times):
            tab = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            tab.goto(page.as_uri())
            tab.wait_for_selector(".picture[data-ready]")
            field = tab.get_by_label("Find a node by its id")
            field.fill("1")
            field.press("Enter")
            tab.locator(".found:not(:empty)").wait_for()
            found.append(tab.evaluate("performance.now()") / 1000)
            tab.context.close()
        browser.close()
    return found


def measured(models: dict[str, AltOpt], page: Path, times: int) -> Record:
    """The record: bytes and seconds of each model's report, which are written to `page`, and where this was."""
    reports = {}
    for name, model in models.items():
        model_report(model, page)
        seconds = opened(page, times)
        reports[name] = {
            "bytes": page.stat().st_size,
            "seconds": round(median(seconds), 2),
            "slowest": round(max(seconds), 2),
        }
        print(name, reports[name], flush=True)
    return {"bench": "pages", "times": times, "reports": reports} | made_on()


def in_words(record: Record) -> str:
    """The figures of a record for the handbook."""
    told = [
        f"{name}: {one['bytes'] / 1e6:.2f} MB, usable after {one['seconds']:.1f} s"
        for name, one in record["reports"].items()
    ]
    return (
        f"`report.html` in a headless Chromium without a GPU, median of {record['times']}: {'; '.join(told)}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--page", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        record = measured(models(Path(made)), Path(made) / "report.html", chosen.times)
    if chosen.record is not None:
        append_record(chosen.record, record)
    if chosen.page is not None:
        text = chosen.page.read_text(encoding="utf-8")
        marks = re.compile("(<!-- report -->\n).*?(\n?<!-- end -->)", re.DOTALL)
        chosen.page.write_text(
            marks.sub(lambda found: found[1] + in_words(record) + "\n<!-- end -->", text), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
