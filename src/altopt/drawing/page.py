"""A page in one file: markup, data, style and script together, and nothing that a browser would fetch."""

import json
from base64 import b64encode
from functools import cache
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any

from altopt.drawing.html import Html, element, join, text

BUNDLE = Path(__file__).with_name("bundle")


@cache
def bundle(name: str) -> str:
    """A file of the front end, as `frontend/` builds it: altopt.js or altopt.css."""
    return (BUNDLE / name).read_text(encoding="utf-8")


def page(title: str, body: Html, data: dict[str, Any], kind: str = "report") -> str:
    """The whole page; `data` are values for the script, by the id it looks for.

    The page's own policy lets no script run but the front end's, whatever names the data hold.
    """
    script = "\n" + bundle("altopt.js").replace("</script", "<\\/script")
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{allowed}'; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = join(
        element("meta", charset="utf-8"),
        Html("\n"),
        element("title", title),
        Html("\n"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("link", rel="icon", href="data:,"),
        element("style", Html(bundle("altopt.css"))),
    )
    values = [
        element("script", as_json(value), type="application/json", id=name) for name, value in data.items()
    ]
    return (
        f'<!doctype html>\n<html lang="en" data-page="{text(kind)}">\n<head>\n{head}\n</head>\n<body>\n{body}\n'
        f"{join(values)}\n<script>{script}</script>\n</body>\n</html>\n"
    )


def as_json(value: Any) -> Html:
    """JSON that cannot end the script it stands in; what is no finite number becomes null.

    >>> as_json(["</script>", float("nan")])
    '["\\\\u003c/script\\\\u003e",null]'
    """
    written = json.dumps(finite(value), separators=(",", ":"), allow_nan=False, default=str)
    for sign in "<>&":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return Html(written)


def finite(value: Any) -> Any:
    """The same value with None in place of NaN and infinity."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return value
