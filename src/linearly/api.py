"""`fit` data as people have them, and get a `Model` that predicts, prints, saves and reports itself.

    model = ly.fit("carseats.csv", target="Sales")
    model = ly.fit(frame, formula="Sales ~ . + Income:Advertising", model="ridge")
    model.predict("new.parquet", out="predictions.parquet")

Methods import evaluation, inference, export and reports when they are called, so that a fit starts quickly.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.block_ledger import BlockLedger, FingerprintingRows
from linearly.algorithm.least_squares.zero_columns import add_zero_columns
from linearly.dataset.cluster.partitions import PredictChunk
from linearly.dataset.design.cached_rows import cache_in_memory
from linearly.dataset.design.counts import Counts, proportion_of_trials
from linearly.dataset.design.design import (
    Design,
    DesignRows,
    Target,
    as_groups,
    check_group_columns,
    check_policies,
    design_of,
    group_columns,
)
from linearly.dataset.design.missing_markers import as_markers, without_markers
from linearly.dataset.design.numeric_text_checks import check_no_numeric_text
from linearly.dataset.design.terms import Numeric
from linearly.dataset.design.zero_weights import extend_design, fit_design
from linearly.dataset.formula.tokens import quote_name
from linearly.dataset.rows.block import Rows, SingleBlockRows
from linearly.dataset.rows.tables import Chunk, Tables, check_columns_known
from linearly.dataset.sources import as_tables, read_as
from linearly.exceptions import ColumnTypeWarning, warn_at_caller
from linearly.formatting import pluralize, shown, visible
from linearly.models.base import check_same_settings
from linearly.models.estimability import NotEstimable
from linearly.models.registry import MODELS, classifies, estimator_of

_MAX_FORMULA_TERMS = 12  # features that a summary lists
_MAX_LABELS = 20  # that are accepted however few rows there are

if TYPE_CHECKING:
    from linearly.evaluation.evaluate import Evaluation
    from linearly.table import Summary, Table


def fit(
    data: Any,
    *,
    target: str | None = None,
    formula: str | None = None,
    model: str = "auto",
    features: Sequence[str] | None = None,
    weight: str | None = None,
    groups: str | Sequence[str] | None = None,
    missing: str = "error",
    unseen: str = "error",
    na_values: Sequence[str] = (),
    positive: Any = None,
    like: Model | None = None,
    **params: Any,
) -> Model:
    """Fit a model to a data frame, a dict of columns, files, or a table on a cluster.

    Parameters
    ----------
    data : data frame, dict, path, file or table
        A pandas, polars, Arrow, Dask or Spark data frame, a dict of columns, a path, a glob, a list of paths, a
        directory, an open file, or any object with an Arrow stream.
    target : str, default=None
        Column to predict. All other columns are features unless `features` names them.
    formula : str, default=None
        Formula, as in R, instead of `target` and `features`: ``"Sales ~ . + Income:Advertising + log(Price)"``.
    model : str, default="auto"
        One of "linear", "ridge", "lasso", "elastic-net", "logistic", "lda", "qda", "least-squares", "perceptron",
        "batch", "pocket", "voted" and "averaged"; "auto" is linear for a numeric target and logistic for labels.
    features : sequence of str, default=None
        Columns to predict from.
    weight : str, default=None
        Column with row weights; a row with weight 0 is absent. In linear and ridge models, weights are analytic, as in
        R's ``lm``: the variance of a row is σ²/w. In all other models, a row with weight 2 counts as two rows. For
        robust covariances (``covariance="HC0"`` … ``"cluster"``), they are sampling weights: each row counts once, and
        multiplying all weights by a constant changes nothing.
    groups : str or sequence of two str, default=None
        Column with cluster labels, or two such columns, for a linear or logistic model with a clustered covariance. The
        default is then ``covariance="cluster"``. The column is not a feature unless `features` or `formula` names it.
    missing : {"error", "drop"}, default="error"
        Treatment of rows with missing values: an error, or left out.
    unseen : {"error", "reference", "extend"}, default="error"
        Treatment of a level that first occurs in a prediction: an error, or the reference level. With `like`,
        a level that the other model does not have raises an error, or is added with "extend". The two models can then
        still be added.
    na_values : sequence of str, default=()
        Texts that stand for missing values, such as ``["-", "?"]``, here and in predictions.
    positive : label, default=None
        The label, of two, that precision, recall and the curves in evaluations and reports refer to. By default, it is
        the rarer label in the evaluated rows.
    like : Model, default=None
        Model whose columns, levels and labels are used, so that the two models can be added. Its treatment of missing
        values is used, too, unless ``missing="drop"``.
    **params
        Parameters of the estimator, such as ``alpha=1.0``.

    Returns
    -------
    Model
        The fitted model, which accepts the same kinds of data.

    Raises
    ------
    ValueError
        If a column is unknown, values are missing, or a parameter is invalid.

    See Also
    --------
    load : Read a saved model.
    scan : Rows of files for the estimators.

    Examples
    --------
    >>> import linearly as ly
    >>> data = {"size": [1.0, 2.0, 3.0, 4.0], "kind": ["a", "b", "a", "b"], "price": [3.1, 6.2, 6.9, 10.4]}
    >>> model = ly.fit(data, target="price")
    >>> model.names
    ('size', 'kind[b]')
    >>> model.predict({"size": [5.0], "kind": ["a"]}).round(2).tolist()
    [11.0]
    """
    markers = as_markers(na_values)
    if like is not None:
        _check_like(like, (target, formula, features, weight, groups), missing, unseen)
        design, note = replace(like.design, na_values=markers or like.design.na_values), ""
        tables = read_as(data, design)
        if unseen == "extend":
            design = extend_design(design, tables)
        chosen = like.model if model == "auto" else _choose(model, design)[0]
        params = _like_params(like, params) if chosen == like.model else params
        if missing != "error":
            design = replace(design, missing=missing)
    else:
        if unseen == "extend":
            raise ValueError('unseen="extend" needs an existing model to add levels to. Pass it with like=.')
        tables = without_markers(as_tables(data), markers)
        design = design_for(tables, target, formula, features, weight, groups, missing, unseen)
        design = replace(design, na_values=markers)
        chosen, note = _choose(model, design)
    if design.groups is not None:
        params = _with_clusters(chosen, params)
    if classifies(chosen):
        design = _with_proportions(chosen, design, tables).with_labels()
    design = fit_design(_with_powers_for(chosen, design), tables)
    _check_target_and_offset(chosen, design)
    _check_term_names(design)
    if like is None:
        for message in check_no_numeric_text(design, tables, certain=model != "auto"):
            warn_at_caller(message, ColumnTypeWarning)
        if model == "auto":
            _check_labels_repeat(design, tables)
    _check_several_classes(design)
    positive = like.positive if positive is None and like is not None else positive
    positive = None if positive is None else positive_label(design, classifies(chosen), positive)
    estimator = _unfitted_estimator(chosen, params, design)
    design_rows = DesignRows(tables, design if like is None else design.being_fitted())
    source = cache_in_memory(design_rows) if MODELS[chosen].iterates else design_rows
    rows = FingerprintingRows(source)
    estimator.fit(rows, **({} if design.groups is None else {"groups": design.groups}))
    return Model(
        estimator, design, chosen, ledger=rows.ledger, n_dropped=source.n_dropped, note=note, positive=positive
    )


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model that `Model.save` wrote. Nothing in the file is executed.

    Parameters
    ----------
    path : str or path-like
        File to read.

    Returns
    -------
    Model
        The model, ready to predict, print and merge.

    Raises
    ------
    ValueError
        If the file is damaged, inconsistent or not a model file.

    Examples
    --------
    >>> import linearly as ly, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.json")
    >>> ly.fit({"x": [0.0, 1.0, 2.0], "y": [1.0, 3.0, 5.0]}, target="y").save(path)
    >>> ly.load(path)
    <linearly.Model linear: y on 1 columns>
    """
    from linearly.export.model_file import read

    saved = read(path)
    return Model(
        saved.estimator,
        _with_powers_for(saved.model, saved.design),
        saved.model,
        ledger=saved.ledger,
        n_dropped=saved.n_dropped,
        note=saved.note,
        positive=saved.positive,
    )


def design_for(
    tables: Tables,
    target: str | None,
    formula: str | None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    groups: str | Sequence[str] | None = None,
    missing: str = "error",
    unseen: str = "error",
) -> Design:
    """Return the design of a target or a formula, before it is fitted to rows."""
    if (target is None) == (formula is None):
        raise ValueError(
            'fit() requires exactly one of target= and formula=. Pass target="column" or formula="column ~ terms".'
        )
    groups = as_groups(groups)
    if formula is None:
        return design_of(
            tables.schema,
            target=target,
            features=features,
            weight=weight,
            groups=groups,
            missing=missing,
            unseen=unseen,
        )
    if features is not None:
        raise ValueError("features= cannot be combined with formula=, which names the features. Leave features= out.")
    check_policies(missing, unseen)
    from linearly.dataset.design.from_formula import formula_design

    without = [name for name in (weight, *group_columns(groups)) if name]
    design = formula_design(formula, tables.schema, unseen=unseen, without=without)
    check_columns_known([] if weight is None else [weight], tables.schema, "weight column")
    check_columns_known(group_columns(groups), tables.schema, "column of groups")
    for name in () if design.target is None else design.target.factor.required_columns:
        check_group_columns(groups, name, weight)
    return replace(design, weight=weight, groups=groups, missing=missing)


def _check_like(like: Any, design: tuple[Any, ...], missing: str, unseen: str) -> None:
    """Raise if `like` is not a model, or is combined with arguments that it determines."""
    if not isinstance(like, Model):
        raise TypeError(f"like= must be a fitted Model, not {type(like).__name__}. Load one with ly.load(path).")
    if any(part is not None for part in design):
        raise ValueError(
            "target=, formula=, features=, weight= and groups= cannot be combined with like=, which "
            "uses the columns of the existing model. Leave them out."
        )
    check_policies(missing, "error" if unseen == "extend" else unseen)
    if unseen == "reference":
        raise ValueError(
            'unseen="reference" cannot be combined with like=; the existing model\'s setting is used. Leave unseen= '
            'out, or choose unseen="extend" to add new levels.'
        )


def _choose(model: str, design: Design) -> tuple[str, str]:
    assert design.target is not None
    labels = design.target.labels
    if model == "auto":
        chosen = "logistic" if labels else "linear"
        kind = "labels" if labels else "numbers"
        return chosen, f"model {chosen!r} was chosen because {design.target.factor.label!r} contains {kind}"
    if model not in MODELS:
        raise ValueError(f"model must be one of auto, {', '.join(MODELS)}, not {model!r}.")
    if labels and not classifies(model):
        raise ValueError(
            f"The target {design.target.factor.label!r} contains labels, but model {model!r} predicts numbers. Choose "
            'model="logistic" or another classifier.'
        )
    return model, ""


def _with_powers_for(model: str, design: Design) -> Design:
    """Return the design with the precision of powers that a model can use: extended for least squares only."""
    return replace(design, extended_powers=not classifies(model))


def _like_params(like: Model, params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a model with some changed; only what both have if one is ridge with a given alpha."""
    known: dict[str, Any] = like.estimator.get_params()
    if not params.keys() <= known.keys():
        known = {name: value for name, value in known.items() if name == "fit_intercept"}
    return known | params


def _with_clusters(model: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with a clustered covariance; raise for models without standard errors."""
    if "covariance" not in estimator_of(model, params).get_params():
        raise ValueError(
            f"groups= applies only to clustered standard errors, which model {model!r} does not have. Leave "
            'groups= out, or choose model="linear" or model="logistic".'
        )
    return {"covariance": "cluster"} | params


def _unfitted_estimator(model: str, params: dict[str, Any], design: Design) -> Any:
    """Return the unfitted estimator, without an intercept if the formula has none."""
    estimator = estimator_of(model, params)
    if not design.intercept and "fit_intercept" not in params:
        if not hasattr(estimator, "fit_intercept"):
            raise ValueError(
                f'Model {model!r} always has an intercept. Leave "- 1" out of the formula, or choose model="logistic".'
            )
        estimator.set_params(fit_intercept=False)
    return estimator


def _with_proportions(model: str, design: Design, tables: Tables) -> Design:
    """Return the design with a proportion as target, if it is one: then the weights are numbers of trials."""
    target = design.target
    if model != "logistic" or target is None or design.weight is None or not isinstance(target.factor, Numeric):
        return design
    counts = None if target.labels else proportion_of_trials(tables, target.factor.name, design.weight)
    if counts is None:
        return design
    return replace(design, target=Target(counts, True, counts.classes), weight=None)


def _check_target_and_offset(model: str, design: Design) -> None:
    """Raise for models that take no offset, or no numbers of successes and failures."""
    assert design.target is not None
    if isinstance(design.target.factor, Counts) and model != "logistic":
        raise ValueError(
            f'The target {design.target.factor.label} is not available for model {model!r}. Choose model="logistic".'
        )
    if design.offset is None:
        return
    if classifies(model) and model != "logistic":
        raise ValueError(
            f'offset() is available for regressions and model="logistic", not for model {model!r}. Leave '
            "the offset out, or choose another model."
        )
    if len(design.target.classes) > 2:
        raise ValueError(
            f"offset() requires a target with two labels, but {design.target.factor.label!r} has "
            f"{len(design.target.classes)}. Leave the offset out."
        )


def _check_several_classes(design: Design) -> None:
    assert design.target is not None
    if len(design.target.classes) == 1:
        raise ValueError(
            f"The target {design.target.factor.label!r} has only one class, {shown(design.target.classes[0])}. Fit "
            "rows from at least two classes."
        )


def positive_label(design: Design, labels: bool, positive: Any) -> Any:
    """Return the one of two labels that equals `positive`, or is written like it; raise if there is none."""
    assert design.target is not None
    classes = design.target.classes if labels else ()
    if len(classes) != 2:
        what = f"{len(classes)} labels" if labels else "numbers"
        raise ValueError(
            f"positive= requires a target with two labels, but {design.target.factor.label!r} contains "
            f"{what}. Leave positive= out."
        )
    for label in classes:
        if label == positive or (isinstance(positive, str) and str(label) == positive):
            return label
    known = " and ".join(map(shown, classes))
    raise ValueError(
        f"positive={positive!r} is not a label of {design.target.factor.label!r}. Choose one of its labels, {known}."
    )


def _check_term_names(design: Design) -> None:
    """Raise if a column has no name, or if two terms have the same name."""
    if "" in design.required_columns:
        raise ValueError("A column of the data has no name. Rename it, or leave it out.")
    names = {"Intercept"} if design.intercept else set()
    for name in design.names:
        if name in names:
            raise ValueError(
                f"Two terms would have the name {name!r}. Rename the column of that name, or leave it out."
            )
        names.add(name)


def _check_labels_repeat(design: Design, tables: Tables) -> None:
    """Raise if most rows have a label of their own."""
    assert design.target is not None
    K, name = len(design.target.classes), design.target.factor.label
    if K <= _MAX_LABELS:
        return
    rows = tables.select([name]).reduce(lambda chunk: len(chunk) - int(chunk.frame[name].null_count()))
    if rows < 2 * K:
        raise ValueError(
            f"The target {name!r} contains {K:,} different labels in {rows:,} rows, so it may be an "
            'identifier. Choose another target, or choose model="logistic" if these are labels.'
        )


class Model:
    """A fitted estimator together with the design that turns columns into numbers.

    `fit` and `load` return models. Two models of the same design add and subtract: ``a + b`` is the model for the rows
    of both, and ``a - b`` is the model for the rows of a without those of b.

    Attributes
    ----------
    estimator : estimator
        The fitted scikit-learn estimator.
    design : Design
        Columns, levels and terms.
    model : str
        Name of the model, such as "linear".
    names : tuple of str
        Columns of the design, as in coefficient tables.
    target : str
        Column that is predicted.
    classes : tuple
        Labels in order; empty for a regression.
    ledger : BlockLedger
        Fingerprints of the fitted blocks. They prevent the same rows from being added twice.
    n_dropped : int
        Rows left out because of missing values.
    note : str
        How ``model="auto"`` was decided.
    positive : label
        The label given as positive, or None.

    See Also
    --------
    fit : Fit a model to data.
    load : Read a saved model.

    Examples
    --------
    >>> import linearly as ly
    >>> first = ly.fit({"x": [0.0, 1.0, 2.0], "y": [1.0, 3.1, 4.9]}, target="y")
    >>> second = ly.fit({"x": [3.0, 4.0], "y": [7.0, 9.0]}, like=first)
    >>> (first + second).estimator.coef_.round(2).tolist()
    [1.99]
    """

    def __init__(
        self,
        estimator: Any,
        design: Design,
        model: str,
        *,
        ledger: BlockLedger | None = None,
        n_dropped: int = 0,
        note: str = "",
        positive: Any = None,
    ) -> None:
        self.estimator, self.design, self.model = estimator, design, model
        self.ledger = BlockLedger() if ledger is None else ledger
        self.n_dropped, self.note, self.positive = n_dropped, note, positive

    def __repr__(self) -> str:
        return visible(f"<linearly.Model {self.model}: {self.target} on {len(self.names)} columns>")

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of the design."""
        return self.design.names

    @property
    def target(self) -> str:
        """Column that is predicted."""
        assert self.design.target is not None
        return self.design.target.factor.label

    @property
    def classes(self) -> tuple[Any, ...]:
        """Labels in order; empty for a regression."""
        return () if not classifies(self.model) else tuple(self.estimator.classes_.tolist())

    def design_rows(self, data: Any) -> DesignRows:
        """Return the rows of data with the target as numbers.

        Parameters
        ----------
        data : data frame, dict, path or table
            Data with the columns of the design and the target.

        Returns
        -------
        DesignRows
            Rows that estimators accept.
        """
        tables, design = read_as(data, self.design), self.design
        if design.groups is not None and (design.missing != "drop" or design.groups not in tables.schema):
            design = replace(design, groups=None)  # they are for the fit; but rows without a group were dropped there
        return DesignRows(tables, design)

    def predict(
        self, data: Any, *, out: str | os.PathLike[str] | None = None, keep: Sequence[str] = (),
        escape_formulas: bool = False,
    ) -> Any:  # fmt: skip
        """Return predictions, one per row in order, or write them to a file.

        Parameters
        ----------
        data : data frame, dict, path or table
            Data with the features. A dict holds columns, or the values of one row.
        out : str or path-like, default=None
            File to write, ending in .csv or .parquet. Predictions are written chunk by chunk, with probabilities if the
            model has them.
        keep : sequence of str, default=()
            Columns of the data to write or return beside the predictions.
        escape_formulas : bool, default=False
            If True, write ``'=1+1`` into a CSV file for a label or kept text such as ``=1+1``, which spreadsheets
            would run as a formula.

        Returns
        -------
        ndarray of shape (n_rows,), int, or a column on the cluster
            Predictions. If missing values are dropped, predictions for such rows are NaN or None. With `out`, the
            number of rows. For a Dask data frame, a Dask series with its index, or a data frame if `keep` names
            columns. For a Spark DataFrame, whose rows have no order, a column ``prediction`` beside its columns or
            those of `keep`.
        """
        if out is None:
            if escape_formulas:
                raise ValueError(
                    "escape_formulas= applies only to CSV files. Name a CSV file with out=, or leave "
                    "escape_formulas= out."
                )
            with NotEstimable():
                return self._apply(data, self.estimator.predict, {"prediction": self._example()}, keep)
        from linearly.dataset.files.locations import check_not_overwriting
        from linearly.dataset.files.writers import write_tables

        check_not_overwriting(out, data)
        with NotEstimable():
            return write_tables(out, self.iter_predictions(data, keep=keep), escape_formulas=escape_formulas)

    def iter_predictions(
        self,
        data: Any,
        *,
        keep: Sequence[str] = (),
        watch: Callable[[Chunk], None] | None = None,
        interval: tuple[float, str] | None = None,
    ) -> Iterator[Mapping[str, Any]]:
        """Return what `predict` writes, chunk by chunk.

        Parameters
        ----------
        data : data frame, dict, path or table
            Data with the features.
        keep : sequence of str, default=()
            Columns of the data to yield beside the predictions.
        watch : callable, default=None
            Called with each chunk of the data before it is predicted.
        interval : tuple of float and str, default=None
            Level and kind of intervals to yield beside the predictions; see `predict_interval`.

        Returns
        -------
        iterator of mappings
            Columns kept, ``prediction``, and ``probability[label]`` if the model has probabilities. Intervals are
            ``low`` and ``high``, or ``low[label]`` and ``high[label]`` for probabilities.
        """
        if interval is not None:
            self._check_has_intervals()

        def predict_chunk(chunk: Chunk) -> Mapping[str, Any]:
            if watch is not None:
                watch(chunk)
            return self._predict_chunk(chunk, keep, interval)

        return map(predict_chunk, self._new_tables(data, keep))

    def predict_proba(self, data: Any) -> Any:
        """Return the probabilities of the labels.

        Parameters
        ----------
        data : data frame, dict, path or table
            Data with the features.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or columns on the cluster
            Probabilities in the order of ``classes``. On a cluster, columns ``probability[label]``.
        """
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError(f"Model {self.model!r} has scores but no probabilities. Choose logistic, lda or qda.")
        kinds = {f"probability[{label}]": np.zeros(1) for label in self.classes}
        with NotEstimable():
            return self._apply(data, self.estimator.predict_proba, kinds)

    def predict_interval(
        self, data: Any, level: float = 0.95, kind: str = "confidence", weight: float | None = None
    ) -> Any:
        """Return predictions of a linear or ridge model, or probabilities of a logistic one, with their intervals.

        Parameters
        ----------
        data : data frame, dict, path or table
            Data with the features.
        level : float, default=0.95
            Confidence level, between 0 and 1.
        kind : {"confidence", "prediction"}, default="confidence"
            An interval for the mean of the target, or for a new value. Probabilities have confidence intervals only.
        weight : float, optional
            Weight of a new row, for `kind="prediction"`: its error has variance σ²/weight. The default is the average
            weight of the fitted rows (1 without weights), so that multiplying all weights by a constant changes
            nothing.

        Returns
        -------
        Table, or columns on the cluster
            Columns ``fit``, ``low`` and ``high``, one row per row in order. Logistic models: the probability of the
            second of two classes. With three or more classes, one row per row and class with a column ``label``, or
            columns ``fit[label]`` … on the cluster.
        """
        self._check_has_intervals()
        from linearly.table import Table

        labels = self.classes if len(self.classes) > 2 else ()
        parts = ("fit", "low", "high")
        names = [f"{part}[{label}]" for label in labels for part in parts] or list(parts)
        with NotEstimable():
            found = self._apply(data, self._interval_ends(level, kind, weight), dict.fromkeys(names, np.zeros(1)))
        if not isinstance(found, np.ndarray):
            return found
        keys = {"label": np.tile(self.estimator.classes_, len(found))} if labels else {}
        return Table({**keys, **dict(zip(parts, found.reshape(-1, 3).T, strict=True))})

    def _check_has_intervals(self) -> None:
        if not hasattr(self.estimator, "predict_interval"):
            raise ValueError(f"Model {self.model!r} has no prediction intervals. Choose linear, ridge or logistic.")

    def _interval_ends(
        self, level: float, kind: str, weight: float | None = None
    ) -> Callable[[Rows], NDArray[np.float64]]:
        """Return a function of rows: fit, low and high, for each label of three or more classes."""
        estimator, width = self.estimator, 3 * len(self.classes) if len(self.classes) > 2 else 3
        given = {} if weight is None else {"weight": weight}

        def ends(rows: Rows) -> NDArray[np.float64]:
            table = estimator.predict_interval(rows, level, kind, **given)
            return np.column_stack([table[name] for name in ("fit", "low", "high")]).reshape(-1, width)

        return ends

    def design_matrix(self, data: Any) -> Table:
        """Return the numbers that the model is fitted to: one column per term, as in `tidy`.

        Parameters
        ----------
        data : data frame, dict, path or table
            Data with the features.

        Returns
        -------
        Table
            A column of ones called ``Intercept`` if the model has one, then the columns of ``names``. ``to_pandas``
            and ``to_polars`` turn it into a data frame.
        """
        from linearly.kernels.matrices import dense_float64
        from linearly.table import Table

        rows = DesignRows(read_as(data, self.design), self.design.without_target())
        X = np.concatenate([dense_float64(block.X) for block in rows])
        first = {"Intercept": np.ones(len(X))} if getattr(self.estimator, "fit_intercept", True) else {}
        return Table({**first, **dict(zip(self.names, X.T, strict=True))})

    def evaluate(self, data: Any, *, positive: Any = None, level: float = 0.95) -> Evaluation:
        """Evaluate the model on data with the target.

        Parameters
        ----------
        data : data frame, dict, path or table
            Data with the features and the target.
        positive : label, default=None
            The label, of two, that precision, recall and the curves refer to. By default, it is the label given to
            `fit`, or else the rarer one in the data.
        level : float, default=0.95
            Confidence level of the intervals.

        Returns
        -------
        Evaluation
            Tables of metrics with intervals, and findings.
        """
        from linearly.findings.evaluation import evaluate

        return evaluate(self, self.design_rows(data), positive=positive, level=level)

    def summary(self) -> Summary:
        """Return the fit on one screen, with its formula, the rows left out and the baseline levels."""
        from linearly.inference.summaries import model_summary
        from linearly.report.term_facts import references

        own = model_summary(self.estimator, self._formula_text())
        baselines = {name.partition("[")[0]: level for name, level in references(self.design).items()}
        notes = [f"Baseline levels: {', '.join(f'{name} {level}' for name, level in baselines.items())}."]
        were = "was" if self.n_dropped == 1 else "were"
        dropped = f"{pluralize(self.n_dropped, 'row')} with missing values {were} left out."
        return replace(own, notes=(*(notes if baselines else ()), *([dropped] if self.n_dropped else ()), *own.notes))

    def _formula_text(self) -> str:
        """Return the formula of the fit; for a fit of a target, the target and its features as in R's summary."""
        text = self.design.formula
        if text is None:
            names = [quote_name(name) for name in (self.target, *self.design.features)]
            more = len(names) - 1 - _MAX_FORMULA_TERMS
            rest = [f"… ({more} more columns)"] if more > 0 else []
            text = f"{names[0]} ~ {' + '.join([*names[1 : _MAX_FORMULA_TERMS + 1], *rest])}"
        return f"{text}, weights {self.design.weight}" if self.design.weight else text

    def tidy(self, *, level: float = 0.95, standardized: bool = False, partial: bool = False) -> Table:
        """Return a table with one row per term; see `linearly.tidy`.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level.
        standardized : bool, default=False
            Add the coefficients of a linear model in standard deviations of columns and target.
        partial : bool, default=False
            Add the partial R² of each term of a linear model.

        Returns
        -------
        Table
            The columns that `linearly.tidy` describes.
        """
        from linearly.inference.tidy import tidy

        return tidy(self.estimator, level=level, standardized=standardized, partial=partial)

    def glance(self) -> Table:
        """Return a table with one row for the model; see `linearly.glance`."""
        from linearly.inference.glance import glance

        return glance(self.estimator)

    def augment(self, data: Any) -> Table:
        """Return a table with one row per row of the fitted data; see `linearly.augment`.

        Parameters
        ----------
        data : data frame, dict, path or table
            Rows of the fit, with features and target.

        Returns
        -------
        Table
            The columns that `linearly.augment` describes.
        """
        from linearly.inference.augment import augment

        return augment(self, data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one JSON file; see `load`.

        Parameters
        ----------
        path : str or path-like
            File to write; an existing one is replaced.

        Raises
        ------
        ValueError
            If the model cannot be written so that it can be loaded again.
        """
        from linearly.export.model_file import save

        save(self, path)

    def report(self, path: str | os.PathLike[str], data: Any, **options: Any) -> None:
        """Write a self-contained HTML page about the model on these data.

        Parameters
        ----------
        path : str or path-like
            File to write.
        data : data frame, dict, path or table
            Data with the features and the target.
        **options
            Options for the report.
        """
        from linearly.report.render import write_report

        write_report(self, data, path, **options)

    def __add__(self, other: Any) -> Self:
        """Return the model of the rows of both, without reading either; raise if they share a block of rows."""
        return self._combine(other, operator.add)

    def __sub__(self, other: Any) -> Self:
        """Return the model without the other's rows; raise if they were never part of it."""
        return self._combine(other, operator.sub)

    def _combine(self, other: Any, combine: Callable[[Any, Any], Any]) -> Self:
        if not isinstance(other, Model):
            return NotImplemented  # type: ignore[no-any-return]
        self._check_same_design(other)
        ledger = combine(self.ledger, other.ledger)
        one, two = self._with_levels_of(other), other._with_levels_of(self)
        n_dropped = combine(self.n_dropped, other.n_dropped)
        return one._with(combine(one.estimator, two.estimator), one.design, ledger, n_dropped)

    def _with(self, estimator: Any, design: Design, ledger: BlockLedger, n_dropped: int) -> Self:
        return type(self)(
            estimator, design, self.model, ledger=ledger, n_dropped=n_dropped, note=self.note, positive=self.positive
        )

    def _with_levels_of(self, other: Model) -> Self:
        """Return the model with the levels that only the other has, for which it has no rows."""
        if self.design.covers(other.design):
            return self
        names = {name: j for j, name in enumerate(self.names)}
        columns = np.array([names.get(name, -1) for name in other.names], dtype=np.intp)
        estimator = copy(self.estimator)
        for name in ("summary_", "folds_"):
            if hasattr(estimator, name):
                setattr(estimator, name, add_zero_columns(getattr(estimator, name), columns))
        estimator.n_features_in_ = len(columns)
        estimator.feature_names_in_ = np.array(other.names, dtype=object)
        return self._with(estimator, replace(self.design, terms=other.design.terms), self.ledger, self.n_dropped)

    def _check_same_design(self, other: Model) -> None:
        if self.model != other.model:
            raise ValueError(
                f"The models differ in kind ({self.model} and {other.model}), so they cannot be combined. Fit "
                "both with the same model=."
            )
        covered = self.design.covers(other.design) or other.design.covers(self.design)
        if not covered or self.target != other.target or self.classes != other.classes:
            raise ValueError(
                "The models have different columns, levels or labels, so they cannot be combined. Fit both with the "
                'design of one: ly.fit(data, like=model, …), with unseen="extend" if the data have new levels.'
            )
        check_same_settings({"weight": self.design.weight}, {"weight": other.design.weight})
        if not hasattr(type(self.estimator), "__add__"):
            raise ValueError(
                f"Model {self.model!r} cannot be combined, because it is not computed from sums over "
                "rows. Fit all rows together."
            )

    def _new_tables(self, data: Any, keep: Sequence[str] = ()) -> Tables:
        answers = {"prediction", *(f"probability[{label}]" for label in self.classes)}
        for name in keep:
            if name in answers:
                raise ValueError(
                    f"Column {name!r} cannot be kept, because the predictions have a column of that name. Rename it."
                )
        tables = read_as(data, self.design)
        needed = self.design.without_target().required_columns
        check_columns_known([*needed, *keep], tables.schema)
        # A model without terms reads a column only to count the rows.
        return tables.select(list(dict.fromkeys([*needed, *keep])) or list(tables.schema)[:1])

    def _apply(
        self, data: Any, method: Callable[[Rows], NDArray[Any]], kinds: Mapping[str, Any], keep: Sequence[str] = ()
    ) -> Any:
        """Return an array for rows in this process, and columns beside their rows on a cluster."""
        block = None if keep else self.design.block_of_one_row(data)
        if block is not None:
            return method(SingleBlockRows(block))
        tables: Any = self._new_tables(data, keep)
        predict_chunk = PredictChunk(self.design.without_target(), method)
        if hasattr(tables, "with_predictions"):
            return tables.with_predictions(predict_chunk, kinds, keep)
        return np.concatenate([predict_chunk(chunk) for chunk in tables])

    def _example(self) -> NDArray[Any]:
        """Return predictions of the type that all have; if rows are dropped, theirs are missing."""
        example: NDArray[Any] = self.estimator.classes_ if self.classes else np.zeros(1)
        return example.astype(object) if self.classes and self.design.missing == "drop" else example

    def _predict_chunk(
        self, chunk: Chunk, keep: Sequence[str], interval: tuple[float, str] | None = None
    ) -> Mapping[str, Any]:
        columns: dict[str, Any] = {name: chunk.frame[name].to_arrow() for name in keep}
        design = self.design.without_target()
        columns["prediction"] = PredictChunk(design, self.estimator.predict)(chunk)
        if hasattr(self.estimator, "predict_proba"):
            probabilities = PredictChunk(design, self.estimator.predict_proba)(chunk)
            columns |= {f"probability[{label}]": probabilities[:, k] for k, label in enumerate(self.classes)}
        if interval is not None:
            ends = PredictChunk(design, self._interval_ends(*interval))(chunk)
            labels = [f"[{label}]" for label in (self.classes if len(self.classes) > 2 else self.classes[1:])] or [""]
            for k, label in enumerate(labels):
                columns |= {f"low{label}": ends[:, 3 * k + 1], f"high{label}": ends[:, 3 * k + 2]}
        return columns
