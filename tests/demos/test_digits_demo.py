"""The digits: errors, proofs, files and images."""

import numpy as np
import pytest
from demo_runs import demo
from sklearn.datasets import load_digits

import linearly as ly
from linearly import demos
from linearly.demos import digits, image


def errors(story, **what):
    (row,) = [row for row in story.found["errors"] if what.items() <= row.items()]
    return row


def test_digits_errors_equal_those_of_the_models():
    story, _, _ = demo("digits")
    data = digits.bundled()
    F = ly.digit_features(data.pixels)[:, :2]
    for name, kind in (("lda", ly.LinearDiscriminantAnalysis), ("averaged", ly.AveragedPerceptron)):
        model = kind().fit(F[~data.test], data.label[~data.test])
        for rows, part in (("training", ~data.test), ("new", data.test)):
            row = errors(story, classifier=name, columns="two", rows=rows)
            assert row["errors"] == (model.predict(F[part]) != data.label[part]).sum()
            assert row["of"] == part.sum()
            assert row["low"] <= row["errors"] / row["of"] <= row["high"]


def test_digits_proof_holds():
    story, said, _ = demo("digits")
    found = story.found["features"]
    data = digits.bundled()
    assert found["verdict"] == "overlapping"
    assert 0 < found["error_floor"] <= found["pocket_errors"]
    for row in (row for row in story.found["errors"] if (row["columns"], row["rows"]) == ("two", "training")):
        assert row["errors"] >= found["error_floor"], "no line beats the floor"
    a, b = found["witness_rows"]
    F = ly.digit_features(data.pixels)[:, :2]
    assert np.array_equal(F[a], F[b])
    assert data.label[a] != data.label[b]
    assert f"at least {found['error_floor']} of the {story.found['train_rows']}" in " ".join(said.split())


def test_digits_pixels_are_separable():
    story, _, _ = demo("digits")
    found = story.found["pixels"]
    assert found["verdict"] == "separable"
    assert 0 < found["mistakes"] <= found["mistake_bound"]
    assert errors(story, classifier="perceptron", columns="pixels", rows="training")["errors"] == 0


def usps(tmp_path, change=lambda rows: rows):
    """Digits in the format of usps.npz: label, pixels from −1 to 1, 1 for the test."""
    images, digit = load_digits(return_X_y=True)
    rows = np.column_stack([digit, images / 8 - 1, np.arange(len(digit)) % 4 == 0])[:900]
    np.savez(tmp_path / "usps.npz", change(rows))
    return tmp_path / "usps.npz"


def test_digits_from_file_uses_its_rows(tmp_path):
    said = []
    story = demos.tell("digits", data=usps(tmp_path), say=said.append)
    assert story.write(tmp_path / "page.html").exists()
    _, digit = load_digits(return_X_y=True)
    ours = np.isin(digit[:900], (1, 5))
    assert story.found["test_rows"] == (ours & (np.arange(900) % 4 == 0)).sum()
    assert story.found["train_rows"] == (ours & (np.arange(900) % 4 != 0)).sum()
    assert "usps.npz" in "".join(said)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:, :-1], r"not one row per image: label, the pixels of a square"),
        (lambda rows: rows[0], r"not one row per image"),
        (lambda rows: rows.astype(str), r"not one row per image"),
        (lambda rows: np.where(rows == rows[5, 20], np.nan, rows), r"row \d+ is not finite"),
        (lambda rows: rows[rows[:, 0] == 1], r"has training rows without ones or without fives"),
        (lambda rows: rows[rows[:, -1] == 0], r"has test rows without ones or without fives"),
    ],
)
def test_digits_from_bad_file_raises(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        digits.from_file(usps(tmp_path, change))


def test_digits_from_file_of_another_kind_raises(tmp_path):
    (tmp_path / "x.npz").write_text("1,2,3\n")
    with pytest.raises(ValueError, match=r"not a numeric \.npz or \.npy file"):
        digits.from_file(tmp_path / "x.npz")
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"not a numeric \.npz or \.npy file"):
        digits.from_file(tmp_path / "objects.npy")
    np.savez(tmp_path / "two.npz", a=np.ones(3), b=np.ones(3))
    with pytest.raises(ValueError, match="contains 2 arrays"):
        digits.from_file(tmp_path / "two.npz")


@pytest.mark.parametrize("side", [8, 16])
def test_blocks_draws_eight_lines_per_image(side):
    pixels = np.zeros((side, side))
    pixels[:, : side // 2] = 1
    lines = image.blocks([image.Image(pixels, "left\nink")] * 2, 80).splitlines()
    assert lines[:8] == ["█" * 8 + " " * 11 + "█" * 8] * 8
    assert [line.split() for line in lines[8:]] == [["left", "left"], ["ink", "ink"]]


def test_blocks_of_many_images_continue_below():
    one = image.Image(np.ones((8, 8)), "a")
    assert all(len(line) <= 80 for line in image.blocks([one] * 7, 80).splitlines())
    assert image.blocks([one] * 7, 80).count("a") == 7
