"""The front door: `fit` takes data as people have them, and gives a `Model` that takes such data too.

model = ly.fit("carseats.csv", target="Sales")
model = ly.fit(frame, formula="Sales ~ . + Income:Advertising", model="ridge")
model.predict("new.parquet", out="answers.parquet")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.ledger import Ledger, LedgerRows
from linearly.algorithm.remarks import remark
from linearly.dataset.design import Design, DesignRows, design_of, refuse_options
from linearly.dataset.kept import kept
from linearly.dataset.misread import Misread, misread
from linearly.dataset.present import learnt
from linearly.dataset.rows import OneBlock, Rows
from linearly.dataset.sources import as_tables
from linearly.dataset.tables import Chunk, Tables, known_columns, with_text
from linearly.dataset.wording import shown
from linearly.models.registry import MODELS, classifies, estimator_of

if TYPE_CHECKING:
    from linearly.evidence.evaluation import Evaluation
    from linearly.evidence.table import Summary, Table


def fit(
    data: Any,
    *,
    target: str | None = None,
    formula: str | None = None,
    model: str = "auto",
    features: Sequence[str] | None = None,
    weight: str | None = None,
    missing: str = "error",
    unseen: str = "error",
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
    weight : a column of row weights.
    missing : rows with missing values are an "error", or are left out ("drop").
    unseen : a level that comes only at prediction is an "error", or counts as the "reference".
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
    tables = as_tables(data)
    if like is not None:
        _refuse_beside_like(like, (target, formula, features, weight), missing, unseen)
        tables = with_text(tables, like.design.texts)
        design, note = like.design, ""
        chosen = like.model if model == "auto" else _choose(model, design)[0]
        params = _like_params(like, params) if chosen == like.model else params
        if missing != "error":
            design = replace(design, missing=missing)
    else:
        design = design_for(tables, target, formula, features, weight, missing, unseen)
        chosen, note = _choose(model, design)
    if classifies(chosen):
        design = design.with_labels()
    design = learnt(_as_read_by(chosen, design), tables)
    _refuse_namesakes(design)
    if like is None:
        _doubt_text(design, tables, certain=model != "auto")
    _refuse_one_class(design)
    estimator = _unfitted(chosen, params, design)
    plain = DesignRows(tables, design)
    rows = LedgerRows(kept(plain) if MODELS[chosen].iterates else plain)
    estimator.fit(rows)
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
    missing: str = "error",
    unseen: str = "error",
) -> Design:
    """The design that is asked for by a target or a formula, nothing learnt of the rows yet."""
    if (target is None) == (formula is None):
        raise ValueError('Say what to predict: either target="column" or formula="column ~ terms", one of the two.')
    if formula is None:
        return design_of(tables.schema, target=target, features=features, weight=weight, missing=missing, unseen=unseen)
    if features is not None:
        raise ValueError("A formula names its own features: leave features= out.")
    refuse_options(missing, unseen)
    from linearly.dataset.formula import formula_design

    design = formula_design(formula, tables.schema, unseen=unseen, without=(weight,) if weight else ())
    if weight is not None:
        known_columns([weight], tables.schema, "weight column")
    return replace(design, weight=weight, missing=missing)


def _refuse_beside_like(like: Any, design: tuple[Any, ...], missing: str, unseen: str) -> None:
    """Refuse what is no model, and what is asked for beside it though the model brings it."""
    if not isinstance(like, Model):
        raise TypeError(f"like= takes a fitted Model, not {type(like).__name__}; ly.load(path) reads one.")
    if any(part is not None for part in design):
        raise ValueError("like= brings its own target, features and weight: leave those out.")
    refuse_options(missing, unseen)
    if unseen != "error":
        raise ValueError("like= brings its own levels, and what becomes of those it has not: leave unseen= out.")


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
    return replace(design, doubled=not classifies(model))


def _like_params(like: Model, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a model, changed as asked; of ridge with an alpha of its own and without, what both have."""
    known: dict[str, Any] = like.estimator.get_params()
    if not params.keys() <= known.keys():
        known = {name: value for name, value in known.items() if name == "fit_intercept"}
    return known | params


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


def _doubt_text(design: Design, tables: Tables, *, certain: bool) -> None:
    """Warn of text that was meant for numbers; refuse it as a target unless it is `certain` that it holds labels."""
    assert design.target is not None

    def doubted(name: str, levels: Sequence[Any]) -> Misread | None:
        found = misread(levels) if levels and tables.schema.get(name) == nw.String else None
        return found if found is not None and (found.words or found.marked) else None

    for name, levels in {factor.name: factor.levels for factor in design.categories}.items():
        found = doubted(name, levels)
        if found is not None:
            remark(
                f"Column {name!r} is text and becomes {len(levels)} levels, though {found}. Correct it, or leave the "
                "column out.",
                UserWarning,
            )
    target = design.target.factor.label
    found = doubted(target, design.target.classes)
    if found is not None and not certain:
        raise ValueError(
            f"The target {target!r} is text, though {found}. Correct it; or, if these are labels, choose "
            'model="logistic".'
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
        ledger: Ledger | None = None,
        n_dropped: int = 0,
        note: str = "",
    ) -> None:
        self.estimator, self.design, self.model = estimator, design, model
        self.ledger = Ledger() if ledger is None else ledger
        self.n_dropped, self.note = n_dropped, note

    def __repr__(self) -> str:
        return f"<linearly.Model {self.model}: {self.target} on {len(self.names)} columns>"

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

    def rows(self, data: Any) -> DesignRows:
        """The rows of data that has the target too, as numbers."""
        return DesignRows(with_text(as_tables(data), self.design.texts), self.design)

    def predict(self, data: Any, *, out: str | os.PathLike[str] | None = None, keep: Sequence[str] = ()) -> Any:
        """Predictions, one for each row, in order; a row with missing values gets NaN (or None) if those are dropped.

        With ``out``, a path ending in .csv or .parquet, they are written there chunk by chunk, with probabilities where
        the model has them and the columns named in ``keep``, and the number of rows is returned.
        """
        if out is None:
            return np.concatenate([self._answers(chunk)["prediction"] for chunk in self._new_tables(data, keep)])
        from linearly.dataset.files import write_tables
        from linearly.dataset.locations import refuse_overwriting

        refuse_overwriting(out, data)
        return write_tables(out, self.answers(data, keep=keep))

    def answers(
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

    def predict_proba(self, data: Any) -> NDArray[np.float64]:
        """Probabilities, rows × labels in the order of ``classes``."""
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError(f"model {self.model!r} has scores but no probabilities: choose logistic, lda or qda.")
        return np.concatenate([self._asked(chunk, self.estimator.predict_proba) for chunk in self._new_tables(data)])

    def predict_interval(self, data: Any, level: float = 0.95, kind: str = "confidence") -> Table:
        """A Table ``fit, low, high`` for linear and ridge models; every row keeps its place, as in `predict`."""
        if not hasattr(self.estimator, "predict_interval"):
            raise ValueError(f"model {self.model!r} has no intervals for its predictions: choose linear or ridge.")
        from linearly.evidence.table import Table

        names = ("fit", "low", "high")

        def ends(rows: Rows) -> NDArray[np.float64]:
            table = self.estimator.predict_interval(rows, level, kind)
            return np.column_stack([table[name] for name in names])

        found = np.concatenate([self._asked(chunk, ends) for chunk in self._new_tables(data)])
        return Table(dict(zip(names, found.T, strict=True)))

    def evaluate(self, data: Any, *, positive: Any = None, level: float = 0.95) -> Evaluation:
        """How good the model is on data that has the target."""
        from linearly.evidence.evaluation import evaluate

        return evaluate(self.estimator, self.rows(data), positive=positive, level=level)

    def summary(self) -> Summary:
        """The fit on one screen."""
        from linearly.evidence.model_summary import model_summary

        return model_summary(self.estimator, self.target)

    def tidy(self, *, level: float = 0.95) -> Table:
        """A row for each term."""
        from linearly.evidence.inference import tidy

        return tidy(self.estimator, level=level)

    def glance(self) -> Table:
        """One row for the model."""
        from linearly.evidence.inference import glance

        return glance(self.estimator)

    def augment(self, data: Any) -> Table:
        """A row for each row of the data that the model was fitted to."""
        from linearly.evidence.inference import augment

        return augment(self.estimator, self.rows(data))

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
        return self._like(self.estimator + other.estimator, ledger, self.n_dropped + other.n_dropped)

    def __sub__(self, other: Any) -> Self:
        """The model without the other's rows; refused where they were never part of it."""
        if not isinstance(other, Model):
            return NotImplemented
        self._refuse_other_design(other)
        ledger = self.ledger - other.ledger
        return self._like(self.estimator - other.estimator, ledger, self.n_dropped - other.n_dropped)

    def _like(self, estimator: Any, ledger: Ledger, n_dropped: int) -> Self:
        return type(self)(estimator, self.design, self.model, ledger=ledger, n_dropped=n_dropped, note=self.note)

    def _refuse_other_design(self, other: Model) -> None:
        if self.model != other.model:
            raise ValueError(f"These are models of two kinds: {self.model} and {other.model}.")
        if self.design.terms != other.design.terms or self.target != other.target or self.classes != other.classes:
            raise ValueError(
                "These models see their columns differently (other columns, levels or labels), so they cannot be "
                "combined. Fit both with the design of one: ly.fit(data, like=model, …)."
            )
        if not hasattr(type(self.estimator), "__add__"):
            raise ValueError(f"Model {self.model!r} is not read off a sum over rows: fit all rows together instead.")

    def _new_tables(self, data: Any, keep: Sequence[str] = ()) -> Tables:
        answers = {"prediction", *(f"probability[{label}]" for label in self.classes)}
        for name in keep:
            if name in answers:
                raise ValueError(f"The column {name!r} cannot be kept: the answers have a column of that name.")
        tables = with_text(as_tables(data), self.design.texts)
        needed = self.design.for_new_rows().needs
        known_columns([*needed, *keep], tables.schema)
        return tables.select(list(dict.fromkeys([*needed, *keep])))

    def _new_rows(self, data: Any) -> Rows:
        return DesignRows(self._new_tables(data), self.design.for_new_rows())

    def _asked(self, chunk: Chunk, ask: Callable[[Rows], NDArray[Any]]) -> NDArray[Any]:
        design = self.design.for_new_rows()
        answer = ask(OneBlock(design.block(chunk)))
        complete = design.complete(chunk) if design.missing == "drop" else None
        if complete is None:
            return answer
        # Rows that were dropped keep their place: their answer is missing too.
        shape = (len(chunk), *answer.shape[1:])
        missing = np.full(shape, np.nan) if answer.dtype.kind == "f" else np.full(shape, None, dtype=object)
        missing[complete] = answer
        return missing

    def _answers(self, chunk: Chunk) -> dict[str, NDArray[Any]]:
        return {"prediction": self._asked(chunk, self.estimator.predict)}

    def _table(self, chunk: Chunk, keep: Sequence[str]) -> Mapping[str, Any]:
        columns: dict[str, Any] = {name: chunk.frame[name].to_arrow() for name in keep}
        columns |= self._answers(chunk)
        if hasattr(self.estimator, "predict_proba"):
            probabilities = self._asked(chunk, self.estimator.predict_proba)
            columns |= {f"probability[{label}]": probabilities[:, k] for k, label in enumerate(self.classes)}
        return columns
