"""axe-core finds no serious violation in pages, and hovering a dot names its row."""

import shutil

import numpy as np
import pytest
from axe import serious_violations

import linearly as ly
from linearly.report.facts import facts
from linearly.report.render import render

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


def _regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 18))
    data = {f"x{j}": X[:, j] for j in range(18)} | {"g": np.tile(list("abcd"), 20), "y": X[:, 0] + rng.normal(size=80)}
    return data, "y"


def _classes():
    rng = np.random.default_rng(1)
    label = np.repeat(list("abc"), 30)
    X = rng.normal(size=(90, 3)) + (label == "b")[:, None]
    return {f"x{j}": X[:, j] for j in range(3)} | {"label": label}, "label"


@pytest.fixture(scope="module")
def browser(request):
    if BROWSER is None:
        pytest.skip("needs Chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


def _open(browser, tmp_path, made, **context):
    data, target = made()
    model = ly.fit(data, target=target)
    path = tmp_path / "page.html"
    path.write_text(render(facts(model, model.design_rows(data))), encoding="utf-8")
    page = browser.new_context(**context).new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    return page, errors


@pytest.mark.slow
@pytest.mark.parametrize("made", [_regression, _classes])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(browser, tmp_path, made, scheme):
    page, errors = _open(browser, tmp_path, made, color_scheme=scheme, bypass_csp=True)
    assert serious_violations(page) == []
    assert errors == []


def test_hover_names_the_row_and_a_tick_takes_a_whole_category(browser, tmp_path):
    page, errors = _open(browser, tmp_path, _regression, viewport={"width": 1280, "height": 900})
    dots = page.locator('svg[aria-labelledby^="residuals-title"] [data-rows]')
    dots.scroll_into_view_if_needed()
    x, y = page.evaluate(
        """(group) => {
            const path = group.matches('path') ? group : group.querySelector('path'), svg = path.ownerSVGElement;
            const [, x, y] = path.getAttribute('d').match(/M(-?[\\d.]+) (-?[\\d.]+)h/);
            const at = new DOMPoint(Number(x), Number(y)).matrixTransform(svg.getScreenCTM());
            return [at.x, at.y];
        }""",
        dots.element_handle(),
    )
    page.mouse.move(x, y)
    assert page.locator(".tip").inner_text().startswith("row ")
    page.locator("#refit-terms label", has_text="g").locator("input").last.uncheck()
    gone = page.locator("#refit-terms tr.level td:nth-child(3)").all_inner_texts()
    assert gone == ["–"] * 3
    assert errors == []


def test_long_table_opens_without_a_script(browser, tmp_path):
    page, _ = _open(browser, tmp_path, _regression, java_script_enabled=False)
    rows = page.locator(".long tbody tr").first.locator("xpath=..").locator("tr:visible")
    assert rows.count() == 12
    page.locator(".long label").first.click()
    assert rows.count() > 15
