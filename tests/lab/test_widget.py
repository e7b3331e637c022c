"""The lab in a notebook."""

import json

from conftest import require
from lab_sessions import has_module

from linearly.lab.session import Session


def test_widget_replies_like_a_session():
    require(has_module("anywidget"), "needs anywidget: pip install 'linearly[lab]'")
    from linearly.lab.widget import LabWidget

    widget = LabWidget()
    sent = []
    widget.send = sent.append
    widget._on_message(widget, {"do": "open", "number": 1}, [])
    widget._on_message(widget, {"do": "choose_algorithm", "name": "lda", "number": 2}, [])
    widget._on_message(widget, {"do": "fly", "number": 3}, [])
    assert [one["number"] for one in sent] == [1, 2, 3]
    replies = [json.loads(one["reply"]) for one in sent]
    expected = Session()
    assert replies[0]["state"] == json.loads(json.dumps(expected.handle({"do": "open"})["state"]))
    assert replies[1]["answer"]["animation"]["shade"] == "probability"
    assert "'fly' is not an action" in replies[2]["error"]
    assert widget.session.state.algorithm == "lda"
