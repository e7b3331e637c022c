"""Features of e-mails: counts of chosen words, and properties of the writing and its links."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from html.parser import HTMLParser
from itertools import groupby
from typing import Any, Self
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from linearly.kernels.double_double import Array

SPAM_WORDS = (
    "free", "money", "winner", "prize", "lottery", "claim", "award", "congratulations", "million", "cash",
    "credit", "loan", "offer", "order", "click", "remove", "unsubscribe", "guarantee", "urgent", "account",
)  # fmt: skip
STRUCTURE = (
    "word_count",
    "exclamation_marks",
    "currency_signs",
    "digit_share",
    "capital_share",
    "longest_capital_run",
    "links",
    "mismatched_links",
    "address_links",
)

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_TAG = re.compile(r"<[a-zA-Z/!][^>]*>")
_MARKDOWN = re.compile(r"\[([^\]\n]+)\]\(\s*<?(\S+?)>?\s*\)")
_URL = re.compile(r"\bhttps?://[^\s<>\"')\]]+", re.IGNORECASE)
_HOST = re.compile(r"(?:https?://)?(?:[^\s/@]+@)?((?:[\w-]+\.)+[^\W\d]{2,}|\d+(?:\.\d+){3})(?=[/:?#]|$)", re.IGNORECASE)
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}|\[?[0-9a-f]*:[0-9a-f:]+\]?", re.IGNORECASE)


def spam_features(
    texts: Iterable[str], words: Sequence[str] = SPAM_WORDS, *, bias: bool = False, structure: bool = True
) -> Array:
    """Return features of each text: a constant, counts of words, and properties of the writing.

    ``SpamFeatures(words, ...).get_feature_names_out()`` returns their names.

    Parameters
    ----------
    texts : iterable of str
        One string per e-mail.
    words : sequence of str, default=SPAM_WORDS
        Words or phrases to count.
    bias : bool, default=False
        If True, the first feature is a constant 1, for models without an intercept.
    structure : bool, default=True
        If True, add the features of the writing and the links.

    Returns
    -------
    ndarray of shape (n, n_features)
        bias
            Always 1, if requested.
        each of the words
            How often it occurs as a whole word, in any case, in the visible text (HTML tags do not count). A phrase of
            several words counts too.
        word_count, exclamation_marks, currency_signs
            Counts; currency signs are $, €, £, ¥.
        digit_share, capital_share
            Digits among all characters that are not blank, capitals among all letters.
        longest_capital_run
            The largest number of consecutive capital letters.
        links, mismatched_links, address_links
            Links (HTML, Markdown or bare); those whose text names a different site from their target; those to a
            numeric address.

    Examples
    --------
    Weights −3 for the bias, 4 for "free" and 2 for "money" sum to 3 > 0: spam.

    >>> import linearly as ly
    >>> x = ly.spam_features(["free money"], ["free", "money"], bias=True, structure=False)
    >>> x
    array([[1., 1., 1.]])
    >>> x @ [-3, 4, 2]
    array([3.])
    """
    return SpamFeatures(words, bias=bias, structure=structure).transform(texts)


class SpamFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Compute `spam_features` as a scikit-learn transformer, for pipelines.

    Parameters
    ----------
    words : sequence of str
        Words or phrases to count; `SPAM_WORDS` by default.
    bias : bool, default=False
        If True, the first feature is a constant 1.
    structure : bool, default=True
        If True, add the features of the writing and the links.

    Examples
    --------
    >>> features = SpamFeatures(["free", "money"], bias=True, structure=False)
    >>> features.get_feature_names_out().tolist()
    ['bias', 'free', 'money']
    >>> features.transform(["Free! FREE money; freedom is no match."])
    array([[1., 2., 1.]])
    """

    def __init__(self, words: Sequence[str] = SPAM_WORDS, *, bias: bool = False, structure: bool = True) -> None:
        self.words = words
        self.bias = bias
        self.structure = structure

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters and the texts.

        Parameters
        ----------
        X : list of str, or column of shape (n_texts, 1)
            E-mails as text.
        y : object, optional
            Not used.

        Returns
        -------
        SpamFeatures
            The transformer.
        """
        self.get_feature_names_out()
        _texts(X)
        return self

    def transform(self, X: Any) -> Array:
        """Compute the features of texts.

        Parameters
        ----------
        X : list of str, or column of shape (n_texts, 1)
            E-mails as text.

        Returns
        -------
        ndarray of shape (n_texts, n_features)
            One row of features per text.
        """
        names = self.get_feature_names_out()
        patterns = [_whole_word(word) for word in self.words]
        texts = _texts(X)
        features = np.empty((len(texts), len(names)))
        for row, text in zip(features, texts, strict=True):
            seen = html.unescape(_TAG.sub(" ", text))
            counts = [float(len(pattern.findall(seen))) for pattern in patterns]
            row[:] = [1.0] * bool(self.bias) + counts + (_structure(text, seen) if self.structure else [])
        return features

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features.

        Parameters
        ----------
        input_features : object, optional
            Not used.

        Returns
        -------
        ndarray of str
            One name per feature.

        Raises
        ------
        ValueError
            If a word is not text, or two features would have the same name.
        """
        if isinstance(self.words, str) or not all(isinstance(word, str) and word.strip() for word in self.words):
            raise ValueError(f"words must be a sequence of words, not {self.words!r}.")
        names = [*["bias"] * bool(self.bias), *self.words, *(STRUCTURE if self.structure else ())]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"Two features would have the name {', '.join(map(repr, twice))}. Leave these words out.")
        return np.array(names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.requires_fit = False
        return tags


def _texts(texts: Any) -> list[str]:
    if isinstance(texts, (str, bytes)):
        raise ValueError("texts must be a list with one string per e-mail, not a single string. Wrap it in [ ].")
    if getattr(texts, "ndim", 1) == 2 and texts.shape[1] == 1:
        texts = np.asarray(texts)[:, 0]
    found = list(texts)
    for i, text in enumerate(found):
        if not isinstance(text, str):
            raise ValueError(f"Text {i} is {type(text).__name__}, not a string. Convert it to a string.")
    return found


def _whole_word(phrase: str) -> re.Pattern[str]:
    """Return a pattern for the phrase as whole words, in any case, separated by any blanks."""
    return re.compile(r"(?<!\w)" + r"\s+".join(map(re.escape, phrase.split())) + r"(?!\w)", re.IGNORECASE)


def _structure(text: str, seen: str) -> list[float]:
    characters = sum(not c.isspace() for c in seen)
    letters = sum(map(str.isalpha, seen))
    runs = [len(list(run)) for capital, run in groupby(seen, str.isupper) if capital]
    links = _links(text)
    return [
        float(len(_WORD.findall(seen))),
        float(seen.count("!")),
        float(sum(map(seen.count, "$€£¥"))),
        sum(map(str.isdigit, seen)) / characters if characters else 0.0,
        sum(runs) / letters if letters else 0.0,
        float(max(runs, default=0)),
        float(len(links)),
        float(sum(_mismatched(shown, target) for shown, target in links)),
        float(sum(_ADDRESS.fullmatch(_host(target)) is not None for _, target in links)),
    ]


def _links(text: str) -> list[tuple[str, str]]:
    """Return (text, target) of each link: HTML anchors, Markdown links, then bare addresses outside both."""
    anchors = _Anchors()
    anchors.feed(text.replace("<![", " "))  # the parser gives up on a marked section that it does not know
    anchors.close()
    rest = "".join(anchors.outside)
    marked = [(shown, target) for shown, target in _MARKDOWN.findall(rest)]
    bare = _URL.findall(_MARKDOWN.sub(" ", rest))
    return [*anchors.links, *marked, *((url, url) for url in bare)]


class _Anchors(HTMLParser):
    """The links of an HTML text, and the text outside them. Text that is not HTML stays text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[tuple[str, str]] = []
        self.outside: list[str] = []
        self._target: str | None = None
        self._shown: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = dict(attrs).get("href") if tag == "a" else None
        if target:
            self._end()
            self._target = target

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._end()

    def handle_data(self, data: str) -> None:
        (self.outside if self._target is None else self._shown).append(data)

    def close(self) -> None:
        super().close()
        self._end()

    def _end(self) -> None:
        if self._target is not None:
            self.links.append(("".join(self._shown), self._target))
        self._target, self._shown = None, []


def _host(url: str) -> str:
    try:
        return (urlsplit(url.strip() if "//" in url else f"//{url.strip()}").hostname or "").removeprefix("www.")
    except ValueError:  # an address so malformed that it leads nowhere
        return ""


def _mismatched(shown: str, target: str) -> bool:
    """Return whether the text of a link names another site than its target."""
    named = _HOST.match(shown.strip())
    if named is None or not target.lower().strip().startswith(("http:", "https:", "//")):
        return False
    a, b = _host(named[1].lower()), _host(target.lower())
    return a != b and not a.endswith(f".{b}") and not b.endswith(f".{a}")
