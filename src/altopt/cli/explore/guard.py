"""Who may ask: requests with the token, to this address, from this page; and what a browser may do with the answers."""

import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

MAX_BODY = 16_384  # bytes
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class Guard:
    """Refuses what does not come from the page itself.

    A page elsewhere can let a browser ask an address on this machine, also under a name of its own that it points here
    (DNS rebinding). So Host must be this address, Origin too where it is sent, and every request carries the token.

    Parameters
    ----------
    app : ASGI application
    token : str
    hosts : set of str
        What Host may be, with the port.
    """

    def __init__(self, app: App, token: str, hosts: set[str]) -> None:
        self.app, self.token, self.hosts = app, token, hosts

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refused = self.refusal(scope)
        if refused is not None:
            await refuse(send, *refused)
            return
        body = await whole_body(receive)
        if body is None:
            await refuse(send, 413, f"The request is longer than {MAX_BODY:,} bytes.")
            return
        await self.app(scope, replayed(body, receive), with_headers(send))

    def refusal(self, scope: Message) -> tuple[int, str] | None:
        """The status and reason of a refusal, from the headers alone."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            name = name.decode("latin-1").lower()
            if name in headers and name in ("host", "origin", "authorization", "content-length"):
                return 400, f"The header {name} comes twice."
            headers[name] = value.decode("latin-1")
        if headers.get("host") not in self.hosts:
            return 403, "This address is not the page's own."
        if "origin" in headers and headers["origin"] not in {f"http://{host}" for host in self.hosts}:
            return 403, "Other pages may not ask here."
        site = headers.get("sec-fetch-site", "same-origin")
        if site not in ("same-origin", "none") and not opens_the_page(scope, headers):
            return 403, "Other pages may not ask here."
        length = headers.get("content-length", "0")
        if not length.isdigit() or len(length) > 15 or int(length) > MAX_BODY:
            return 413, f"The request is longer than {MAX_BODY:,} bytes."
        if not self.knows_token(scope, headers):
            return 403, "The token is missing or wrong. Open the address that altopt explore printed."
        return None

    def knows_token(self, scope: Message, headers: dict[str, str]) -> bool:
        given = headers.get("authorization", "").removeprefix("Bearer ")
        if not given:
            try:
                given = parse_qs(scope["query_string"].decode("ascii"), max_num_fields=50).get("token", [""])[
                    0
                ]
            except ValueError:
                return False
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())


def opens_the_page(scope: Message, headers: dict[str, str]) -> bool:
    """Whether a tab goes to the page, from the file that altopt explore opens; the token is asked for still."""
    return (
        scope["method"] == "GET"
        and scope["path"] == "/"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


async def whole_body(receive: Receive) -> bytes | None:
    """The request's body; None where it is too long."""
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return body
        body += bytes(message.get("body", b""))
        if len(body) > MAX_BODY:
            return None
        if not message.get("more_body", False):
            return body


def replayed(body: bytes, receive: Receive) -> Receive:
    """What the application receives: the body at once, then whatever comes."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def with_headers(send: Send) -> Send:
    """Every answer with the headers that bind the browser."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *own]}
        await send(message)

    return sending


async def refuse(send: Send, status: int, reason: str) -> None:
    body = json.dumps({"detail": reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers.append((b"connection", b"close"))
    send = with_headers(send)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
