"""altopt explore: a local page to look at a stored model and to label in."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from altopt.cli.commands.predict import model_folder
from altopt.cli.console import show


def explore(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by altopt fit.")],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine. Default: a free one.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
) -> None:
    """Look at a model and label nodes in a local page.

    Search nodes, see what speaks for their labels, answer suggested ones with keys, and see what each answer changes.
    Answers are kept beside the model at once and brought into it as you go; a refit, made while you go on, teaches the
    encoder by them too. The page is for this machine alone, and for whoever has its address. Ctrl-C ends it.
    """
    import secrets
    import socket
    import threading
    import webbrowser
    from contextlib import ExitStack, suppress

    from altopt.cli.stored import refuse_stored
    from altopt.errors import InputError, require_extra
    from altopt.io.folder import read_head

    uvicorn = require_extra("uvicorn", "explore", "altopt explore")
    folder = model_folder(model)
    refuse_stored(folder, "altopt explore")
    read_head(folder, "model")

    from altopt.cli.explore.server import application
    from altopt.cli.explore.session import Session

    # with its protocol named: asyncio sends small answers at once only then
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen(128)
    except OSError as cause:
        raise InputError(f"port {port} cannot be used: {cause.strerror}. Give another --port.") from cause
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    session = Session(folder)
    hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
    config = uvicorn.Config(
        application(session, token, hosts),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
        limit_concurrency=500,
    )
    address = f"http://127.0.0.1:{port}/?token={token}"
    show(f"{address}", "The page is open to this machine alone. Ctrl-C ends it.")
    if session.refused:
        show(
            f"{len(session.refused):,} answers name nodes or classes that this model no longer has.", err=True
        )
    try:
        with ExitStack() as while_open, suppress(KeyboardInterrupt):
            if not no_browser:
                file = while_open.enter_context(redirect(address))
                threading.Timer(0.5, webbrowser.open, (file.as_uri(),)).start()
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        show(*session.close())


@contextmanager
def redirect(address: str) -> Iterator[Path]:
    """A file that leads a browser to the address, for this user alone: everyone sees what a browser is called with."""
    from tempfile import TemporaryDirectory

    from altopt.drawing.html import Html, element

    with TemporaryDirectory(prefix="altopt-") as folder:  # its mode is 0700
        file = Path(folder) / "explore.html"
        file.touch(mode=0o600)
        head = element("meta", content=f"0; url={address}", http_equiv="refresh")
        link = element("a", "Go to altopt explore", href=address)
        page = element(
            "html", element("head", element("meta", charset="utf-8"), head), element("body", link), lang="en"
        )
        file.write_text(Html("<!doctype html>\n") + page, encoding="utf-8")
        yield file
