"""The state of the lab as JSON."""

from linearly.lab.catalogue import ALGORITHMS
from linearly.lab.presets import preset
from linearly.lab.state import state_from_dict


def test_state_from_dict_reads_what_to_dict_wrote():
    fields = preset("cloud").to_dict()
    assert state_from_dict(fields).to_dict() == fields
    assert state_from_dict({}).to_dict()["parameters"] == ALGORITHMS["perceptron"].defaults()
