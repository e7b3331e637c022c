"""axe-core finds no serious violation in the lab: a fit of each kind, a lesson and the lecture view."""

import pytest
from axe import serious_violations
from lab_pages import browser, lab, opened  # noqa: F401

pytestmark = pytest.mark.slow
ROOT = "document.querySelector('#linearly-lab')"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(browser, lab, scheme):  # noqa: F811
    found = {}
    with opened(browser, lab.url, color_scheme=scheme, bypass_csp=True) as page:
        for preset in ("three", "xor", "curved"):
            page.select_option("#preset", preset)
            page.wait_for_function(f"name => {ROOT}.lab.reply.preset === name && !{ROOT}.lab.session.busy", arg=preset)
            found[preset] = serious_violations(page)
        page.click("#lessons")
        page.wait_for_selector(".lesson h2")
        found["lesson"] = serious_violations(page)
        page.click("#lecture")
        page.wait_for_selector("[data-lecture=true]")
        found["lecture"] = serious_violations(page)
    assert {where: one for where, one in found.items() if one} == {}
