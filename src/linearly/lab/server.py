"""The lab's server: one page and one session a tab, for this machine and the holder of the link alone.

It listens on 127.0.0.1. Every request must name that host, carry the token of the link, and come from the page itself;
bodies are bounded, and a message with a field the session does not know is refused.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import socket
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from importlib import resources
from typing import TYPE_CHECKING, Any

from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.lab.session import Session
from linearly.lab.state import State

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"
LARGEST_BODY = 4 * 2**20
_MOST_SESSIONS = 16
_DEEPEST = 12
_KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Refused(Exception):
    """A request that is not answered: its status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class Lab:
    """The sessions behind one link."""

    def __init__(self, start: State | None = None, note: str = "", *, port: int = 0, token: str | None = None) -> None:
        self.port = port
        self._opening = Session(start, note)
        self.token = secrets.token_urlsafe(24) if token is None else token
        self._sessions: OrderedDict[str, tuple[Session, threading.Lock]] = OrderedDict()
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Load what a first answer loads, and make the first film, before a page asks."""
        with single_threaded_blas():
            self._opening.handle({"do": "open"})

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def app(self) -> Starlette:
        """The application that answers."""
        from starlette.applications import Starlette
        from starlette.routing import Route

        app = Starlette(
            routes=[
                Route("/{token}/api", self._api, methods=["POST"]),
                Route("/{token}/{name:path}", self._file, methods=["GET"]),
            ],
            exception_handlers={404: _refuse, 405: _refuse, Refused: _refuse},
        )
        app.router.redirect_slashes = False  # a redirect would be an answer to anybody
        return app

    async def _file(self, request: Request) -> Response:
        from starlette.responses import Response

        self._admit(request)
        name = request.path_params["name"] or "index.html"
        # A name is looked up among the files that there are, and never made into a path.
        files = {file.name: file for file in resources.files("linearly.lab").joinpath("web").iterdir()}
        kind = _KINDS.get(name.rpartition(".")[2])
        if name not in files or kind is None:
            raise Refused(404, "There is nothing here.")
        headers = _HEADERS | {"Content-Type": f"{kind}; charset=utf-8"}
        return Response(files[name].read_bytes(), headers=headers)

    async def _api(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import Response

        self._admit(request)
        if request.headers.get("origin") != f"http://{HOST}:{self.port}":
            raise Refused(403, "This request does not come from the lab's page.")
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise Refused(415, "A message is application/json.")
        message = _message(await _body(request))
        page, message = _page(message)
        session, lock = self._session(page)

        def answer() -> tuple[int, dict[str, Any]]:
            with (
                lock,
                single_threaded_blas(),
            ):  # threads that wait by spinning would take the cores that the browser draws with
                try:
                    return 200, session.handle(message)
                except ValueError as error:
                    return 400, {"error": str(error)}

        status, reply = await run_in_threadpool(answer)
        body = json.dumps(reply, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        return Response(body, status, headers=_HEADERS | {"Content-Type": "application/json"})

    def _admit(self, request: Request) -> None:
        if request.headers.getlist("host") != [f"{HOST}:{self.port}"]:
            raise Refused(421, "The lab answers to its own address only.")
        if not hmac.compare_digest(str(request.path_params["token"]).encode(), self.token.encode()):
            raise Refused(403, "The link is incomplete: open the one that the lab printed.")
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Refused(403, "This request comes from another page.")

    def _session(self, page: str) -> tuple[Session, threading.Lock]:
        with self._lock:
            if page not in self._sessions:
                while len(self._sessions) >= _MOST_SESSIONS:
                    self._sessions.popitem(last=False)
                self._sessions[page] = self._opening.anew(), threading.Lock()
            self._sessions.move_to_end(page)
            return self._sessions[page]


async def _body(request: Request) -> bytes:
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or int(length) > LARGEST_BODY:
        raise Refused(413, f"A message has at most {LARGEST_BODY} bytes.")
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > LARGEST_BODY:
            raise Refused(413, f"A message has at most {LARGEST_BODY} bytes.")
        parts.append(part)
    return b"".join(parts)


def _message(body: bytes) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no JSON")

    try:
        text = body.decode("utf-8")
        if _depth(text) > _DEEPEST:
            raise ValueError("nested too deeply")
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"The message is no JSON: {error}.") from None


def _depth(text: str) -> int:
    """How deep brackets are nested, at most; strings do not count."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", bare):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _page(message: Any) -> tuple[str, Any]:
    """Which tab speaks, and what it says."""
    if not isinstance(message, dict):
        raise Refused(400, "A message is an object.")
    page = message.get("page")
    if not isinstance(page, str) or not re.fullmatch(r"[0-9a-f]{8,32}", page):
        raise Refused(400, 'A message names its tab: "page", 8 to 32 hexadecimal digits.')
    return page, {name: value for name, value in message.items() if name != "page"}


async def _refuse(request: Request, error: Exception) -> Response:
    from starlette.responses import Response

    status = getattr(error, "status", getattr(error, "status_code", 500))
    why = getattr(error, "why", "There is nothing here.")
    body = json.dumps({"error": why}).encode()
    return Response(body, status, headers=_HEADERS | {"Content-Type": "application/json", "Connection": "close"})


def start_state(data: Any, x: str | None, y: str | None, target: str | None) -> tuple[State | None, str]:
    """The state that data begin with, and what a viewer must know about it."""
    if data is None:
        if any(name is not None for name in (x, y, target)):
            raise ValueError("x, y and target name columns of data: give the data too.")
        return None, ""
    from linearly.lab.point_import import columns_of, state_of

    return state_of(columns_of(data), x, y, target)


def serve(
    data: Any = None,
    x: str | None = None,
    y: str | None = None,
    target: str | None = None,
    port: int = 0,
    open_browser: bool = True,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Serve the lab on this machine until Ctrl-C; the link goes to stderr, and to a browser if one is wanted.

    Parameters
    ----------
    data : a file or data frame to begin with; the default is a small example.
    x, y, target : its columns: two of numbers, and the labels (2 to 6 of them). By default they are chosen.
    port : 0 for any that is free.
    open_browser : whether to open the page.
    announce : called with the link, once the page can be had.
    """
    try:
        import uvicorn
    except ImportError:
        raise ImportError("The lab needs starlette and uvicorn: pip install 'linearly[lab]'") from None
    state, note = start_state(data, x, y, target)
    with _listener(port) as listener:
        lab = Lab(state, note, port=listener.getsockname()[1])
        config = uvicorn.Config(
            lab.app(), log_level="warning", access_log=False, lifespan="off", server_header=False, date_header=False,
            timeout_graceful_shutdown=2, ws="none",
        )  # fmt: skip
        lab.warm()
        print(f"The lab is at {lab.url}\nCtrl-C ends it.", file=sys.stderr, flush=True)
        if announce is not None:
            announce(lab.url)
        if open_browser:
            import webbrowser

            threading.Thread(target=webbrowser.open, args=(lab.url,), daemon=True).start()
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])
        print("The lab is closed.", file=sys.stderr, flush=True)


def _listener(port: int) -> socket.socket:
    # Of a socket that does not say TCP, asyncio leaves small packets waiting for each other: 40 ms an answer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise ValueError(f"Port {port} cannot be used ({error}): choose another, or 0 for any that is free.") from None
    listener.listen(64)
    return listener
