"""altopt explore: a local page to look at a stored model and to label in."""

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
    from contextlib import suppress

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
    if not no_browser:
        threading.Timer(0.5, webbrowser.open, (address,)).start()
    try:
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        show(*session.close())
