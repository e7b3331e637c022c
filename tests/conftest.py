"""What every test file shares: `require`, and how hard hypothesis looks."""

import os
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings


def require(condition: object, reason: str) -> None:
    """Skip the test where `condition` is false; with LINEARLY_REQUIRE_ALL=1, fail instead.

    For what a plain machine may lack (Java, a browser, a compiler) and a full check must not.
    """
    if condition:
        return
    if os.environ.get("LINEARLY_REQUIRE_ALL", "0") not in ("", "0"):
        pytest.fail(f"{reason} (LINEARLY_REQUIRE_ALL is set)", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(name="require")
def _require() -> Callable[[object, str], None]:
    """`require` as a fixture: `def test_x(require): require(shutil.which("java"), "needs Java")`."""
    return require


# No deadline: a fit on a busy machine is not a slow fit. In CI the cases are fixed, so that a red run can be
# repeated; elsewhere every run tries new ones. `pytest --hypothesis-profile=long` looks further.
settings.register_profile(
    "default",
    deadline=None,
    derandomize="CI" in os.environ,
    max_examples=50,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("long", settings.get_profile("default"), derandomize=False, max_examples=10_000)
settings.load_profile("default")
