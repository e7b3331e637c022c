"""The server answers its owner and nobody else."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import require
from lab_sessions import PETS_CSV, TAB, has_module, request, running_server

from linearly.lab import bundle_js

WEB = Path(bundle_js.__file__).parent / "web"
SCRIPTS = {path.name for path in WEB.glob("*.js")}


def test_listener_socket_names_tcp():
    # asyncio sends at once only on sockets that do; answers took 40 ms longer on one that did not.
    from linearly.lab.server import _listener

    with _listener(0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.fixture(scope="module")
def lab():
    with running_server() as lab:
        yield lab


def test_page_and_api_answer_the_owner(lab):
    status, headers, body = request(lab, "GET", f"/{lab.token}/")
    assert status == 200
    assert b"linearly lab" in body
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(rb"https?://(?!www\.w3\.org)", body)
    for name in SCRIPTS | {"lab.css"}:
        status, headers, body = request(lab, "GET", f"/{lab.token}/{name}")
        assert status == 200
        assert not re.search(rb"https?://(?!www\.w3\.org)", body), "the page loads nothing from elsewhere"
    status, _, body = request(lab)
    assert status == 200
    assert json.loads(body)["state"]["algorithm"] == "perceptron"


REFUSED = {
    "foreign host": (421, {"Host": "evil.example"}, None),
    "localhost by name": (421, {"Host": "localhost"}, None),
    "foreign origin": (403, {"Origin": "http://evil.example"}, None),
    "origin of another port": (403, {"Origin": "http://127.0.0.1:1"}, None),
    "no origin": (403, {"Origin": None}, None),
    "null origin": (403, {"Origin": "null"}, None),
    "from another page": (403, {"Sec_Fetch_Site": "cross-site"}, None),
    "plain text": (415, {"Content_Type": "text/plain"}, None),
    "no JSON": (400, {}, b"{"),
    "no UTF-8": (400, {}, b"\xff\xfe"),
    "not a number": (400, {}, b'{"page": "0123456789abcdef", "do": "add", "x": NaN, "y": 0, "label": 0}'),
    "deep": (400, {}, b'{"page": "0123456789abcdef", "do": "open", "x": ' + b"[" * 50000 + b"]" * 50000 + b"}"),
    "a list": (400, {}, b"[]"),
    "no page": (400, {}, b'{"do": "open"}'),
    "a strange page": (400, {}, b'{"page": "../x", "do": "open"}'),
    "unknown field": (400, {}, b'{"page": "0123456789abcdef", "do": "undo", "extra": 1}'),
    "unknown action": (400, {}, b'{"page": "0123456789abcdef", "do": "eval"}'),
    "oversize": (413, {}, b'"' + b"a" * (5 * 2**20) + b'"'),
}


@pytest.mark.parametrize("why", REFUSED)
def test_foreign_or_malformed_requests_are_refused(lab, why):
    status, headers, body = REFUSED[why]
    try:
        found, told, reply = request(lab, body=body, **headers)
    except (ConnectionError, http.client.HTTPException):
        assert why == "oversize"  # the server closed the connection before it was sent
        return
    assert found == status
    assert json.loads(reply)["error"].endswith(".")
    assert "content-security-policy" in told
    assert b"Traceback" not in reply


def test_request_without_a_host_is_refused(lab):
    status, _, reply = request(lab, **{"Host": None})
    assert status == 400
    assert b"Traceback" not in reply


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("token", ["", "x" * 32, "%00"])
def test_requests_without_the_token_are_refused(lab, method, token):
    for name in ("", "api", "lab.js"):
        status, _, body = request(lab, method, f"/{token}/{name}")
        assert status in (403, 404, 405)
        assert b"import" not in body
    assert request(lab, "GET", "/")[0] == 404


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_requests_are_never_redirected(lab, method):
    # A redirect names the host that was asked for, whoever asked.
    status, headers, _ = request(lab, method, "/api", Host="evil.example")
    assert status == 404
    assert "location" not in headers


@pytest.mark.parametrize("name", ["server.py", "../server.py", "%2e%2e/server.py", "web/lab.js", "..%2fsession.py"])
def test_other_files_are_not_served(lab, name):
    assert request(lab, "GET", f"/{lab.token}/{name}")[0] == 404


def test_chunked_body_is_limited(lab):
    connection = http.client.HTTPConnection("127.0.0.1", lab.port, timeout=20)
    headers = {"Origin": f"http://127.0.0.1:{lab.port}", "Content-Type": "application/json"}
    endless = (b"a" * 2**16 for _ in range(200))
    try:
        connection.request("POST", f"/{lab.token}/api", endless, headers, encode_chunked=True)
        assert connection.getresponse().status == 413
    except (ConnectionError, http.client.HTTPException):
        pass  # it hung up on us
    finally:
        connection.close()


def test_tabs_have_separate_sessions(lab):
    request(lab, body={"page": "aaaaaaaaaaaaaaaa", "do": "clear"})
    other = json.loads(request(lab, body={"page": "bbbbbbbbbbbbbbbb", "do": "open"})[2])
    assert len(other["state"]["points"]) > 10
    mine = json.loads(request(lab, body={"page": "aaaaaaaaaaaaaaaa", "do": "set_view"})[2])
    assert mine["state"]["points"] == []


def test_server_listens_on_loopback_only(lab):
    with socket.socket() as other:
        other.settimeout(5)
        assert other.connect_ex(("127.0.0.1", lab.port)) == 0
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1"} - {a for a in addresses if a.startswith("127.")}:
        with socket.socket() as other:
            other.settimeout(5)
            assert other.connect_ex((address, lab.port)) != 0


def test_tokens_are_long_and_different():
    require(has_module("starlette"), "needs starlette: pip install 'linearly[lab]'")
    from linearly.lab.server import Lab

    tokens = {Lab().token for _ in range(50)}
    assert len(tokens) == 50
    assert min(map(len, tokens)) >= 32


@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
def test_ctrl_c_stops_the_server_cleanly(tmp_path):
    require(has_module("uvicorn"), "needs uvicorn: pip install 'linearly[lab]'")
    (tmp_path / "pets.csv").write_text(PETS_CSV, encoding="utf-8")
    code = (
        "from linearly.lab.server import serve; "
        f"serve({str(tmp_path / 'pets.csv')!r}, x='height', y='weight', target='kind', open_browser=False)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        port, token = re.search(r"http://127\.0\.0\.1:(\d+)/([\w-]+)/", line).groups()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)) as connection:
            body = json.dumps({"page": TAB, "do": "open"})
            headers = {"Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json"}
            connection.request("POST", f"/{token}/api", body, headers)  # it listens before it says so
            reply = json.loads(connection.getresponse().read())
        assert reply["state"]["names"] == ["height", "weight"]
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.stderr.close()
        process.wait()
    assert "Traceback" not in rest
    assert rest.endswith("The lab is closed.\n")


def test_port_in_use_raises():
    require(has_module("uvicorn"), "needs uvicorn: pip install 'linearly[lab]'")
    from linearly.lab.server import serve

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ValueError, match=f"Port {taken.getsockname()[1]} cannot be used"):
            serve(port=taken.getsockname()[1], open_browser=False)


def test_start_state_columns_without_data_raises():
    from linearly.lab.server import start_state

    with pytest.raises(ValueError, match="Pass data too"):
        start_state(None, "a", None, None)
