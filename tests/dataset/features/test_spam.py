"""Features of e-mails: the note's example, counting by hand, and any text at all (S2)."""

import doctest
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import linearly
from linearly.dataset.features.spam import SPAM_WORDS, STRUCTURE, SpamFeatures, spam_features


def structure(text):
    return dict(zip(STRUCTURE, spam_features([text], []).ravel().tolist(), strict=True))


def test_the_example_of_the_note():
    x = spam_features(["free money"], ["free", "money"], bias=True, structure=False)
    assert x.tolist() == [[1, 1, 1]]
    assert (x @ [-3, 4, 2]).tolist() == [3]  # > 0: spam
    ham = spam_features(["the money you asked for"], ["free", "money"], bias=True, structure=False)
    assert (ham @ [-3, 4, 2]).tolist() == [-1]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("free", 1),
        ("Free, FREE: free!", 3),
        ("freedom carefree free2 _free", 0),
        ("free-of-charge", 1),
        ("FR<b>EE</b> f r e e", 0),
        ("<p>free</p>", 1),
        ("<a href='http://free.example/free'>here</a>", 0),
        ("&#102;ree", 1),
        ("", 0),
    ],
)
def test_words_of_an_html_message_are_the_visible_ones(text, count):
    assert spam_features([text], ["free"], structure=False).tolist() == [[count]]


def test_phrases_and_other_alphabets():
    x = spam_features(
        ["Act  NOW!\nact\tnow, act nowadays. Größe größe ΤΏΡΑ τώρα"],
        ["act now", "GRÖSSE", "größe", "τώρα"],
        structure=False,
    )
    assert x.tolist() == [[2, 0, 2, 2]]
    assert spam_features(["a+b (c)"], ["a+b", "(c)"], structure=False).tolist() == [[1, 1]]


def test_writing_by_hand():
    found = structure("WIN 100 $ NOW!!! Don't wait, Éloïse")
    assert found["word_count"] == 6
    assert found["exclamation_marks"] == 3
    assert found["currency_signs"] == 1
    assert found["digit_share"] == pytest.approx(3 / 29)
    assert found["capital_share"] == pytest.approx(8 / 20)
    assert found["longest_capital_run"] == 3
    assert structure("") == dict.fromkeys(STRUCTURE, 0.0)
    assert structure("  \n ")["digit_share"] == 0


@pytest.mark.parametrize(
    ("text", "links", "mismatched", "address"),
    [
        ("no link, not even bank.com", 0, 0, 0),
        ("see http://bank.com/a.", 1, 0, 0),
        ('<a href="http://bank.com">bank.com</a>', 1, 0, 0),
        ('<a href="http://www.bank.com/x?y">https://bank.com</a>', 1, 0, 0),
        ('<a href="https://login.bank.com">bank.com</a>', 1, 0, 0),
        ('<a href="http://evil.example/bank.com">www.bank.com/login</a>', 1, 1, 0),
        ('<a href="http://bank.com.evil.example">bank.com</a>', 1, 1, 0),
        ('<a href="http://notbank.com">bank.com</a>', 1, 1, 0),
        ("<A HREF='http://Bank.COM'>BANK.com</A>", 1, 0, 0),
        ('<a href="http://evil.example">your bank</a>', 1, 0, 0),
        ('<a href="http://192.0.2.7/x"><b>bank.com</b></a>', 1, 1, 1),
        ('<a href="http://[2001:db8::1]/">here</a>', 1, 0, 1),
        ('<a href="mailto:me@bank.com">bank.com</a>', 1, 0, 0),
        ('<a href="#top">bank.com</a> <a name="x">bank.com</a>', 1, 0, 0),
        ('<a href="http://a.example">one<a href="http://b.example">two', 2, 0, 0),
        ("[bank.com](http://evil.example) and [docs](https://bank.com/docs)", 2, 1, 0),
        ("http://192.0.2.7:8080/x http://a.example, (http://b.example)", 3, 0, 1),
        ('<a href="http://[broken">bank.com</a>', 1, 1, 0),
        ("<![foo[ <!-- <![if mso]> <a href='http://a.example'>x</a>", 1, 0, 0),
    ],
)  # fmt: skip
def test_links(text, links, mismatched, address):
    found = structure(text)
    assert (found["links"], found["mismatched_links"], found["address_links"]) == (links, mismatched, address)


@given(st.lists(st.text() | st.text(alphabet="<>a/&;\"'=[]()! -:.http#x0"), max_size=4))
def test_any_text_has_features(texts):
    x = spam_features(texts, bias=True)
    assert x.shape == (len(texts), 1 + len(SPAM_WORDS) + len(STRUCTURE))
    assert np.isfinite(x).all()
    assert (x >= 0).all()


def test_transformer():
    texts = ["FREE money!!! http://a.example", "minutes of the meeting"]
    transformer = SpamFeatures(["free", "meeting"], bias=True)
    names = ["bias", "free", "meeting", *STRUCTURE]
    assert transformer.get_feature_names_out().tolist() == names
    np.testing.assert_array_equal(transformer.fit_transform(texts), transformer.transform(texts))
    frame = clone(transformer).set_output(transform="pandas").fit_transform(texts)
    assert list(frame.columns) == names
    for kind in (
        np.array(texts),
        np.array(texts)[:, None],
        pd.Series(texts),
        pd.DataFrame({"text": texts}),
        iter(texts),
    ):
        np.testing.assert_array_equal(transformer.transform(kind), transformer.transform(texts))
    model = make_pipeline(transformer, LogisticRegression()).fit(texts, ["spam", "ham"])
    assert model.predict(texts).tolist() == ["spam", "ham"]


@pytest.mark.parametrize(
    ("texts", "words", "message"),
    [
        ("one text", ["free"], "one string per e-mail"),
        ([b"bytes"], ["free"], "Text 0 is bytes"),
        (["a", None], ["free"], "Text 1 is NoneType"),
        (["a"], "free", "words must be a sequence of words"),
        (["a"], ["free", " "], "words must be a sequence of words"),
        (["a"], ["free", "links", "free"], "the name 'free', 'links'"),
    ],
)
def test_what_is_refused(texts, words, message):
    with pytest.raises(ValueError, match=message):
        spam_features(texts, words)


def test_docstring_examples(monkeypatch):
    monkeypatch.setattr(linearly, "spam_features", spam_features, raising=False)
    assert doctest.testmod(sys.modules[spam_features.__module__]).failed == 0
