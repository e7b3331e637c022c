"""The warning that the library shares with scikit-learn."""


class ConvergenceWarning(UserWarning):
    """An optimizer stopped before its tolerance was reached."""
