"""The server: what it answers, and what it refuses."""

import csv
import io
import shutil

import numpy as np
import pytest

from altopt import AltOpt
from altopt.cli.explore.journal import key
from altopt.cli.explore.neighbourhood import neighbourhood
from altopt.cli.explore.session import Session
from altopt.fitted.picture import name_of
from altopt.graph.validation import UNKNOWN
from altopt.views import NoGraphView
from explored import EVIL_CLASS, EVIL_ID

pytest.importorskip("fastapi")
from starlette.testclient import TestClient

from altopt.cli.explore.guard import MAX_BODY
from altopt.cli.explore.server import application

HOME, TOKEN = "http://127.0.0.1:8123", "secret-token"
AUTH = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def client(session):
    app = application(session, TOKEN, {"127.0.0.1:8123", "localhost:8123"})
    with TestClient(app, base_url=HOME, headers=AUTH) as client:
        yield client


def test_the_page_and_its_parts(client):
    page = client.get("/")
    assert page.status_code == 200
    assert "unsafe-inline" not in page.headers["content-security-policy"]
    assert client.get("/assets/altopt.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/assets/..%2f__init__.py").status_code == 404
    assert client.get("/assets/LICENCES.txt").status_code == 404


def test_search_and_neighbourhood(client, session):
    (hit, *_) = client.get("/api/search", params={"q": "<IMG"}).json()
    assert hit["id"] == EVIL_ID
    found = client.get(f"/api/node/{hit['at']}", params={"size": 20}).json()
    assert found["nodes"][0]["at"] == hit["at"]
    assert 1 < len(found["nodes"]) <= 20
    assert sum(found["node"]["probabilities"]) == pytest.approx(1, abs=1e-3)
    ledger = found["ledger"]
    assert ledger["labels"] + ledger["features"] + ledger["further"] == pytest.approx(1, abs=1e-3)
    for a, b, share in found["edges"]:
        one, other = (found["nodes"][k]["at"] for k in (a, b))
        assert session.fitted.graph.adjacency[[one]].indices.tolist().count(other) == 1
        assert share >= 0
    assert client.get(f"/api/node/{hit['at']}/columns").json()["columns"]


def test_shares_of_a_small_graph_sum_to_the_score(client):
    found = client.get("/api/node/5", params={"size": 300}).json()
    assert sum(node["share"] for node in found["nodes"]) == pytest.approx(1, abs=0.02)


def test_a_model_without_smoothing_shows_neighbours_without_shares(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.where(np.arange(60) < 20, (X[:, 0] > 0).astype(int), -1)
    model = AltOpt(graph_view=NoGraphView, random_state=0, cross_fit=False)
    model.fit(X, y, graph=[(k, (k + 1) % 60) for k in range(60)]).save(tmp_path / "model")
    session = Session(tmp_path / "model", in_background=False)
    found = neighbourhood(session, 30, 5)
    assert [node["at"] for node in found["nodes"]][1:3] == [29, 31]
    assert len(found["nodes"]) == 5
    assert all(share is None for _, _, share in found["edges"])
    assert "along edges" in found["note"]
    session.close()


def test_label_undo_and_what_other_tabs_see(client, session):
    at = int(np.flatnonzero(session.fitted.codes == UNKNOWN)[0])
    before = client.get("/api/state").json()
    effect = client.post("/api/label", json=labelled(session, at, 2) | {"who": "a"}).json()
    assert effect["node"] | {"label": 2, "given": True} == effect["node"]
    assert effect["n_labels"] == before["n_labels"] + 1
    seen = client.get("/api/state", params={"after": before["number"]}).json()
    assert seen["answers"] == [{"at": at, "label": 2, "who": "a"}]
    assert client.post("/api/undo", json={"who": "b"}).status_code == 422
    undone = client.post("/api/undo", json={"who": "a"}).json()
    assert undone["node"]["given"] is False
    assert len(client.get("/api/state").json()["curve"]) == 3


def about(session, at):
    return {"at": at, "node": name_of(session.name(at)), "numbering": session.numbering}


def labelled(session, at, code):
    return about(session, at) | {"label": code, "name": name_of(session.classes[code])}


def test_an_answer_about_another_model_is_refused_and_leaves_no_trace(client, session, folder, other_fit):
    """After a fit into the folder with nodes and classes in another order, old numbers mean other nodes."""
    at = int(np.flatnonzero(session.fitted.codes == UNKNOWN)[0])
    answer = labelled(session, at, 1) | {"who": "a"}
    assert client.post("/api/label", json=answer).status_code == 200
    shutil.rmtree(folder)
    shutil.copytree(other_fit, folder)
    session.store()  # sees what the other process did
    for path, body in (
        ("label", answer),
        ("confirm", about(session, at) | {"numbering": answer["numbering"]}),
    ):
        refused = client.post(f"/api/{path}", json=body)
        assert refused.status_code == 409
        assert "nothing was recorded" in refused.json()["detail"]
    assert len(session.journal.answers()) == 1
    found = client.get("/api/model").json()
    assert found["numbering"] == answer["numbering"] + 1
    assert found["classes"] == [name_of(name) for name in AltOpt.load(folder).classes_.tolist()]
    (hit, *_) = client.get("/api/search", params={"q": "<IMG"}).json()
    assert hit["at"] == session.find(key(EVIL_ID)) != 0
    wrong = labelled(session, at, 1)
    assert client.post("/api/label", json=wrong | {"name": "south-west"}).status_code == 409
    assert client.post("/api/label", json=wrong | {"node": "n9999"}).status_code == 409
    assert client.post("/api/label", json=wrong).status_code == 200
    assert all(not node["given"] for node in client.get("/api/queue").json())


def test_more_is_suggested_than_was_skipped(client):
    seen = set()
    while len(seen) < 60:
        found = {node["at"] for node in client.get("/api/queue", params={"skipped": len(seen)}).json()}
        assert found - seen, f"nothing new after {len(seen)} skips"
        seen |= found


def test_what_the_model_cannot_take_is_named(client, session):
    session.journal.add('"gone"', '"north"', "null", "ann")
    session.load()
    assert client.get("/api/state").json()["not_taken"] == {"n": 1, "nodes": ["gone"]}
    assert client.get("/api/state").json()["unstored"] == 0


def test_a_confirmed_label_can_be_listed_again(client, session):
    (first, *rest) = client.get("/api/suspicious").json()
    client.post("/api/confirm", json=about(session, first["at"]))
    assert len(client.get("/api/suspicious").json()) == len(rest)
    assert [node["at"] for node in client.get("/api/suspicious?confirmed=true").json()] == [first["at"]]
    client.post("/api/confirm", json=about(session, first["at"]) | {"right": False})
    assert client.get("/api/suspicious").json()[0]["at"] == first["at"]


def test_a_browser_led_here_by_a_file_may_open_the_page_and_nothing_else(client):
    led = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert client.get("/", headers=led).status_code == 200
    assert client.get("/", headers=led | {"Authorization": ""}).status_code == 403
    assert client.get("/", headers=led | {"Sec-Fetch-Dest": "iframe"}).status_code == 403
    assert client.get("/", headers=led | {"Sec-Fetch-Mode": "no-cors"}).status_code == 403
    assert client.get("/api/state", headers=led).status_code == 403


def test_refit(client, session):
    at = int(np.flatnonzero(session.fitted.codes == UNKNOWN)[0])
    client.post("/api/label", json=labelled(session, at, 1) | {"who": "a"})
    before = client.get("/api/state").json()["refit"]
    assert (before["untaught"], before["running"], before["said"]) == (1, False, "")
    after = client.post("/api/refit", json={}).json()
    assert after["untaught"] == 0
    assert after["version"] == before["version"] + 1
    assert after["said"].startswith("Refitted with 25 labels")
    assert len(client.get("/api/state").json()["curve"]) == 3
    assert client.post("/api/refit", json={"labels": []}).status_code == 422


def test_lists_and_filters(client, session):
    queue = client.get("/api/queue").json()
    assert queue
    assert not any(node["given"] for node in queue)
    assert client.get("/api/suspicious").json()
    for label in range(3):
        found = client.get("/api/nodes", params={"label": label, "given": True}).json()
        assert found["n"] == int(np.sum(session.fitted.codes == label))
    suspects = client.get("/api/nodes", params={"suspicious": True}).json()
    assert {node["at"] for node in suspects["nodes"]} == {at for at, _, _ in session.suspicious()}
    doubtful = client.get("/api/nodes", params={"doubt_from": 0.3}).json()["nodes"]
    doubts = [node["doubt"] for node in doubtful]
    assert doubts == sorted(doubts, reverse=True)
    assert min(doubts) >= 0.3


def test_export(client, session):
    rows = list(csv.reader(io.StringIO(client.get("/api/export/labels.csv").text)))
    assert rows[0] == ["node", "label"]
    assert len(rows) == 1 + int(session.fitted.labelled.sum())
    rows = list(csv.reader(io.StringIO(client.get("/api/export/predictions.csv").text)))
    assert len(rows) == 241
    assert rows[0] == ["node", "label", "given", "confidence", *(f"p_{name}" for name in session.classes)]
    probabilities = np.array([row[4:] for row in rows[1:]], dtype=float)
    assert np.allclose(probabilities, session.model.label_distributions_, atol=1e-6)
    assert rows[1][0] == EVIL_ID
    assert {row[1] for row in rows[1:]} <= {"north", "south", EVIL_CLASS}
    assert client.get("/api/export/model.csv").status_code == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 403),
        ({"Authorization": "Bearer wrong"}, 403),
        ({"Host": "evil.example"}, 403),  # another name for this machine
        ({"Host": "127.0.0.1"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Length": str(MAX_BODY + 1)}, 413),
        ({"Content-Length": "many"}, 413),
        ({"Origin": HOME}, 200),
        ({"Host": "localhost:8123"}, 200),
    ],
)
def test_who_may_ask(client, headers, status):
    assert client.get("/api/state", headers=headers).status_code == status


def test_a_token_in_the_address_serves_and_a_long_body_does_not(client):
    client.headers.pop("Authorization")
    assert client.get(f"/?token={TOKEN}").status_code == 200
    assert client.get("/?token=").status_code == 403
    assert client.get("/").status_code == 403

    def drip():
        for _ in range(40):
            yield b"x" * 1000

    refused = client.post("/api/label", content=drip(), headers=AUTH)
    assert refused.status_code == 413


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("label", {"at": -1, "label": 0}),
        ("label", {"at": 10**12, "label": 0}),
        ("label", {"at": "0", "label": 0}),
        ("label", {"at": 0, "label": 99}),
        ("label", {"at": 0, "label": True}),
        ("label", {"at": 0, "label": 0, "who": "<script>"}),
        ("label", {"at": 0, "label": 0, "more": 1}),
        ("label", {"at": 0}),
        ("label", []),
        ("undo", {"who": 3}),
        ("confirm", {"at": 10**12}),
        ("confirm", {"at": 0, "right": "no"}),
    ],
)
def test_bad_answers_are_refused_and_leave_no_trace(client, session, path, body):
    if isinstance(body, dict) and path != "undo":
        body = about(session, 0) | ({"name": "north"} if path == "label" else {}) | body
    assert client.post(f"/api/{path}", json=body).status_code in (409, 422)
    assert session.journal.answers() == []


@pytest.mark.parametrize(
    "path",
    ["node/-1", "node/240", "node/x", "node/1e3", "node/5?size=301", "nodes?doubt_from=2", "state?after=-1"],
)
def test_bad_questions_are_refused(client, path):
    assert client.get(f"/api/{path}").status_code == 422


def test_a_long_search_is_refused(client):
    assert client.get("/api/search", params={"q": "x" * 201}).status_code == 422
