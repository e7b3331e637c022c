"""Mutants: the package with one small mistake in it, and whether a test notices.

`python tests/mutants least_squares/gram --sample 40 --seed 0`

A mutant is a module of `linearly.algorithm` with one change: an operator swapped, a number changed, a statement left
out. It lives in a copy of the package; the tests that execute the changed line are run on it. A test that fails kills
it. What survives needs a test, or a reason in survivors.md. Which tests execute which line is found once, by a run
of the suite under coverage (``--map``), and again after the modules have changed.
"""
