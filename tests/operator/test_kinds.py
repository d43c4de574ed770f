"""The kind of a column: found from its numbers alone, whatever holds them, and what follows from it."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt.operator.kinds import columns_of, directions_filled

N = 400
RNG = np.random.default_rng(0)
MEASURED = RNG.normal(size=N)
SHOWN = RNG.random(N) < 0.3
COLUMNS = {
    "zeros": (np.zeros(N), "constant"),
    "sevens": (np.full(N, 7.0), "constant"),
    "rounded": (0.1 + 1e-17 * np.arange(N), "constant"),
    "nothing": (np.full(N, np.nan), "constant"),
    "flag": (SHOWN * 1.0, "indicator"),
    "large flag": (SHOWN * 1e9, "indicator"),
    "rare flag": (1.0 * (np.arange(N) == 3), "indicator"),
    "minus": (-1.0 * SHOWN, "indicator"),
    "sides": (np.where(SHOWN, 1.0, -1.0), "indicator"),
    "one or two": (np.where(SHOWN, 1.0, 2.0), "indicator"),
    "words": (SHOWN * RNG.integers(1, 9, N), "count"),
    "common words": (RNG.poisson(1.5, N) * 1.0, "count"),
    "hashed words": (SHOWN * RNG.integers(-4, 5, N), "count"),
    "normal": (MEASURED, "measurement"),
    "year": (2000.0 + RNG.integers(0, 20, N), "measurement"),
    "income": (RNG.lognormal(11, 1, N), "measurement"),
    "income of few": (SHOWN * RNG.lognormal(11, 1, N), "measurement"),
    "cauchy": (RNG.standard_cauchy(N), "measurement"),
    "dates": (1.7e18 + 1e13 * RNG.random(N), "measurement"),
    "many": (RNG.poisson(1000, N) * 1.0, "measurement"),
    "tiny": (1e-9 * RNG.random(N), "measurement"),
    "mostly five": (np.where(SHOWN, RNG.normal(size=N), 5.0), "measurement"),
}
X = np.stack([values for values, _ in COLUMNS.values()], axis=1)
KINDS = [kind for _, kind in COLUMNS.values()]


def without_gaps():
    return np.nan_to_num(X)


def test_each_column_has_its_kind():
    assert dict(zip(COLUMNS, columns_of(X).kinds)) == {name: kind for name, (_, kind) in COLUMNS.items()}


def test_what_holds_the_numbers_does_not_matter(tmp_path):
    dense = without_gaps()
    mapped = np.memmap(tmp_path / "X", np.float64, "w+", shape=dense.shape)
    mapped[:] = dense
    expected = columns_of(dense)
    for form in (sp.csr_array(dense), mapped, np.asfortranarray(dense)):
        found = columns_of(form)
        assert found.kinds == expected.kinds
        for name in ("centre", "scale", "shift", "factor"):
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-6, atol=1e-7)
        transformed = found.transform(form)
        transformed = transformed.toarray() if sp.issparse(transformed) else transformed
        assert_allclose(transformed, expected.transform(dense), atol=2e-5)


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(1).permutation(N)
    one, other = columns_of(X), columns_of(X[order])
    for name in ("kind", "centre", "scale", "shift", "factor", "fill"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-6, atol=1e-7)


def test_every_column_is_finite_and_none_outweighs_the_others():
    read = columns_of(X).transform(X)
    assert np.isfinite(read).all()
    variance = read.var(axis=0)
    assert_array_equal(variance[np.array(KINDS) == "constant"], 0)
    assert variance.max() < 0.4 * variance.sum()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_unit_and_zero_point_of_a_measurement_do_not_matter(scale):
    others = RNG.normal(size=(N, 2))
    one = columns_of(np.column_stack([MEASURED, others]))
    other = columns_of(np.column_stack([scale * (MEASURED + 5), others]))
    assert_allclose(
        other.transform(np.column_stack([scale * (MEASURED + 5), others])),
        one.transform(np.column_stack([MEASURED, others])),
        atol=1e-5,
    )


def test_measurements_alone_are_standardised_and_their_tails_tamed():
    columns = columns_of(np.column_stack([MEASURED, COLUMNS["cauchy"][0]]))
    read = columns.transform(np.column_stack([MEASURED, COLUMNS["cauchy"][0]]))
    assert_allclose(read.mean(axis=0), 0, atol=1e-5)
    assert_allclose(read.std(axis=0), 1, atol=1e-5)  # of two columns, each shares as much with the other
    assert_allclose(read[:, 0], (MEASURED - MEASURED.mean()) / MEASURED.std(), atol=0.2)
    assert np.abs(read[:, 1]).max() < 6 < np.abs(COLUMNS["cauchy"][0]).max() / 2
    order = np.argsort(COLUMNS["cauchy"][0])
    assert (np.diff(read[order, 1]) >= 0).all()


def test_words_are_read_as_before_beside_measurements():
    words = np.stack([SHOWN * RNG.integers(1, 4, N) for _ in range(30)], axis=1)
    beside = np.column_stack([words, COLUMNS["income"][0]])
    read = columns_of(beside).transform(beside)
    assert_array_equal(read[:, :30], np.sqrt(words).astype(np.float32))


@pytest.mark.parametrize("n_words", [30, 200])
def test_a_measurement_has_the_variance_of_a_direction_that_words_fill(n_words):
    topics = RNG.random((N, 5)) @ RNG.random((5, n_words))
    words = RNG.poisson(0.3 * topics).astype(float)
    columns = columns_of(words)
    values = np.linalg.eigvalsh(np.cov(np.sqrt(words).T, bias=True))
    expected = np.sum(values**2) / np.sum(values)
    for form in (words, sp.csr_array(words)):
        variance, n_filled = directions_filled(columns, form)
        assert_allclose(variance, expected, rtol=0.2 if n_words > 64 else 1e-4)
        assert_allclose(n_filled, np.sum(values) / variance, rtol=1e-3)
    beside = np.column_stack([words, MEASURED])
    assert_allclose(columns_of(beside).transform(beside)[:, -1].var(), expected, rtol=0.2)


def test_missing_values_are_left_out_and_then_the_mean():
    gaps = RNG.random(N) < 0.2
    shown = np.column_stack([MEASURED, SHOWN * 1.0, COLUMNS["words"][0]])
    holed = np.where(gaps[:, None], np.nan, shown)
    columns = columns_of(holed)
    assert columns.kinds == ["measurement", "indicator", "count"]
    read = columns.transform(holed)
    expected = columns_of(shown[~gaps]).transform(shown[~gaps])
    assert_array_equal(read[~gaps, 1:], expected[:, 1:])
    ratio = read[~gaps, 0] / expected[:, 0]  # a mean in their place takes variance from flag and words
    assert_allclose(ratio, np.sqrt(1 - gaps.mean()), rtol=1e-3)
    assert_allclose(read[gaps], np.broadcast_to(read[~gaps].mean(axis=0), (gaps.sum(), 3)), atol=1e-5)


def test_a_column_that_shares_nothing_with_the_others_counts_for_little():
    common = RNG.normal(size=N)
    related = common[:, None] + RNG.normal(size=(N, 4))
    beside = np.column_stack([related, RNG.lognormal(11, 1, N), 1.0 * (RNG.random(N) < 0.5)])
    variance = columns_of(beside).transform(beside).var(axis=0)
    assert variance[4:].max() < 0.2 * variance[:4].min()


def test_unrelated_columns_weigh_about_the_same():
    unrelated = RNG.normal(size=(N, 6))
    variance = columns_of(unrelated).transform(unrelated).var(axis=0)
    assert variance.max() < 5 * variance.min()


def test_among_counts_one_zero_is_enough():
    pixels = RNG.poisson(np.linspace(0.2, 3.3, 12), (N, 12)).astype(float)
    assert (pixels[:, -1] == 0).mean() < 0.1
    assert set(columns_of(pixels).kinds) == {"count"}
    assert columns_of(np.column_stack([pixels[:, -1], RNG.normal(size=(N, 2))])).kinds[0] == "measurement"
