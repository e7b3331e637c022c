"""Links to a state of the lab, opened while replies are late, out of order or missing."""

import contextlib
from dataclasses import replace

import lab_pages
import pytest
from lab_pages import WAIT, evaluate, fragment, until

from linearly.lab.presets import preset

browser, lab = lab_pages.browser, lab_pages.lab

# Holds the restore messages of the page until `release` is called, or fails them all.
HELD = """
    const sent = window.fetch, held = [];
    window.release = () => held.splice(0).forEach((go) => go());
    window.waiting = () => held.length;
    window.fetch = async (address, options) => {
        if (options?.body && JSON.parse(options.body).do === "restore") {
            if (sessionStorage.offline) throw new Error("offline");
            if (!sessionStorage.prompt) await new Promise((go) => held.push(go));
        }
        return sent(address, options);
    };
"""
SETTLED = 700  # milliseconds after which the address would hold another state; it is written after 250


def linked(points, algorithm, **changes):
    return replace(preset(points), algorithm=algorithm, **changes)


QDA, RIDGE = linked("three", "qda"), linked("curved", "ridge")


@contextlib.contextmanager
def visited(browser, address, **stored):
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(WAIT)
    page = context.new_page()
    page.add_init_script(HELD)
    for name in stored:
        page.add_init_script(f"sessionStorage.{name} ??= 'yes'")
    page.goto(address)
    try:
        yield page
    finally:
        context.close()


def until_held(page):
    page.wait_for_function("() => window.waiting() && document.querySelectorAll('#plot .point').length")


def address(page):
    return page.evaluate("() => location.hash")


def test_address_keeps_a_link_until_its_state_is_shown(browser, lab):
    link = fragment(QDA)
    with visited(browser, lab.url + link) as page:
        until_held(page)
        page.wait_for_timeout(SETTLED)
        assert address(page) == link
        page.evaluate("release()")
        page.wait_for_selector("[data-ready=true]")
        assert evaluate(page, "lab.state") == QDA.to_dict()


def test_newer_link_replaces_one_that_is_being_opened(browser, lab):
    with visited(browser, lab.url + fragment(QDA)) as page:
        until_held(page)
        page.evaluate("link => { location.hash = link; }", fragment(RIDGE))
        page.wait_for_timeout(100)
        page.evaluate("release()")
        page.wait_for_function("() => window.waiting()")  # the second link, after the first was answered
        page.evaluate("release()")
        until(page, "lab.state.algorithm === 'ridge' && !lab.linked")
        page.wait_for_timeout(SETTLED)
        assert evaluate(page, "lab.state.algorithm") == "ridge"
        lab_pages.wait_until_link_contains_the_state(page)


def test_window_that_changes_meanwhile_leaves_the_view_of_the_link(browser, lab):
    state = linked("three", "qda", view=(-30.0, 30.0, -24.0, 24.0))
    with visited(browser, lab.url + fragment(state)) as page:
        until_held(page)
        page.set_viewport_size({"width": 900, "height": 900})
        page.wait_for_timeout(SETTLED)
        page.evaluate("release()")
        page.wait_for_selector("[data-ready=true]")
        until(page, "!lab.session.busy && !lab.session.waiting.size && !lab.planned")
        assert evaluate(page, "lab.state.view") == list(state.view)


def test_link_is_kept_if_there_is_no_reply_and_opens_after_a_reload(browser, lab):
    link = fragment(QDA)
    with visited(browser, lab.url + link, offline="yes") as page:
        page.wait_for_selector("[data-ready=true]")
        page.wait_for_timeout(SETTLED)
        assert "offline" in page.locator(".notice").inner_text()
        assert address(page) == link
        page.evaluate("() => { sessionStorage.offline = ''; sessionStorage.prompt = 'yes'; }")
        page.reload()
        page.wait_for_selector("[data-ready=true]")
        assert evaluate(page, "lab.state") == QDA.to_dict()


@pytest.mark.parametrize("link", ["#not-a-state", "#" + "A" * 40])
def test_invalid_link_is_refused_in_words_and_the_lab_goes_on(browser, lab, link):
    with visited(browser, lab.url + link, prompt="yes") as page:
        page.wait_for_selector("[data-ready=true]")
        assert page.locator(".notice").inner_text() == "This link does not contain a state of the lab."
        page.select_option("#preset", "xor")
        until(page, "lab.reply.preset === 'xor'")
        lab_pages.wait_until_link_contains_the_state(page)
