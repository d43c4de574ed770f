"""Try a labelling session as a new user would, and write its pictures and figures: python docs/labelling.py.

Needs the extras dev and a Chromium.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pyarrow as pa
from pyarrow import csv

from altopt import AltOpt
from altopt.datasets import communities
from altopt.datasets.splits import per_class

DOCS = Path(__file__).parent
PAGE, PICTURES = DOCS / "labelling.md", DOCS / "pictures"
ALTOPT = [
    sys.executable,
    "-c",
    "import sys; from altopt.cli.main import main; sys.argv[0] = 'altopt'; main()",
]
CLASSES = np.array(["art", "law", "music", "physics", "sport"])
N_ANSWERS = 30
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-unsafe-swiftshader", "--disable-sync"]


def tables(folder):
    """A graph of 1,500 pages with three labels a topic, as CSV files; returns the truth by id."""
    data = communities(1500, 5, mean_degree=9.0, n_features=24, signal=0.15, seed=901)
    ids = np.array([f"page-{k:04}" for k in range(1500)])
    A = data.graph.adjacency.tocoo()
    once = A.row < A.col
    shown = per_class(data.y, 3, 0, 0, seed=901).train
    columns = {f"x{j}": data.X[:, j] for j in range(data.X.shape[1])}
    csv.write_csv(pa.table({"source": ids[A.row[once]], "target": ids[A.col[once]]}), folder / "links.csv")
    csv.write_csv(pa.table({"node": ids} | columns), folder / "features.csv")
    csv.write_csv(pa.table({"node": ids[shown], "label": CLASSES[data.y[shown]]}), folder / "labels.csv")
    return dict(zip(ids.tolist(), CLASSES[data.y].tolist()))


def right(model, truth):
    """The share of unlabelled nodes that is right."""
    hidden = ~model.labelled_
    return float(np.mean(model.transduction_[hidden] == np.array(list(truth.values()))[hidden]))


def right_by_page(address, truth):
    """The same from the predictions that the page exports."""
    with urlopen(address.replace("/?", "/api/export/predictions.csv?")) as answer:
        rows = csv.read_csv(answer).to_pylist()
    return float(np.mean([row["label"] == truth[row["node"]] for row in rows if row["given"] == "no"]))


def answer(tab, truth):
    """Answer with the keyboard, as someone who knows; returns the seconds from key to the next node."""
    n = 0
    began = time.perf_counter()
    while n < N_ANSWERS:
        node = tab.locator("#node-title").inner_text()
        tab.keyboard.press(str(1 + CLASSES.tolist().index(truth[node])))
        n += 1
        while tab.locator("#node-title").inner_text() == node:
            tab.wait_for_timeout(20)
        if n == N_ANSWERS // 2:
            tab.wait_for_timeout(800)
            tab.screenshot(path=PICTURES / "explore.png")
    return (time.perf_counter() - began) / N_ANSWERS


def session(folder):
    """From altopt fit to thirty labels; returns the figures of the page."""
    from playwright.sync_api import sync_playwright

    truth = tables(folder)
    call = [
        "fit",
        "--edges",
        "links.csv",
        "--features",
        "features.csv",
        "--labels",
        "labels.csv",
        "--out",
        "fit",
    ]
    subprocess.run([*ALTOPT, *call, "--quiet"], cwd=folder, check=True, capture_output=True)
    before = AltOpt.load(folder / "fit" / "model")
    figures = {"before": right(before, truth), "said": before.leave_one_out_.in_words()}
    server = subprocess.Popen(
        [*ALTOPT, "explore", "fit", "--no-browser"], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    address = server.stdout.readline().strip()
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=FLAGS)
        tab = browser.new_page(viewport={"width": 1200, "height": 820})
        tab.set_default_timeout(600_000)
        tab.goto((folder / "fit" / "report.html").as_uri())
        tab.wait_for_selector(".picture[data-ready]")
        tab.locator("#graph").screenshot(path=PICTURES / "report.png")
        tab.goto(address)
        tab.wait_for_selector("#app[data-ready]")
        answer(tab, truth)
        figures["after"] = right_by_page(address, truth)
        tab.keyboard.press("r")
        while not tab.locator(".said").inner_text().startswith("Refitted"):
            tab.wait_for_timeout(100)
        tab.locator(".middle .pair").screenshot(path=PICTURES / "curve.png")
        browser.close()
    server.terminate()
    figures["told"] = server.communicate()[0].strip().splitlines()[1:]
    after = AltOpt.load(folder / "fit" / "model")
    figures |= {"refitted": right(after, truth), "labels": int(after.labelled_.sum())}
    asked = after.labelled_ & ~before.labelled_
    figures["refuted"] = int(np.sum(before.transduction_[asked] != after.transduction_[asked]))
    csv.write_csv(
        pa.table({"node": after.graph_.ids[asked], "label": after.transduction_[asked]}), folder / "new.csv"
    )
    everything = (folder / "labels.csv").read_text() + "".join(
        (folder / "new.csv").read_text().splitlines(keepends=True)[1:]
    )
    (folder / "labels.csv").write_text(everything)
    subprocess.run([*ALTOPT, *call, "--quiet"], cwd=folder, check=True, capture_output=True)
    again = AltOpt.load(folder / "fit" / "model")
    return figures | {"again": right(again, truth), "said_again": again.leave_one_out_.in_words()}


def block(figures):
    """The paragraph of figures."""
    return (
        f"With 15 labels the fit said: *{figures['said']}* In truth {figures['before']:.1%} of the unlabelled pages "
        f"were right. {figures['refuted']} of the {N_ANSWERS} answers refuted what the model had thought; after them "
        f"{figures['after']:.1%} were right, and after a refit (key `r`) {figures['refitted']:.1%}. A new fit with all "
        f"{figures['labels']} labels, which chooses its parts anew, had {figures['again']:.1%}, and said: "
        f"*{figures['said_again']}*"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        found = session(Path(place))
    print(found)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        re.sub(
            r"(<!-- session -->\n).*?(<!-- end -->)",
            lambda m: m[1] + block(found) + "\n" + m[2],
            text,
            flags=re.DOTALL,
        ),
        encoding="utf-8",
    )
