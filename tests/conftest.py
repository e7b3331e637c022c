"""What every test file shares: `require`, clusters that are started once, and how hard hypothesis looks."""

import contextlib
import importlib.util
import os
import shutil
import sys
import warnings
from collections.abc import Callable

import pytest
from commands import grades, model, run  # noqa: F401 (fixtures of the command line)
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


@pytest.fixture(scope="session")
def dask_client():
    """A client of two worker processes on this machine, which nobody uses unasked."""
    require(importlib.util.find_spec("distributed"), "needs Dask: pip install 'linearly[dask]'")
    import dask
    import distributed

    # On a busy machine a killed worker may take longer than 15 s to come back, after which its place would be given up.
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    with patient, contextlib.ExitStack() as ends:
        # Where a worker of pytest ends, the loop may be closed before its users are.
        ends.enter_context(contextlib.suppress(RuntimeError))
        cluster = ends.enter_context(
            distributed.LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",
                silence_logs="CRITICAL",
            )
        )
        yield ends.enter_context(distributed.Client(cluster, set_as_default=False))


@pytest.fixture
def client(dask_client):
    """The client, used by Dask as long as the test lasts: without one, Dask's threads are."""
    with dask_client.as_current():
        yield dask_client


@pytest.fixture(scope="session")
def spark():
    """Spark in this process and two Python workers."""
    require(importlib.util.find_spec("pyspark"), "needs PySpark: pip install 'linearly[spark]'")
    require(shutil.which("java") or "JAVA_HOME" in os.environ, "needs Java 17 or later")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        # Jobs here last milliseconds: what is meant for long ones costs more than it saves.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = SparkSession.builder.master("local[2,4]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


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


@pytest.fixture
def cars():
    """Return a table with numbers, names that need backquotes, and categories."""
    import polars as pl

    return pl.DataFrame(
        {
            "y": [3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.3, 5.8],
            "x": [1.0, 2.0, 3.5, 4.0, 5.25, 6.0, 7.0, 9.0],
            "z": [2, 7, 1, 8, 2, 8, 1, 8],
            "net price": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.5],
            "Petal.Width": [0.1, 0.2, 0.2, 0.4, 0.4, 0.1, 0.7, 0.8],
            "doors": [2.0, 4.0, 2.0, 3.0, 4.0, 4.0, 2.0, 3.0],
            "region": ["north", "south", "west", "north", "south", "west", "west", "north"],
            "kind": ["a", "a", "b", "b", "a", "b", "a", "b"],
            "new": [True, False, True, True, False, False, True, False],
        }
    )
