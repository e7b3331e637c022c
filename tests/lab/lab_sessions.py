"""Sessions, example data and a running server for the tests of the lab."""

import contextlib
import http.client
import json
import socket
import threading
import warnings
from dataclasses import replace

from conftest import require

from linearly.lab.presets import preset
from linearly.lab.session import Session


def make_session(points: str, algorithm: str, **parameters: object) -> Session:
    session = Session(replace(preset(points), algorithm=algorithm, parameters={}))
    for name, value in parameters.items():
        session.handle({"do": "set_parameter", "name": name, "value": value})
    return session


def run_code(code: str) -> dict[str, object]:
    """The names that a listing leaves behind."""
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "listing", "exec"), names)
    return names


def some_frames(count: int) -> list[int]:
    return sorted({0, 1, count // 3, count // 2, count - 2, count - 1} & set(range(count)))


PETS_CSV = "id;height;weight;kind\n" + "".join(
    f"{i};{i % 7}.5;{i * 3 % 11};{'cat' if i % 2 else 'dog'}\n" for i in range(40)
)


@contextlib.contextmanager
def running_server(**options):
    for module in ("starlette", "uvicorn"):
        try:
            __import__(module)
        except ImportError:
            require(False, f"needs {module}: pip install 'linearly[lab]'")
    import uvicorn

    from linearly.lab.server import Lab, _listener

    with _listener(0) as listener:
        lab = Lab(port=listener.getsockname()[1], **options)
        server = uvicorn.Server(uvicorn.Config(lab.app(), log_level="warning", lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield lab
        finally:
            server.should_exit = True
            thread.join(10)


TAB = "0123456789abcdef"


def request(lab, method="POST", path=None, body=None, **headers):
    """Status, headers and body of a raw request; headers with a value of None are left out."""
    data = body if isinstance(body, bytes) else json.dumps(body or {"page": TAB, "do": "open"}).encode()
    data = data if method == "POST" else b""
    sent = {
        "Host": f"127.0.0.1:{lab.port}",
        "Origin": f"http://127.0.0.1:{lab.port}",
        "Content-Type": "application/json",
        "Content-Length": str(len(data)),
    }
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = [f"{method} {f'/{lab.token}/api' if path is None else path} HTTP/1.1"]
    head += [f"{name}: {value}" for name, value in sent.items() if value is not None]
    with socket.create_connection(("127.0.0.1", lab.port), timeout=20) as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode() + data)
        with contextlib.closing(http.client.HTTPResponse(connection, method=method)) as response:
            response.begin()
            return response.status, dict(response.getheaders()), response.read()


def has_module(module: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(module) is not None
