"""The local page over a labelling session: what it asks for and what it is told, as an ASGI application."""

import csv
import io
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Annotated, Any

import numpy as np

from altopt import __version__
from altopt.cli.explore import neighbourhood as near
from altopt.cli.explore.effect import Effect
from altopt.cli.explore.guard import Guard
from altopt.cli.explore.nodes import MAX_HITS, Index, listed, record
from altopt.cli.explore.session import Session
from altopt.drawing.html import Html, element
from altopt.drawing.palette import class_colours
from altopt.errors import InputError, require_extra
from altopt.fitted.picture import name_of
from altopt.graph.validation import UNKNOWN

N_THREADS = 4  # that answer: they take turns, and each keeps memory of its own
N_LATEST = 50  # answers that a tab is told of at once
MAX_ID, MAX_SKIPPED = 200, 10_000  # characters of a search or name, nodes skipped
REFUSALS: dict[int | str, str] = {
    400: "The body is no JSON, or a header comes twice.",
    403: "The token is missing or wrong, or another page asks.",
    413: "The body is too long.",
    409: "The model has other nodes or classes than the page that asks.",
    422: "A value is not of its kind, or names what does not exist.",
}
CHANGED = (
    "Another process put a model with other nodes or classes into the folder: nothing was recorded. This page now "
    "shows that model; answer again."
)
ASSETS = {"altopt.js": "text/javascript", "altopt.css": "text/css"}


def application(session: Session, token: str, hosts: set[str]) -> Guard:
    """The application, guarded."""
    require_extra("fastapi", "explore", "altopt explore")
    from fastapi import FastAPI, HTTPException, Path, Query, Request
    from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
    from pydantic import BaseModel, ConfigDict, Field

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        import anyio.to_thread

        anyio.to_thread.current_default_thread_limiter().total_tokens = N_THREADS
        yield

    app = FastAPI(
        title="altopt explore",
        lifespan=lifespan,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        responses={status: {"description": reason} for status, reason in REFUSALS.items()},
    )
    searched = Searched(session)
    At = Annotated[int, Path(ge=0, le=2**53)]
    Who = Annotated[str, Field(default="", max_length=64, pattern=r"^[A-Za-z0-9-]*$")]

    class Whose(BaseModel):
        """Who does it: any name that a tab gives itself."""

        model_config = ConfigDict(extra="forbid", strict=True)
        who: Who = ""

    class OfNode(Whose):
        """About which node: its number and its name, and the numbering that the page knows, as /api/model gave them."""

        at: int = Field(ge=0, le=2**53)
        node: str = Field(max_length=MAX_ID)
        numbering: int = Field(ge=0, le=2**53)

    class Answered(OfNode):
        """A node's label as a class number and the name of the class; null takes it back."""

        label: int | None = Field(ge=0, le=2**31)
        name: str | None = Field(max_length=MAX_ID)

    class Confirmed(OfNode):
        """Whether the given label is right."""

        right: bool = True

    def check_same(of: OfNode) -> None:
        """Refuse what was asked about another model."""
        at = session.check(of.at) if of.numbering == session.numbering else None
        if at is None or of.node != name_of(session.name(at)):
            raise HTTPException(409, CHANGED)

    @app.exception_handler(InputError)
    def refused(request: Request, error: InputError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, status_code=422)

    @app.get("/", response_class=HTMLResponse)
    def page() -> str:
        return skeleton(token)

    @app.get("/assets/{name}", responses={404: {}})
    def asset(name: str) -> Response:
        if name not in ASSETS:
            raise HTTPException(404, "No such file.")
        content = files("altopt.drawing").joinpath("bundle", name).read_bytes()
        return Response(content, media_type=f"{ASSETS[name]}; charset=utf-8")

    @app.get("/api/model")
    def model() -> dict[str, Any]:
        with session.lock:
            return described(session) | state(session, 0)

    @app.get("/api/state")
    def now(after: Annotated[int, Query(ge=0, le=2**53)] = 0) -> dict[str, Any]:
        with session.lock:
            return state(session, after)

    @app.get("/api/search")
    def search(q: Annotated[str, Query(max_length=MAX_ID)]) -> list[dict[str, Any]]:
        with session.lock:
            return [record(session, at) for at in searched.index().find(q, 20)]

    @app.get("/api/nodes")
    def nodes(
        label: Annotated[int | None, Query(ge=0, le=2**31)] = None,
        given: bool | None = None,
        suspicious: bool = False,
        doubt_from: Annotated[float, Query(ge=0, le=1)] = 0.0,
        doubt_to: Annotated[float, Query(ge=0, le=1)] = 1.0,
        sure_first: bool = False,
        first: Annotated[int, Query(ge=0, le=10**6)] = 0,
    ) -> dict[str, Any]:
        with session.lock:
            n, found = listed(
                session, label, given, suspicious, doubt_from, doubt_to, sure_first, first, MAX_HITS
            )
            return {"n": n, "nodes": [record(session, at) for at in found]}

    @app.get("/api/node/{at}")
    def node(at: At, size: Annotated[int, Query(ge=1, le=near.MAX_NODES)] = 60) -> dict[str, Any]:
        with session.lock:
            return near.neighbourhood(session, session.check(at), size)

    @app.get("/api/node/{at}/columns")
    def columns(at: At) -> dict[str, Any]:
        with session.lock:
            return near.columns_that_spoke(session, session.check(at))

    @app.get("/api/queue")
    def queue(skipped: Annotated[int, Query(ge=0, le=MAX_SKIPPED)] = 0) -> list[dict[str, Any]]:
        session.suggestions(skipped)  # which may take a while, and holds nobody up
        with session.lock:
            return [record(session, at) | {"gain": round(gain, 3)} for at, gain in session.unanswered()]

    @app.get("/api/suspicious")
    def suspicious(confirmed: bool = False) -> list[dict[str, Any]]:
        with session.lock:
            found = session.suspicious(confirmed)[:100]
            return [record(session, at) | {"instead": code, "margin": round(m, 4)} for at, code, m in found]

    @app.post("/api/label")
    def label(answer: Answered) -> dict[str, Any]:
        code = UNKNOWN if answer.label is None else answer.label
        with session.lock:
            check_same(answer)
            if code < len(session.classes) and answer.name != class_name(session, code):
                raise HTTPException(409, CHANGED)
            return told(session, session.label(answer.at, code, answer.who))

    @app.post("/api/undo")
    def undo(whose: Whose) -> dict[str, Any]:
        with session.lock:
            return told(session, session.undo(whose.who))

    @app.post("/api/confirm")
    def confirm(of: Confirmed) -> dict[str, Any]:
        with session.lock:
            check_same(of)
            session.confirm(of.at, of.who, of.right)
        return {"at": of.at}

    @app.post("/api/refit")
    def refit(whose: Whose) -> dict[str, Any]:
        session.refit()
        return refit_state(session)

    @app.get("/api/export/{what}.csv", responses={404: {}})
    def export(what: str) -> StreamingResponse:
        if what not in ("labels", "predictions"):
            raise HTTPException(404, "Only labels.csv and predictions.csv can be had.")
        lines = exported_labels(session) if what == "labels" else exported_predictions(session)
        name = {"content-disposition": f'attachment; filename="{what}.csv"'}
        return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=name)

    return Guard(app, token, hosts)


class Searched:
    """The index of ids of the model in use."""

    def __init__(self, session: Session) -> None:
        self.session, self.numbering, self.made = session, -1, Index([])

    def index(self) -> Index:
        if self.numbering != self.session.numbering:
            self.made, self.numbering = Index(self.session.ids.tolist()), self.session.numbering
        return self.made


def class_name(session: Session, code: int) -> str | None:
    return None if code == UNKNOWN else name_of(session.classes[code])


def skeleton(token: str) -> str:
    """The page: the front end builds the rest."""
    head = (
        element("meta", charset="utf-8"),
        element("title", "altopt explore"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("link", rel="icon", href="data:,"),
        element("link", rel="stylesheet", href=f"/assets/altopt.css?token={token}"),
        element("script", src=f"/assets/altopt.js?token={token}", defer=True),
    )
    body = element("body", element("main", element("p", "Loading the model …"), id="app", class_="explore"))
    return Html("<!doctype html>\n") + element(
        "html", element("head", head), body, lang="en", data_page="explore"
    )


def described(session: Session) -> dict[str, Any]:
    """What stays as it is: sizes, classes and their colours, and what the fit said of itself."""
    fitted = session.fitted
    sizes = [int((fitted.labels == code).sum()) for code in range(len(session.classes))]
    held_out = fitted.leave_one_out
    return {
        "name": session.folder.resolve().parent.name
        if session.folder.name == "model"
        else session.folder.name,
        "n_nodes": fitted.n_nodes,
        "n_edges": fitted.last_graph.n_edges,
        "classes": [name_of(name) for name in session.classes],
        "colours": class_colours(sizes),
        "held_out": None if isinstance(held_out, str) else held_out.in_words(),
    }


def state(session: Session, after: int) -> dict[str, Any]:
    """What changes: the answers since one of them, and the expected accuracy."""
    answers = session.journal.latest(after, N_LATEST)
    return {
        "number": answers[-1].number if answers else after,
        "answers": [
            {"at": at, "label": session.codes_of.get(row.label, UNKNOWN), "who": row.who}
            for row in answers
            if (at := session.find(row.node)) is not None
        ],
        "n_labels": int(session.fitted.labelled.sum()),
        "expected": round(session.expected(), 6),
        "curve": [[n, round(e, 6)] for n, e in (session.journal.curve() if answers or not after else [])],
        "unstored": len(session.pending),
        "numbering": session.numbering,
        "not_taken": {
            "n": len(session.refused),
            "nodes": [name_of(json.loads(node)) for node in session.refused[:5]],
        },
        "notices": {"n": len(session.notices), "last": session.notices[-1] if session.notices else ""},
        "refit": refit_state(session),
    }


def refit_state(session: Session) -> dict[str, Any]:
    """Labels that the encoder has not learnt from, and what the refit is doing or came to."""
    with session.lock:
        refit = session.refitting
        return {
            "version": session.version,
            "untaught": session.n_untaught(),
            "running": refit is not None and refit.running,
            "said": "" if refit is None else refit.said,
        }


def told(session: Session, effect: Effect) -> dict[str, Any]:
    """What an answer did, in words for the page."""
    return {
        "number": effect.number,
        "node": record(session, effect.at),
        "moved": [move._asdict() for move in effect.moved],
        "n_moved": effect.n_moved,
        "n_changed": effect.n_changed,
        "n_labels": int(session.fitted.labelled.sum()),
        "expected": round(session.expected(), 6),
    }


def exported_labels(session: Session) -> Iterator[str]:
    """node,label of every given label."""
    with session.lock:
        rows = near.given_labels(session)
    yield from as_csv([("node", "label"), *rows])


def exported_predictions(session: Session, block: int = 5000) -> Iterator[str]:
    """node,label,given,confidence,p_<class>... of every node."""
    fitted, ids, classes = (
        session.fitted,
        session.ids,
        session.classes,
    )  # of one model, whatever is loaded meanwhile
    names = [f"p_{name}" for name in classes]
    yield from as_csv([("node", "label", "given", "confidence", *names)])
    for first in range(0, fitted.n_nodes, block):
        with session.lock:
            nodes = np.arange(first, min(first + block, fitted.n_nodes))
            P = fitted.readout.soften(fitted.scores[nodes], fitted.kinds(nodes))
            rows = [
                (
                    ids.item(at),
                    classes[int(fitted.labels[at])],
                    "yes" if fitted.codes[at] != UNKNOWN else "no",
                    f"{float(fitted.confidence[at]):.6f}",
                    *(f"{float(p):.6f}" for p in P[k]),
                )
                for k, at in enumerate(nodes.tolist())
            ]
        yield from as_csv(rows)


def as_csv(rows: list[Any]) -> Iterator[str]:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    yield out.getvalue()
