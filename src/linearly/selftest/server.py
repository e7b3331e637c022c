"""Start the lab's server and check that it answers only to the holder of its link on this machine."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple

from linearly.selftest import ProgressCallback, Result, list_faults, not_run
from linearly.selftest.kill_tests import PATIENCE, PYTHON

PAGE = "0123456789abcdef"
ANSWER = 60.0  # seconds within which a request is answered or refused
SERVE = """
from linearly.lab.server import serve
serve(open_browser=False, announce=lambda url: print(url, flush=True))
"""


class Lab(NamedTuple):
    """A running lab."""

    process: subprocess.Popen[str]
    port: int
    token: str


class Request(NamedTuple):
    """A request that must be refused: what differs from the page's own, and the status that is expected."""

    status: tuple[int, ...]
    headers: dict[str, str | None] = {}  # noqa: RUF012 (never changed)
    body: bytes | None = None
    path: str = "/{token}/api"
    method: str = "POST"


def message(rest: str) -> bytes:
    """Return a message of the page's own tab."""
    return f'{{"page": "{PAGE}", {rest}}}'.encode()


FOREIGN = {
    "host of another site": Request((421,), {"Host": "evil.example"}),
    "localhost by name": Request((421,), {"Host": "localhost"}),
    "no host": Request((400, 421), {"Host": None}),
    "origin of another site": Request((403,), {"Origin": "http://evil.example"}),
    "origin of another port": Request((403,), {"Origin": "http://127.0.0.1:1"}),
    "null origin": Request((403,), {"Origin": "null"}),
    "no origin": Request((403,), {"Origin": None}),
    "fetched by another site": Request((403,), {"Sec-Fetch-Site": "cross-site"}),
}
WITHOUT_TOKEN = {
    f"{method} {path}": Request((403, 404, 405), path=path, method=method)
    for method in ("GET", "POST")
    for path in ("/", "/api", "//", f"/{'x' * 32}/", f"/{'x' * 32}/api", f"/{'x' * 32}/lab.js", "/%00/lab.js")
} | {
    name: Request((404,), path=f"/{{token}}/{name}", method="GET")
    for name in ("server.py", "../server.py", "%2e%2e/server.py", "web/lab.js", "..%2fsession.py")
}
OVERSIZE = {
    "5 MB": Request((413,), body=b'"' + b"a" * (5 * 2**20) + b'"'),
    "a length of 1e15": Request((413,), {"Content-Length": "1000000000000000"}, b"{}"),
}
UNKNOWN = {
    "unknown field": Request((400,), body=message('"do": "undo", "extra": 1')),
    "unknown action": Request((400,), body=message('"do": "eval"')),
    "no action": Request((400,), body=message('"to": 1')),
    "not a number": Request((400,), body=message('"do": "add", "x": NaN, "y": 0, "label": 0')),
    "nested 50,000 deep": Request((400,), body=message('"do": "open", "x": ' + "[" * 50_000 + "]" * 50_000)),
    "no JSON": Request((400,), body=b"{"),
    "no UTF-8": Request((400,), body=b"\xff\xfe"),
    "a list": Request((400,), body=b"[]"),
    "no tab": Request((400,), body=b'{"do": "open"}'),
    "a strange tab": Request((400,), body=b'{"page": "../x", "do": "open"}'),
    "plain text": Request((415,), {"Content-Type": "text/plain"}),
}
REFUSED = {
    "requests with a foreign Host or Origin": FOREIGN,
    "requests without a token, or for a file outside the page": WITHOUT_TOKEN,
    "request bodies that are too large": OVERSIZE,
    "unknown fields, and request bodies that are not messages": UNKNOWN,
}


def results(long: bool, progress: ProgressCallback) -> Iterator[Result]:
    """Yield the requests that a running lab should refuse, the one it should answer, and how it ends."""
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        needs = f"{' and '.join(missing)}: pip install 'linearly[lab]'"
        for what in REFUSED:
            yield not_run(what, "all refused", needs)
        return
    with run_lab() as lab:
        status, _, body = send(lab, Request((200,)))
        answered = status == 200 and "state" in json.loads(body)
        yield Result("the page's own message", "answered" if answered else f"status {status}", "answered", answered)
        for done, (what, requests) in enumerate(REFUSED.items(), start=1):
            yield _check_refusals(lab, what, requests)
            progress(done, len(REFUSED) + 1)
        yield _check_other_address(lab)
        if sys.platform != "win32":
            lab.process.send_signal(signal.SIGINT)
            code = lab.process.wait(PATIENCE)
            yield Result("Ctrl-C ends the server", f"exit code {code}", "0", code == 0)


@contextmanager
def run_lab() -> Iterator[Lab]:
    """Run a lab in a process of its own."""
    command = [*PYTHON, "-c", SERVE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([\w-]+)/\n", process.stdout.readline())
            if found is None:
                raise RuntimeError("The lab did not start, or not on 127.0.0.1.")
            yield Lab(process, int(found[1]), found[2])
        finally:
            process.kill()


def send(lab: Lab, request: Request) -> tuple[int, dict[str, str], bytes]:
    """Send a raw request; return status, headers and body of the answer. Headers of None are left out."""
    body = message('"do": "open"') if request.body is None else request.body
    sent = {
        "Host": f"127.0.0.1:{lab.port}",
        "Origin": f"http://127.0.0.1:{lab.port}",
        "Content-Type": "application/json",
        **({"Content-Length": str(len(body))} if request.method == "POST" else {}),
        **request.headers,
    }
    head = [f"{request.method} {request.path.replace('{token}', lab.token)} HTTP/1.1"]
    head += [f"{name}: {value}" for name, value in sent.items() if value is not None]
    # Head and body at once: a server that refuses the head hangs up on a body that is still to come.
    raw = "\r\n".join([*head, "", ""]).encode() + (body if request.method == "POST" else b"")
    with socket.create_connection(("127.0.0.1", lab.port), timeout=ANSWER) as connection:
        connection.sendall(raw)
        with closing(http.client.HTTPResponse(connection, method=request.method)) as answer:
            answer.begin()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


def _check_refusals(lab: Lab, what: str, requests: dict[str, Request]) -> Result:
    answered = []
    for name, request in requests.items():
        try:
            status, _, body = send(lab, request)
        except TimeoutError:
            answered.append(f"{name} (waited for)")
            continue
        except (ConnectionError, http.client.HTTPException):
            if 413 not in request.status:  # a body that is too large may be cut off before it was sent
                answered.append(f"{name} (hung up)")
            continue
        if status not in request.status or b"Traceback" in body:
            answered.append(f"{name} ({status})")
    figure = f"{len(requests) - len(answered)} of {len(requests)} refused{list_faults(answered, None, ': not ', ', ')}"
    return Result(what, figure, "all refused", not answered)


def _check_other_address(lab: Lab) -> Result:
    """Check that the port is closed at other addresses of this machine than 127.0.0.1."""
    what, required = "port of the lab at this machine's other address", "closed"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; determines which address would be used
            address = probe.getsockname()[0]
        except OSError:
            return not_run(what, required, "another address than 127.0.0.1")
    with socket.socket() as other:
        other.settimeout(ANSWER)
        reached: Any = other.connect_ex((address, lab.port)) == 0
    return Result(what, "open" if reached else "closed", required, not reached)
