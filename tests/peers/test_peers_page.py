"""The page on the peers' tests says what the tables say."""

import page


def test_page_is_what_the_tables_say():
    assert page.rendered(page.tables()) == page.PAGE.read_text(encoding="utf-8"), "run python tests/peers/page.py"
