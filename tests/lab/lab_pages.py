"""The lab in a real browser, for the tests: fixtures and the moves of a viewer."""

import base64
import contextlib
import json
import shutil
import zlib

import pytest
from conftest import require
from lab_sessions import running_server

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
WAIT = 60_000  # milliseconds: a busy machine is not a broken page


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    require(chromium, "needs Chromium: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        require(False, "needs playwright: pip install 'linearly[test]'")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def lab():
    with running_server() as lab:
        yield lab


@contextlib.contextmanager
def opened(browser, url, refused=False, **options):
    """A page that must not complain, unless of a message that was refused."""
    complaints = []
    context = browser.new_context(**({"viewport": {"width": 1280, "height": 800}} | options))
    page = context.new_page()
    page.set_default_timeout(WAIT)
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else 0)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        page.goto(url)
        page.wait_for_selector("[data-ready=true]")
        rest(page)
        yield page
        complaints = [one for one in complaints if not (refused and "status of 400" in one)]
        assert not complaints, complaints
    finally:
        context.close()


@pytest.fixture
def page(browser, lab):
    with opened(browser, lab.url) as page:
        yield page


def place(page, x, y):
    """Pixels of a point of the plane."""
    script = """([x, y]) => {
        const plane = document.querySelector('.linearly-lab').lab.main, box = plane.svg.getBoundingClientRect();
        return [box.left + plane.X(x), box.top + plane.Y(y)];
    }"""
    return page.evaluate(script, [x, y])


def click(page, x, y, **options):
    page.mouse.click(*place(page, x, y), **options)


def count(page):
    return page.locator("#plot .point").count()


def settled(page, expression, argument=None):
    page.wait_for_function(expression, arg=argument)


def wait_until_link_contains_the_state(page):
    """Wait for the address to hold the current state; it holds an earlier one until the new one is encoded."""
    script = """async () => {
        const packed = atob(location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
        const bytes = new Blob([Uint8Array.from(packed, (c) => c.charCodeAt(0))]);
        const unpacked = new Response(bytes.stream().pipeThrough(new DecompressionStream("deflate-raw")));
        const text = await unpacked.text().catch(() => "an invalid link");
        return text === JSON.stringify(document.querySelector(".linearly-lab").lab.state);
    }"""
    page.wait_for_function(script)


def fragment(state):
    """The end of a link to a state."""
    text, raw = json.dumps(state.to_dict()).encode(), zlib.compressobj(wbits=-15)
    return "#" + base64.urlsafe_b64encode(raw.compress(text) + raw.flush()).decode().rstrip("=")


def choose(page, box, value):
    page.select_option(box, value)


def evaluate(page, expression, argument=None):
    """The value of an expression in which `lab` is the lab of the page."""
    script = f"(argument) => {{ const lab = document.querySelector('.linearly-lab').lab; return {expression}; }}"
    return page.evaluate(script, argument)


def until(page, expression, argument=None):
    """Wait until an expression in which `lab` is the lab of the page holds, and what it changes is drawn."""
    script = f"(argument) => {{ const lab = document.querySelector('.linearly-lab').lab; return {expression}; }}"
    page.wait_for_function(script, arg=argument)
    page.evaluate("() => new Promise(requestAnimationFrame)")


def rest(page):
    """Wait until the page expects no reply and has nothing to draw, three frames in a row.

    The page asks for a new view when its layout changes the size of the plane.
    """
    script = """async () => {
        const lab = document.querySelector('.linearly-lab').lab;
        for (let quiet = 0; quiet < 3; quiet++) {
            await new Promise(requestAnimationFrame);
            if (lab.session.busy || lab.session.waiting.size || lab.planned) quiet = -1;
        }
    }"""
    page.evaluate(script)


def send(page, **message):
    """Send a message to the session, and wait until its reply is drawn."""
    script = """async (message) => {
        const lab = document.querySelector('.linearly-lab').lab;
        await lab.send(message);
        while (lab.session.busy || lab.planned) await new Promise(requestAnimationFrame);
    }"""
    page.evaluate(script, message)


def badge(page):
    return page.locator("#verdict .badge").inner_text()
