"""The front door: `fit` takes data as people have them, and gives a `Model` that takes such data too.

model = ly.fit("carseats.csv", target="Sales")
model = ly.fit(frame, formula="Sales ~ . + Income:Advertising", model="ridge")
model.predict("new.parquet", out="answers.parquet")
"""

from __future__ import annotations

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
from linearly.dataset.design.design import Design, DesignRows, check_groups, check_policies, design_of
from linearly.dataset.design.missing_markers import as_markers, without_markers
from linearly.dataset.design.numeric_text_checks import check_no_numeric_text
from linearly.dataset.design.zero_weights import extend_design, fit_design
from linearly.dataset.rows.block import Rows
from linearly.dataset.rows.tables import Chunk, Tables, known_columns
from linearly.dataset.sources import as_tables, read_as
from linearly.exceptions import warn_at_caller
from linearly.formatting import shown, visible
from linearly.models.base import check_same_settings
from linearly.models.estimability import NotEstimable
from linearly.models.registry import MODELS, classifies, estimator_of

_FEW_LABELS = 20  # however few rows there are

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
    groups: str | None = None,
    missing: str = "error",
    unseen: str = "error",
    na_values: Sequence[str] = (),
    like: Model | None = None,
    **params: Any,
) -> Model:
    """Fit a model to a data frame, a dict of columns, files, or a table on a cluster.

    Parameters
    ----------
    data : a pandas, polars, Arrow or Dask data frame, a Spark DataFrame, a dict of columns, a path, a glob, a list of
        paths, a directory, an open file, or anything with an Arrow stream.
    target : the column to predict; all other columns are features unless ``features`` names them.
    formula : instead of target and features, as in R: ``"Sales ~ . + Income:Advertising + log(Price)"``.
    model : "auto" is linear for a numeric target and logistic for labels; or one of "linear", "ridge", "logistic",
        "lda", "qda", "least-squares", "perceptron", "batch", "pocket", "voted", "averaged".
    weight : a column of row weights; a row of weight 0 is absent. In linear and ridge models they are analytic, as in
        R's lm: the variance of a row is σ²/w. In all others a row of weight 2 counts as two rows. Robust covariances
        (``covariance="HC0"`` … ``"cluster"``) take weights as those of a sample: each row is one observation, and all
        weights times a constant change nothing.
    groups : a column that says which rows belong together, for a linear or logistic model with
        ``covariance="cluster"``, which it implies. It is no feature unless ``features`` or ``formula`` names it.
    missing : rows with missing values are an "error", or are left out ("drop").
    unseen : a level that comes only at prediction is an "error", or counts as the "reference". With ``like``, a level
        that the model does not have is an "error", or is added ("extend"); the two models can be added then too.
    na_values : texts that stand for missing values, such as ``["-", "?"]``; the model reads new data so too.
    like : a model whose columns, levels and labels these data are to be read with, so that the two can be added; rows
        with missing values are met as it does, unless ``missing="drop"`` asks otherwise.
    params : passed on to the estimator, such as ``alpha=1.0``.

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
        _refuse_beside_like(like, (target, formula, features, weight, groups), missing, unseen)
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
            raise ValueError('unseen="extend" adds levels to those of a model: give the model by like=.')
        tables = without_markers(as_tables(data), markers)
        design = design_for(tables, target, formula, features, weight, groups, missing, unseen)
        design = replace(design, na_values=markers)
        chosen, note = _choose(model, design)
    if design.groups is not None:
        params = _with_clusters(chosen, params)
    if classifies(chosen):
        design = design.with_labels()
    design = fit_design(_as_read_by(chosen, design), tables)
    _refuse_namesakes(design)
    if like is None:
        for told in check_no_numeric_text(design, tables, certain=model != "auto"):
            warn_at_caller(told, UserWarning)
        if model == "auto":
            _refuse_nearly_unique(design, tables)
    _refuse_one_class(design)
    estimator = _unfitted(chosen, params, design)
    plain = DesignRows(tables, design if like is None else design.being_fitted())
    rows = FingerprintingRows(cache_in_memory(plain) if MODELS[chosen].iterates else plain)
    estimator.fit(rows, **({} if design.groups is None else {"groups": design.groups}))
    return Model(estimator, design, chosen, ledger=rows.ledger, n_dropped=rows.rows.n_dropped, note=note)


def load(path: str | os.PathLike[str]) -> Model:
    """The model that `Model.save` wrote; damaged or hostile files are refused, and nothing in them is run."""
    from linearly.export.model_file import read

    saved = read(path)
    return Model(
        saved.estimator,
        _as_read_by(saved.model, saved.design),
        saved.model,
        ledger=saved.ledger,
        n_dropped=saved.n_dropped,
        note=saved.note,
    )


def design_for(
    tables: Tables,
    target: str | None,
    formula: str | None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    groups: str | None = None,
    missing: str = "error",
    unseen: str = "error",
) -> Design:
    """The design that is asked for by a target or a formula, nothing learnt of the rows yet."""
    if (target is None) == (formula is None):
        raise ValueError('Say what to predict: either target="column" or formula="column ~ terms", one of the two.')
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
        raise ValueError("A formula names its own features: leave features= out.")
    check_policies(missing, unseen)
    from linearly.dataset.design.from_formula import formula_design

    without = [name for name in (weight, groups) if name]
    design = formula_design(formula, tables.schema, unseen=unseen, without=without)
    for name, what in ((weight, "weight column"), (groups, "column of groups")):
        known_columns([] if name is None else [name], tables.schema, what)
    for name in () if design.target is None else design.target.factor.required_columns:
        check_groups(groups, name, weight)
    return replace(design, weight=weight, groups=groups, missing=missing)


def _refuse_beside_like(like: Any, design: tuple[Any, ...], missing: str, unseen: str) -> None:
    """Refuse what is no model, and what is asked for beside it though the model brings it."""
    if not isinstance(like, Model):
        raise TypeError(f"like= takes a fitted Model, not {type(like).__name__}; ly.load(path) reads one.")
    if any(part is not None for part in design):
        raise ValueError("like= brings its own target, features, weight and groups: leave those out.")
    check_policies(missing, "error" if unseen == "extend" else unseen)
    if unseen == "reference":
        raise ValueError(
            'unseen="reference" cannot be combined with like=: what its model does at prediction is kept, and in a fit '
            'a new level is an error. To have it so, leave unseen= out; to add new levels, choose unseen="extend".'
        )


def _choose(model: str, design: Design) -> tuple[str, str]:
    assert design.target is not None
    labels = design.target.labels
    if model == "auto":
        chosen = "logistic" if labels else "linear"
        kind = "labels" if labels else "numbers"
        return chosen, f"model {chosen!r} was chosen because {design.target.factor.label!r} holds {kind}"
    if model not in MODELS:
        raise ValueError(f"model must be one of auto, {', '.join(MODELS)}, not {model!r}.")
    if labels and not classifies(model):
        raise ValueError(
            f"The target {design.target.factor.label!r} holds labels, and model {model!r} predicts numbers. Choose "
            'model="logistic", or another classifier.'
        )
    return model, ""


def _as_read_by(model: str, design: Design) -> Design:
    """The design with powers as a model reads them: least squares has a use for what float64 cannot hold of them."""
    return replace(design, extended_powers=not classifies(model))


def _like_params(like: Model, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a model, changed as asked; of ridge with an alpha of its own and without, what both have."""
    known: dict[str, Any] = like.estimator.get_params()
    if not params.keys() <= known.keys():
        known = {name: value for name, value in known.items() if name == "fit_intercept"}
    return known | params


def _with_clusters(model: str, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters with a clustered covariance, which groups are for; models that have none are refused."""
    if "covariance" not in estimator_of(model, params).get_params():
        raise ValueError(
            f"groups= is for clustered standard errors, and model {model!r} has none. Leave it out, or choose "
            'model="linear" or model="logistic".'
        )
    return {"covariance": "cluster"} | params


def _unfitted(model: str, params: dict[str, Any], design: Design) -> Any:
    """The estimator that is asked for, without a constant where the formula has none."""
    estimator = estimator_of(model, params)
    if not design.intercept and "fit_intercept" not in params:
        if not hasattr(estimator, "fit_intercept"):
            raise ValueError(
                f'Model {model!r} always has a constant: leave "- 1" out of the formula, or choose model="logistic".'
            )
        estimator.set_params(fit_intercept=False)
    return estimator


def _refuse_one_class(design: Design) -> None:
    assert design.target is not None
    if len(design.target.classes) == 1:
        raise ValueError(
            f"The target {design.target.factor.label!r} has one class only, {shown(design.target.classes[0])}: a "
            "classifier needs rows of at least two classes."
        )


def _refuse_namesakes(design: Design) -> None:
    """Refuse two terms of one name, which no table could tell apart."""
    seen = {"Intercept"} if design.intercept else set()
    for name in design.names:
        if name in seen:
            raise ValueError(f"Two terms would be called {name!r}: rename the column of that name, or leave it out.")
        seen.add(name)


def _refuse_nearly_unique(design: Design, tables: Tables) -> None:
    """Refuse labels of which most rows have one of their own, unless a classifier was asked for."""
    assert design.target is not None
    K, name = len(design.target.classes), design.target.factor.label
    if K <= _FEW_LABELS:
        return
    rows = tables.select([name]).reduce(lambda chunk: len(chunk) - int(chunk.frame[name].null_count()))
    if rows < 2 * K:
        raise ValueError(
            f"The target {name!r} holds {K:,} different labels in {rows:,} rows, as names and identifiers do. Choose "
            'another target; or, if these are labels, choose model="logistic".'
        )


class Model:
    """A fitted estimator together with the design that makes numbers of users' columns.

    Attributes
    ----------
    estimator : the fitted scikit-learn estimator.
    design : columns, levels and terms.
    model : the name it was asked for by.
    names : the columns of the design, as in the tables of coefficients.
    ledger : fingerprints of the blocks it has learnt from; they keep the same rows from being added twice.
    n_dropped : rows left out because of missing values.
    note : how ``model="auto"`` was decided.
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
    ) -> None:
        self.estimator, self.design, self.model = estimator, design, model
        self.ledger = BlockLedger() if ledger is None else ledger
        self.n_dropped, self.note = n_dropped, note

    def __repr__(self) -> str:
        return visible(f"<linearly.Model {self.model}: {self.target} on {len(self.names)} columns>")

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the design."""
        return self.design.names

    @property
    def target(self) -> str:
        """What is predicted."""
        assert self.design.target is not None
        return self.design.target.factor.label

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels, in order; none for a regression."""
        return () if not classifies(self.model) else tuple(self.estimator.classes_.tolist())

    def design_rows(self, data: Any) -> DesignRows:
        """The rows of data that has the target too, as numbers."""
        tables, design = read_as(data, self.design), self.design
        if design.groups is not None and (design.missing != "drop" or design.groups not in tables.schema):
            design = replace(design, groups=None)  # they are for the fit; but rows without a group were dropped there
        return DesignRows(tables, design)

    def predict(
        self, data: Any, *, out: str | os.PathLike[str] | None = None, keep: Sequence[str] = (),
        escape_formulas: bool = False,
    ) -> Any:  # fmt: skip
        """Predictions, one for each row, in order; a row with missing values gets NaN (or None) if those are dropped.

        For a Dask data frame they are a Dask series with its index, or with ``keep`` a data frame. For a Spark
        DataFrame, whose rows have no order, they are a column ``prediction`` beside its columns or those of ``keep``.
        Both are computed where the rows are, when they are asked for.

        With ``out``, a path ending in .csv or .parquet, they are written there chunk by chunk, with probabilities where
        the model has them and the columns named in ``keep``, and the number of rows is returned. A label or a kept text
        such as ``=1+1`` is a formula to a spreadsheet: ``escape_formulas=True`` writes ``'=1+1`` into a CSV file.
        """
        if out is None:
            if escape_formulas:
                raise ValueError("escape_formulas is about a CSV file. Name one with out=, or leave it out.")
            with NotEstimable():
                return self._answered(data, self.estimator.predict, {"prediction": self._example()}, keep)
        from linearly.dataset.files.locations import check_not_overwriting
        from linearly.dataset.files.writers import write_tables

        check_not_overwriting(out, data)
        with NotEstimable():
            return write_tables(out, self.iter_predictions(data, keep=keep), escape_formulas=escape_formulas)

    def iter_predictions(
        self, data: Any, *, keep: Sequence[str] = (), watch: Callable[[Chunk], None] | None = None
    ) -> Iterator[Mapping[str, Any]]:
        """What `predict` writes, chunk by chunk: columns kept, predictions, probabilities where the model has them.

        ``watch`` is shown each chunk of the data before it is answered.
        """

        def seen(chunk: Chunk) -> Chunk:
            if watch is not None:
                watch(chunk)
            return chunk

        return (self._table(seen(chunk), keep) for chunk in self._new_tables(data, keep))

    def predict_proba(self, data: Any) -> Any:
        """Probabilities, rows × labels in the order of ``classes``; columns ``probability[label]`` on a cluster."""
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError(f"model {self.model!r} has scores but no probabilities: choose logistic, lda or qda.")
        kinds = {f"probability[{label}]": np.zeros(1) for label in self.classes}
        with NotEstimable():
            return self._answered(data, self.estimator.predict_proba, kinds)

    def predict_interval(self, data: Any, level: float = 0.95, kind: str = "confidence") -> Any:
        """A Table ``fit, low, high`` for linear and ridge models; every row keeps its place, as in `predict`.

        For rows on a cluster they are columns there.
        """
        if not hasattr(self.estimator, "predict_interval"):
            raise ValueError(f"model {self.model!r} has no intervals for its predictions: choose linear or ridge.")
        from linearly.table import Table

        names, estimator = ("fit", "low", "high"), self.estimator

        def ends(rows: Rows) -> NDArray[np.float64]:
            table = estimator.predict_interval(rows, level, kind)
            return np.column_stack([table[name] for name in names])

        with NotEstimable():
            found = self._answered(data, ends, dict.fromkeys(names, np.zeros(1)))
        return Table(dict(zip(names, found.T, strict=True))) if isinstance(found, np.ndarray) else found

    def evaluate(self, data: Any, *, positive: Any = None, level: float = 0.95) -> Evaluation:
        """How good the model is on data that has the target."""
        from linearly.evaluation.evaluate import evaluate

        return evaluate(self.estimator, self.design_rows(data), positive=positive, level=level)

    def summary(self) -> Summary:
        """The fit on one screen."""
        from linearly.inference.summaries import model_summary

        return model_summary(self.estimator, self.target)

    def tidy(self, *, level: float = 0.95) -> Table:
        """A row for each term."""
        from linearly.inference.tidy import tidy

        return tidy(self.estimator, level=level)

    def glance(self) -> Table:
        """One row for the model."""
        from linearly.inference.tidy import glance

        return glance(self.estimator)

    def augment(self, data: Any) -> Table:
        """A row for each row of the data that the model was fitted to."""
        from linearly.inference.tidy import augment

        return augment(self.estimator, self.design_rows(data))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one JSON file; see `load`."""
        from linearly.export.model_file import save

        save(self, path)

    def report(self, path: str | os.PathLike[str], data: Any, **options: Any) -> None:
        """Write one self-contained page about the model on these data."""
        from linearly.report.render import write_report

        write_report(self, data, path, **options)

    def __add__(self, other: Any) -> Self:
        """The model of both sets of rows, without either; refused where they share a block of rows."""
        if not isinstance(other, Model):
            return NotImplemented
        self._refuse_other_design(other)
        ledger = self.ledger + other.ledger
        one, two = self._with_levels_of(other), other._with_levels_of(self)
        return one._like(one.estimator + two.estimator, ledger, self.n_dropped + other.n_dropped)

    def __sub__(self, other: Any) -> Self:
        """The model without the other's rows; refused where they were never part of it."""
        if not isinstance(other, Model):
            return NotImplemented
        self._refuse_other_design(other)
        ledger = self.ledger - other.ledger
        one, two = self._with_levels_of(other), other._with_levels_of(self)
        return one._like(one.estimator - two.estimator, ledger, self.n_dropped - other.n_dropped)

    def _like(self, estimator: Any, ledger: BlockLedger, n_dropped: int) -> Self:
        return type(self)(estimator, self.design, self.model, ledger=ledger, n_dropped=n_dropped, note=self.note)

    def _with_levels_of(self, other: Model) -> Self:
        """The model with the levels that only the other has, no row of which it has seen."""
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
        design = replace(self.design, terms=other.design.terms)
        return type(self)(estimator, design, self.model, ledger=self.ledger, n_dropped=self.n_dropped, note=self.note)

    def _refuse_other_design(self, other: Model) -> None:
        if self.model != other.model:
            raise ValueError(f"These are models of two kinds: {self.model} and {other.model}.")
        covered = self.design.covers(other.design) or other.design.covers(self.design)
        if not covered or self.target != other.target or self.classes != other.classes:
            raise ValueError(
                "These models see their columns differently (other columns, levels or labels), so they cannot be "
                'combined. Fit both with the design of one: ly.fit(data, like=model, …), and unseen="extend" where '
                "the data have new levels."
            )
        check_same_settings({"weight": self.design.weight}, {"weight": other.design.weight})
        if not hasattr(type(self.estimator), "__add__"):
            raise ValueError(f"Model {self.model!r} is not read off a sum over rows: fit all rows together instead.")

    def _new_tables(self, data: Any, keep: Sequence[str] = ()) -> Tables:
        answers = {"prediction", *(f"probability[{label}]" for label in self.classes)}
        for name in keep:
            if name in answers:
                raise ValueError(f"The column {name!r} cannot be kept: the answers have a column of that name.")
        tables = read_as(data, self.design)
        needed = self.design.without_target().required_columns
        known_columns([*needed, *keep], tables.schema)
        return tables.select(list(dict.fromkeys([*needed, *keep])))

    def _new_rows(self, data: Any) -> Rows:
        return DesignRows(self._new_tables(data), self.design.without_target())

    def _answered(
        self, data: Any, ask: Callable[[Rows], NDArray[Any]], kinds: Mapping[str, Any], keep: Sequence[str] = ()
    ) -> Any:
        """What is asked of the estimator: an array for rows that are here, columns beside them for rows elsewhere."""
        tables: Any = self._new_tables(data, keep)
        asked = PredictChunk(self.design.without_target(), ask)
        if hasattr(tables, "with_predictions"):
            return tables.with_predictions(asked, kinds, keep)
        return np.concatenate([asked(chunk) for chunk in tables])

    def _example(self) -> NDArray[Any]:
        """A prediction, by its kind: those of rows that are dropped are missing."""
        example: NDArray[Any] = self.estimator.classes_ if self.classes else np.zeros(1)
        return example.astype(object) if self.classes and self.design.missing == "drop" else example

    def _table(self, chunk: Chunk, keep: Sequence[str]) -> Mapping[str, Any]:
        columns: dict[str, Any] = {name: chunk.frame[name].to_arrow() for name in keep}
        design = self.design.without_target()
        columns["prediction"] = PredictChunk(design, self.estimator.predict)(chunk)
        if hasattr(self.estimator, "predict_proba"):
            probabilities = PredictChunk(design, self.estimator.predict_proba)(chunk)
            columns |= {f"probability[{label}]": probabilities[:, k] for k, label in enumerate(self.classes)}
        return columns
