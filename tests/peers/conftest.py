"""What scikit-learn's own conftest and settings give its tests."""

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: a mark that scikit-learn's tests carry")


@pytest.fixture
def global_random_seed():
    return 42
