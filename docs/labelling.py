"""Try a labelling session as a new user would, and write its pictures and figures: python docs/labelling.py.

Needs the extras dev and a Chromium.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pyarrow as pa
from pyarrow import csv

from altopt import AltOpt
from altopt.datasets.splits import per_class

DOCS = Path(__file__).parent
PAGE, PICTURES = DOCS / "labelling.md", DOCS / "pictures"
ALTOPT = [
    sys.executable,
    "-c",
    "import sys; from altopt.cli.main import main; sys.argv[0] = 'altopt'; main()",
]
CLASSES = np.array(["art", "law", "music", "physics", "sport"])
N_ANSWERS, SEED = 30, 26
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-unsafe-swiftshader", "--disable-sync"]


def tables(folder):
    """Links of 60 sites of 25 pages, features that say little, and three labels a topic, as CSV files.

    A site has one topic. Of a page's links three stay on the site; one page in ten links to a site of the same topic,
    one in ten anywhere: a label tells of its site, and hardly of others. Returns the topic of each page by id.
    """
    rng = np.random.default_rng(SEED)
    site = np.repeat(np.arange(60), 25)
    y, n = site % 5, 1500
    links = []
    for page in range(n):
        links += [(page, k) for k in rng.choice(np.flatnonzero(site == site[page]), 3, replace=False)]
        if rng.random() < 0.1:
            links.append((page, rng.choice(np.flatnonzero(y == y[page]))))
        if rng.random() < 0.1:
            links.append((page, rng.integers(n)))
    source, target = np.array([(a, b) for a, b in links if a != b]).T
    X = 0.05 * rng.normal(size=(5, 24))[y] + rng.normal(size=(n, 24))
    ids = np.array([f"page-{k:04}" for k in range(n)])
    shown = per_class(y, 3, 0, 0, seed=SEED).train
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    csv.write_csv(pa.table({"source": ids[source], "target": ids[target]}), folder / "links.csv")
    csv.write_csv(pa.table({"node": ids} | columns), folder / "features.csv")
    csv.write_csv(pa.table({"node": ids[shown], "label": CLASSES[y[shown]]}), folder / "labels.csv")
    return dict(zip(ids.tolist(), CLASSES[y].tolist()))


def right(model, truth):
    """The share of unlabelled nodes that is right."""
    hidden = ~model.labelled_
    known = np.array([truth[node] for node in model.graph_.ids.tolist()])
    return float(np.mean(model.transduction_[hidden] == known[hidden]))


def right_by_page(address, truth):
    """The same from the predictions that the page exports."""
    with urlopen(address.replace("/?", "/api/export/predictions.csv?")) as answer:
        rows = csv.read_csv(answer).to_pylist()
    return float(np.mean([row["label"] == truth[row["node"]] for row in rows if row["given"] == "no"]))


def answer(tab, truth, n_answers):
    """Answer with the keyboard, as someone who knows."""
    for _ in range(n_answers):
        node = tab.locator("#node-title").inner_text()
        tab.keyboard.press(str(1 + CLASSES.tolist().index(truth[node])))
        while tab.locator("#node-title").inner_text() == node:
            tab.wait_for_timeout(20)
        tab.wait_for_timeout(300)


def refit(tab):
    """Refit with a key, and wait for it."""
    tab.keyboard.press("r")
    while not tab.locator(".said").inner_text().startswith("Refitted"):
        tab.wait_for_timeout(100)


def session(folder):
    """From altopt fit to thirty labels; returns the figures of the page."""
    from playwright.sync_api import sync_playwright

    truth = tables(folder)
    tables_in = ["--edges", "links.csv", "--features", "features.csv", "--labels", "labels.csv"]
    call = ["fit", *tables_in, "--out", "fit"]
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
        answer(tab, truth, N_ANSWERS // 2)
        figures["halfway"] = right_by_page(address, truth)
        tab.wait_for_timeout(800)
        tab.screenshot(path=PICTURES / "explore.png")
        refit(tab)
        figures["refitted"] = right_by_page(address, truth)
        tab.wait_for_timeout(3000)
        answer(tab, truth, N_ANSWERS - N_ANSWERS // 2)
        figures["after"] = right_by_page(address, truth)
        tab.locator(".middle .pair").screenshot(path=PICTURES / "curve.png")
        browser.close()
    server.terminate()
    figures["told"] = server.communicate()[0].strip().splitlines()[1:]
    after = AltOpt.load(folder / "fit" / "model")
    figures["labels"] = int(after.labelled_.sum())
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
        f"were right. After {N_ANSWERS // 2} answers {figures['halfway']:.1%} were, after a refit then (key `r`) "
        f"{figures['refitted']:.1%}, and after the other {N_ANSWERS - N_ANSWERS // 2} answers {figures['after']:.1%}. "
        f"{figures['refuted']} of the {N_ANSWERS} answers refuted what the first fit had thought. A new fit with all "
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
