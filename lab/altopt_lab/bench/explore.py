"""altopt explore under load: one client, also during a refit, many clients for minutes, and kills at any time.

usage: python -m altopt_lab.bench.explore MODEL [--requests 200] [--refit] [--clients 50] [--seconds 300] [--kills 50]
                                                [--record results/explore.jsonl] [--page docs/labelling.md]

Without MODEL: a generated model of the size of ogbn-arxiv, 169,343 nodes and 40 classes. Times are of the wall clock,
from request to response; beside them the processor time of the server, which other work on the machine hardly changes.
"""

import argparse
import atexit
import csv
import http.client
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from altopt.fitted.picture import name_of
from altopt_lab.experiments.work import made_on
from altopt_lab.records import Record, append_record

COMMAND = """import sys; from altopt.cli.main import main; from altopt.cli.explore import session
session.IDLE = float(sys.argv.pop(1)); sys.argv[0] = 'altopt'; main()"""
IDLE = 20.0  # seconds without an answer after which the folder is written


class Server:
    """altopt explore as a process of its own; `idle` seconds after an answer it writes the folder."""

    def __init__(self, model: Path, idle: float = IDLE) -> None:
        call = [sys.executable, "-c", COMMAND, str(idle), "explore", str(model), "--no-browser"]
        self.process = subprocess.Popen(call, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        address = self.process.stdout.readline().strip()
        self.host, self.token = address.removeprefix("http://").split("/?token=")
        atexit.register(self.process.kill)  # where a question fails

    def memory(self) -> float:
        """Resident megabytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self, number: int = signal.SIGINT) -> None:
        self.process.send_signal(number)
        self.process.wait()


class Client:
    """One connection; questions are answered with the seconds they took."""

    def __init__(self, server: Server, who: str) -> None:
        self.server, self.who = server, who
        self.connection = http.client.HTTPConnection(server.host, timeout=300)

    def ask(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any, float]:
        headers = {"Authorization": f"Bearer {self.server.token}", "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body | {"who": self.who})
        began = time.perf_counter()
        self.connection.request("GET" if body is None else "POST", f"/api/{path}", sent, headers)
        answer = self.connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content), time.perf_counter() - began

    def known(self) -> "Known":
        """What the questions are about."""
        _, about, _ = self.ask("model")
        headers = {"Authorization": f"Bearer {self.server.token}"}
        self.connection.request("GET", "/api/export/predictions.csv", headers=headers)
        rows = csv.reader(io.StringIO(self.connection.getresponse().read().decode()))
        next(rows)
        return Known([name_of(row[0]) for row in rows], about["classes"], about["numbering"])


class Known(NamedTuple):
    """A model's nodes and classes by their numbers."""

    nodes: list[str]
    classes: list[str]
    numbering: int

    def label(self, at: int, code: int) -> tuple[str, dict[str, Any]]:
        """The question that gives a node a label, both named as the page names them."""
        names = {"node": self.nodes[at], "name": self.classes[code], "numbering": self.numbering}
        return "label", {"at": at, "label": code} | names


def questions(rng: random.Random, known: Known) -> dict[str, tuple[str, dict[str, Any] | None]]:
    """One of each kind, about a node drawn at random."""
    n_nodes, n_classes = len(known.nodes), len(known.classes)
    at = rng.randrange(n_nodes)
    return {
        "search": (f"search?q={rng.randrange(n_nodes)}", None),
        "neighbourhood": (f"node/{at}?size=300", None),
        "label": known.label(at, rng.randrange(n_classes)),
        "undo": ("undo", {}),
        "filter": (f"nodes?label={rng.randrange(n_classes)}&doubt_from=0.2", None),
        "state": ("state?after=0", None),
    }


def one_client(model: Path, n_requests: int) -> Record:
    """The latency of each kind of question."""
    server, rng = Server(model), random.Random(0)
    client = Client(server, "one")
    known = client.known()
    found: Record = {"n_nodes": len(known.nodes), "n_classes": len(known.classes), "n_requests": n_requests}
    for kind in questions(rng, known):
        seconds, cpu = [], server.cpu()
        for _ in range(n_requests):
            status, said, took = client.ask(*questions(rng, known)[kind])
            assert status == 200, said
            seconds.append(took)
        found[kind] = latency(seconds) | {"cpu": round(1e3 * (server.cpu() - cpu) / n_requests, 1)}
        print(f"{kind:14} {found[kind]} ms", flush=True)
    server.end()
    return {"one_client": found}


def latency(seconds: list[float]) -> dict[str, float]:
    """Median, 95th percentile and maximum in milliseconds."""
    ordered = sorted(seconds)
    places = {"median": len(ordered) // 2, "p95": int(0.95 * len(ordered)), "max": -1}
    return {name: round(1e3 * ordered[k], 1) for name, k in places.items()}


def during_refit(model: Path) -> Record:
    """The latency of labels and neighbourhoods while the model is refitted."""
    server, rng = Server(model), random.Random(2)
    client = Client(server, "refit")
    known = client.known()
    client.ask(*questions(rng, known)["label"])
    client.ask("refit", {})
    began, seconds = time.monotonic(), dict[str, list[float]](label=[], neighbourhood=[])
    while True:
        for kind, took in seconds.items():
            status, said, each = client.ask(*questions(rng, known)[kind])
            assert status == 200, said
            took.append(each)
        _, state, _ = client.ask("state?after=0")
        if not state["refit"]["running"]:
            break
    found: Record = {"seconds": round(time.monotonic() - began, 1), "said": state["refit"]["said"]}
    found |= {kind: latency(took) for kind, took in seconds.items()}
    print(f"refit: {found}", flush=True)
    server.end()
    return {"during_refit": found}


def many_clients(model: Path, n_clients: int, seconds: float) -> Record:
    """Everyone asks everything; errors are counted, and memory is watched."""
    server = Server(model)
    known = Client(server, "first").known()
    statuses: Counter[str] = Counter()
    end = time.monotonic() + seconds

    def work(k: int) -> None:
        rng, client = random.Random(k), Client(server, f"c{k}")
        while time.monotonic() < end:
            for kind, question in questions(rng, known).items():
                try:
                    status, _, _ = client.ask(*question)
                    statuses[f"{kind} {status}"] += 1
                except Exception as error:
                    statuses[f"{kind} {type(error).__name__}"] += 1
                    client = Client(server, f"c{k}")
                time.sleep(rng.random())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(n_clients)]
    for thread in threads:
        thread.start()
    memory = []
    while time.monotonic() < end:
        time.sleep(seconds / 10)
        memory.append(round(server.memory()))
    for thread in threads:
        thread.join()
    good = sum(n for name, n in statuses.items() if name.endswith(" 200"))
    found: Record = {"n_clients": n_clients, "seconds": seconds, "answered": good, "memory_mb": memory}
    found["errors"] = {name: n for name, n in sorted(statuses.items()) if not name.endswith(" 200")}
    print(found, flush=True)
    server.end()
    return {"many_clients": found}


def kills(model: Path, n_kills: int) -> Record:
    """Killed while it answers: every label that was confirmed is there after the next start.

    Every other server writes the folder all the time, so that kills come during a save too.
    """
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(shutil.copytree(model, Path(folder) / "fit" / "model"))
        confirmed: dict[int, int] = {}
        lost, written, during_save, files = 0, 0, 0, len(list(place.iterdir()))
        known: Known | None = None
        for trial in range(n_kills):
            server = Server(place, idle := IDLE if trial % 2 else 0.0)
            client = Client(server, "k")
            known = known or client.known()
            for at, code in confirmed.items():
                _, found, _ = client.ask(f"node/{at}?size=1")
                lost += not (found["node"]["given"] and found["node"]["label"] == code)
            head = (place / "model.json").read_bytes()
            threading.Timer(rng.random() * (0.6 if idle else 3.0), server.end, (signal.SIGKILL,)).start()
            while True:
                at, code = rng.randrange(len(known.nodes)), rng.randrange(len(known.classes))
                try:
                    status, _, _ = client.ask(*known.label(at, code))
                except (OSError, http.client.HTTPException):
                    # asked and not answered: either is right, until the next start says which
                    confirmed.pop(at, None)
                    break
                assert status == 200
                confirmed[at] = code
            server.process.wait()
            written += (place / "model.json").read_bytes() != head
            during_save += len([path for path in place.iterdir() if path.suffix != ".lock"]) > files
        found = {"n": n_kills, "confirmed": len(confirmed), "lost": lost}
        found |= {"folder_written": written, "during_save": during_save}
        print(found, flush=True)
    return {"kills": found}


def generated(folder: Path) -> Path:
    """A model of the size of ogbn-arxiv."""
    import numpy as np

    from altopt import AltOpt
    from altopt.datasets import communities
    from altopt.datasets.splits import hide

    data = communities(169_343, 40, n_edges=1_157_799, n_features=128, seed=901)
    shown = np.random.default_rng(0).choice(len(data.y), 2000, replace=False)
    AltOpt(random_state=0).fit(data.X, hide(data.y, shown), graph=data.graph).save(folder / "model")
    return folder / "model"


def in_words(record: Record) -> str:
    """The figures of a record for the handbook."""
    one, many, killed = (record[name] for name in ("one_client", "many_clients", "kills"))
    memory = many["memory_mb"]
    n_errors = sum(many["errors"].values())
    rows = [
        f"| {kind} | {one[kind]['median']:.0f} | {one[kind]['p95']:.0f} | {one[kind]['cpu']:.0f} |"
        for kind in ("search", "neighbourhood", "label", "undo", "filter")
    ]
    lines = [
        f"On a generated model of {one['n_nodes']:,} nodes and {one['n_classes']} classes, one client, "
        f"{one['n_requests']} requests of each kind: milliseconds",
        "from request to response, and of the server's processor:",
        "",
        "| request | median | 95 of 100 within | processor |",
        "|---|--:|--:|--:|",
        *rows,
        "",
        f"{many['n_clients']} clients for {many['seconds'] / 60:g} minutes: {many['answered']:,} requests answered, "
        f"{n_errors} errors; the server used",
        f"{memory[0]} MB after a tenth of the time, {memory[len(memory) // 2]} MB half-way, {memory[-1]} MB at last.",
        f"Killed {killed['n']} times while it answered: of {killed['confirmed']:,} labels that were confirmed "
        f"{killed['lost']} were lost.",
    ]
    if "folder_written" in killed:
        lines.append(
            f"In {killed['folder_written']} of these trials the model's folder had been written before the kill, and "
            f"{killed['during_save']} kills came in the middle of that."
        )
    if "during_refit" in record:
        refit = record["during_refit"]
        lines.append(
            f"While a refit ran for {refit['seconds']:.0f} s, 95 of 100 labels were answered within "
            f"{refit['label']['p95']:.0f} ms."
        )
    lines.append(on_what(record))
    return "\n".join(lines)


def on_what(record: Record) -> str:
    """The machine, and how busy it was."""
    load = f"load {record['load_before']:g} before and {record['load_after']:g} after"
    if "machine" not in record:
        return f"Of this record the machine is not known; {load}."
    return (
        f"Measured on {record['made'][:10]}, commit {record['commit']}, on {record['cores']} cores "
        f"({record['machine']}); {load}."
    )


def write_page(record: Record, page: Path) -> None:
    """The figures between the marks of a page."""
    text = page.read_text(encoding="utf-8")
    marks = re.compile("(<!-- load -->\n).*?(\n<!-- end -->)", re.DOTALL)
    page.write_text(marks.sub(lambda found: found[1] + in_words(record) + found[2], text), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--refit", action="store_true")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--page", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        given = chosen.model or generated(Path(folder))
        given = given if (given / "model.json").is_file() else given / "model"
        model = Path(
            shutil.copytree(given, Path(folder) / "fit" / "model")
        )  # the labels given here are random
        record: Record = {"bench": "explore", "load_before": round(os.getloadavg()[1], 1)}
        if chosen.requests:
            record |= one_client(model, chosen.requests)
        if chosen.refit:
            record |= during_refit(model)
        if chosen.clients:
            record |= many_clients(model, chosen.clients, chosen.seconds)
        if chosen.kills:
            record |= kills(model, chosen.kills)
    record["load_after"] = round(os.getloadavg()[1], 1)
    record |= made_on() | {"cores": os.cpu_count()}
    if chosen.record is not None:
        append_record(chosen.record, record)
    if chosen.page is not None:
        write_page(record, chosen.page)


if __name__ == "__main__":
    main()
