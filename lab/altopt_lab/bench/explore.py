"""altopt explore under load: the latency of one client, many clients for minutes, and kills at any time.

usage: python -m altopt_lab.bench.explore MODEL [--requests 200] [--clients 50] [--seconds 300] [--kills 50]
"""

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

COMMAND = "import sys; from altopt.cli.main import main; sys.argv[0] = 'altopt'; main()"


class Server:
    """altopt explore as a process of its own."""

    def __init__(self, model: Path) -> None:
        call = [sys.executable, "-c", COMMAND, "explore", str(model), "--no-browser"]
        self.process = subprocess.Popen(call, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        address = self.process.stdout.readline().strip()
        self.host, self.token = address.removeprefix("http://").split("/?token=")

    def memory(self) -> float:
        """Resident megabytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def end(self, number: int = signal.SIGINT) -> None:
        self.process.send_signal(number)
        self.process.wait()


class Client:
    """One connection; questions are answered with the seconds they took."""

    def __init__(self, server: Server, who: str) -> None:
        self.server, self.who = server, who
        self.connection = http.client.HTTPConnection(server.host, timeout=60)

    def ask(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any, float]:
        headers = {"Authorization": f"Bearer {self.server.token}", "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body | {"who": self.who})
        began = time.perf_counter()
        self.connection.request("GET" if body is None else "POST", f"/api/{path}", sent, headers)
        answer = self.connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content), time.perf_counter() - began


def questions(
    rng: random.Random, n_nodes: int, n_classes: int
) -> dict[str, tuple[str, dict[str, Any] | None]]:
    """One of each kind, about a node drawn at random."""
    at = rng.randrange(n_nodes)
    return {
        "search": (f"search?q={rng.randrange(n_nodes)}", None),
        "neighbourhood": (f"node/{at}?size=300", None),
        "label": ("label", {"at": at, "label": rng.randrange(n_classes)}),
        "undo": ("undo", {}),
        "filter": (f"nodes?label={rng.randrange(n_classes)}&doubt_from=0.2", None),
        "state": ("state?after=0", None),
    }


def one_client(model: Path, n_requests: int) -> None:
    """The latency of each kind of question."""
    server, rng = Server(model), random.Random(0)
    client = Client(server, "one")
    _, about, _ = client.ask("model")
    sizes = about["n_nodes"], len(about["classes"])
    for kind in questions(rng, *sizes):
        seconds = []
        for _ in range(n_requests):
            status, said, took = client.ask(*questions(rng, *sizes)[kind])
            assert status == 200, said
            seconds.append(took)
        seconds.sort()
        median, high = seconds[len(seconds) // 2], seconds[int(0.95 * len(seconds))]
        print(
            f"{kind:14} median {1e3 * median:6.0f} ms   p95 {1e3 * high:6.0f} ms   max {1e3 * seconds[-1]:6.0f} ms"
        )
    server.end()


def many_clients(model: Path, n_clients: int, seconds: float) -> None:
    """Everyone asks everything; errors are counted, and memory is watched."""
    server = Server(model)
    _, about, _ = Client(server, "first").ask("model")
    statuses: Counter[str] = Counter()
    end = time.monotonic() + seconds

    def work(k: int) -> None:
        rng, client = random.Random(k), Client(server, f"c{k}")
        while time.monotonic() < end:
            for kind, question in questions(rng, about["n_nodes"], len(about["classes"])).items():
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
        memory.append(server.memory())
    for thread in threads:
        thread.join()
    print(f"{n_clients} clients, {seconds:.0f} s: {dict(sorted(statuses.items()))}")
    print(f"memory, MB: {[round(m) for m in memory]}")
    server.end()


def kills(model: Path, n_kills: int) -> None:
    """Killed while it answers: every label that was confirmed is there after the next start."""
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(shutil.copytree(model, Path(folder) / "fit" / "model"))
        confirmed: dict[int, int] = {}
        lost = 0
        for _ in range(n_kills):
            server = Server(place)
            client = Client(server, "k")
            _, about, _ = client.ask("model")
            for at, code in confirmed.items():
                _, found, _ = client.ask(f"node/{at}?size=1")
                lost += not (found["node"]["given"] and found["node"]["label"] == code)
            threading.Timer(rng.random() * 0.6, server.end, (signal.SIGKILL,)).start()
            while True:
                at, code = rng.randrange(about["n_nodes"]), rng.randrange(len(about["classes"]))
                try:
                    status, _, _ = client.ask("label", {"at": at, "label": code})
                except (OSError, http.client.HTTPException):
                    # asked and not answered: either is right, until the next start says which
                    confirmed.pop(at, None)
                    break
                assert status == 200
                confirmed[at] = code
            server.process.wait()
        print(f"{n_kills} kills, {len(confirmed):,} confirmed labels, {lost} lost")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--kills", type=int, default=50)
    chosen = parser.parse_args()
    model = chosen.model if (chosen.model / "model.json").is_file() else chosen.model / "model"
    if chosen.requests:
        one_client(model, chosen.requests)
    if chosen.clients:
        many_clients(model, chosen.clients, chosen.seconds)
    if chosen.kills:
        kills(model, chosen.kills)


if __name__ == "__main__":
    main()
