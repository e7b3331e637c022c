"""Serve the lab's page on this machine: one session per browser tab.

The server listens on 127.0.0.1. Every request must name that host, carry the token of the link and come from the page
itself. The size of a request is limited, and a message with an unknown field is refused.
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

from linearly.kernels.blas_threads import single_threaded_blas
from linearly.lab.point_import import read_columns, state_from_columns
from linearly.lab.session import Session
from linearly.lab.state import State

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"
MAX_BODY_BYTES = 4 * 2**20
_MAX_SESSIONS = 16
_MAX_DEPTH = 12
_CONTENT_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
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


class RequestRefused(Exception):
    """A request that is refused: its status and the reason."""

    def __init__(self, status_code: int, reason: str) -> None:
        super().__init__(reason)
        self.status_code, self.reason = status_code, reason


class Lab:
    """The sessions behind one link."""

    def __init__(self, start: State | None = None, note: str = "", *, port: int = 0, token: str | None = None) -> None:
        self.port = port
        self._opening = Session(start, note)
        self.token = secrets.token_urlsafe(24) if token is None else token
        self._sessions: OrderedDict[str, tuple[Session, threading.Lock]] = OrderedDict()
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Load what the first reply needs and compute the first animation before a page requests it."""
        with single_threaded_blas():
            self._opening.handle({"do": "open"})

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def app(self) -> Starlette:
        """Return the web application."""
        from starlette.applications import Starlette
        from starlette.routing import Route

        app = Starlette(
            routes=[
                Route("/{token}/api", self._api, methods=["POST"]),
                Route("/{token}/{name:path}", self._file, methods=["GET"]),
            ],
            exception_handlers={404: _refuse, 405: _refuse, RequestRefused: _refuse},
        )
        app.router.redirect_slashes = False  # a redirect would reveal the server to requests without the token
        return app

    async def _file(self, request: Request) -> Response:
        from starlette.responses import Response

        self._check_request(request)
        name = request.path_params["name"] or "index.html"
        # The name is looked up among the existing files and never made into a path.
        files = {file.name: file for file in resources.files("linearly.lab").joinpath("web").iterdir()}
        kind = _CONTENT_TYPES.get(name.rpartition(".")[2])
        if name not in files or kind is None:
            raise RequestRefused(404, "The lab has no such page. Open the link that the lab printed.")
        headers = _HEADERS | {"Content-Type": f"{kind}; charset=utf-8"}
        return Response(files[name].read_bytes(), headers=headers)

    async def _api(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import Response

        self._check_request(request)
        if request.headers.get("origin") != f"http://{HOST}:{self.port}":
            raise RequestRefused(403, "The request does not come from the lab's page.")
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise RequestRefused(415, "The content type must be application/json.")
        page, message = _split_page(_parse_json(await _read_body(request)))
        session, lock = self._session(page)

        def answer() -> tuple[int, dict[str, Any]]:
            # BLAS threads that spin while they wait would take the cores that the browser draws with.
            with lock, single_threaded_blas():
                try:
                    return 200, session.handle(message)
                except ValueError as error:
                    return 400, {"error": str(error)}

        status, reply = await run_in_threadpool(answer)
        body = json.dumps(reply, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        return Response(body, status, headers=_HEADERS | {"Content-Type": "application/json"})

    def _check_request(self, request: Request) -> None:
        if request.headers.getlist("host") != [f"{HOST}:{self.port}"]:
            raise RequestRefused(421, "The Host header is not the address of the lab.")
        if not hmac.compare_digest(str(request.path_params["token"]).encode(), self.token.encode()):
            raise RequestRefused(403, "The link is incomplete. Open the link that the lab printed.")
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise RequestRefused(403, "The request comes from another page.")

    def _session(self, page: str) -> tuple[Session, threading.Lock]:
        with self._lock:
            if page not in self._sessions:
                while len(self._sessions) >= _MAX_SESSIONS:
                    self._sessions.popitem(last=False)
                self._sessions[page] = self._opening.restarted(), threading.Lock()
            self._sessions.move_to_end(page)
            return self._sessions[page]


async def _read_body(request: Request) -> bytes:
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MAX_BODY_BYTES:
        raise RequestRefused(413, f"The message exceeds {MAX_BODY_BYTES} bytes. Send a shorter message.")
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise RequestRefused(413, f"The message exceeds {MAX_BODY_BYTES} bytes. Send a shorter message.")
        parts.append(part)
    return b"".join(parts)


def _parse_json(body: bytes) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not a JSON number")

    try:
        text = body.decode("utf-8")
        if _depth(text) > _MAX_DEPTH:
            raise RequestRefused(
                400, f"The message nests brackets more than {_MAX_DEPTH} deep. Send a flatter message."
            )
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(400, f"The message is not valid JSON: {error}. Correct it.") from None


def _depth(text: str) -> int:
    """Return how deep brackets are nested outside strings."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", bare):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _split_page(message: Any) -> tuple[str, Any]:
    """Return the identifier of the tab, and the message without it."""
    if not isinstance(message, dict):
        raise RequestRefused(400, "The message must be a JSON object.")
    page = message.get("page")
    if not isinstance(page, str) or not re.fullmatch(r"[0-9a-f]{8,32}", page):
        raise RequestRefused(400, 'The message must contain "page", 8 to 32 hexadecimal digits.')
    return page, {name: value for name, value in message.items() if name != "page"}


async def _refuse(request: Request, error: Exception) -> Response:
    from starlette.responses import Response

    reason = (
        error.reason
        if isinstance(error, RequestRefused)
        else "The lab has no such page. Open the link that the lab printed."
    )
    status: int = error.status_code  # type: ignore[attr-defined]  # starlette's own exceptions have it too
    body = json.dumps({"error": reason}).encode()
    return Response(body, status, headers=_HEADERS | {"Content-Type": "application/json", "Connection": "close"})


def start_state(data: Any, x: str | None, y: str | None, target: str | None) -> tuple[State | None, str]:
    """Return the points of the data and a note about them; None without data."""
    if data is None:
        if any(name is not None for name in (x, y, target)):
            raise ValueError("x, y and target require data. Pass data too.")
        return None, ""
    return state_from_columns(read_columns(data), x, y, target)


def serve(
    data: Any = None,
    x: str | None = None,
    y: str | None = None,
    target: str | None = None,
    port: int = 0,
    open_browser: bool = True,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Serve the lab on this machine until Ctrl-C. The link is printed to standard error.

    Parameters
    ----------
    data : path or data frame, optional
        Points to begin with. The default is a small example.
    x, y, target : str, optional
        Columns of the data: two numeric ones, and one with 2 to 6 labels. By default they are chosen.
    port : int, default=0
        Port to listen on; 0 picks a free port.
    open_browser : bool, default=True
        If True, open the page in a browser.
    announce : callable, optional
        Called with the link as soon as the page can be loaded.
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
    # asyncio sends small packets at once only on sockets that name TCP; otherwise each reply takes 40 ms longer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise ValueError(f"Port {port} cannot be used ({error}). Choose another port, or 0 for a free one.") from None
    listener.listen(64)
    return listener
