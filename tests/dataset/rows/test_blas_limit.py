"""The limit on BLAS threads covers SciPy's library, whatever was imported before."""

import subprocess
import sys

CODE = """
import sys
import numpy as np
from linearly.dataset.rows.reduce import reduce_blocks
from linearly.kernels.blas_threads import single_threaded_blas
assert "scipy.linalg" not in sys.modules
total = reduce_blocks([lambda: 1.0, lambda: 2.0], lambda x: x)
assert total == 3.0
import scipy.linalg
import threadpoolctl
with single_threaded_blas():
    threads = {pool["filepath"]: pool["num_threads"] for pool in threadpoolctl.threadpool_info()}
    limited = {path: n for path, n in threads.items() if "blas" in path}
    assert len(limited) >= 1 and set(limited.values()) == {1}, limited
"""


def test_blas_limit_reduction_before_scipy_is_loaded_limits_scipy_too():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
