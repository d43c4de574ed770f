"""Half-done fits on disk: killed anywhere, a fit goes on after its last finished step and ends with the same bits."""

from dataclasses import fields, replace
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import LinearSVC

from altopt import AltOpt, InputError
from altopt.defaults import DEFAULTS
from altopt.encoders import MLPEncoder
from altopt.encoders.tabular import TabularLearner
from altopt.errors import MissingExtra
from altopt.inputs import LazyRows, encoder_rows
from altopt.io import checkpoint
from altopt.io.checkpoint import Checkpoint
from altopt.training.alternate import Best, State
from problems import two_communities

FEW_FOLDS = replace(DEFAULTS, n_folds=2)


@pytest.fixture(scope="module")
def data():
    return two_communities()


class Killed(Exception):
    pass


def kill_after(n_steps, monkeypatch):
    """Let every fit die right after it has stored so many steps."""
    really, begin = Checkpoint.store, Checkpoint.__init__

    def started(self, *args, **options):
        begin(self, *args, **options)
        self.left = n_steps

    def store(self, step, result):
        really(self, step, result)
        self.left -= 1
        if not self.left:
            raise Killed(step)

    monkeypatch.setattr(Checkpoint, "__init__", started)
    monkeypatch.setattr(Checkpoint, "store", store)


def everything(model):
    """All that a fit says, apart from the seconds it took."""
    held_out = getattr(model, "leave_one_out_", None)
    arrays = [model.scores_, model.encoder_output_, model.label_distributions_, model.transduction_]
    arrays += [] if model.start_ is None else [model.start_]
    if held_out is not None:
        arrays += [held_out.scores, *held_out.evaluated, *held_out.all_labelled]
    considered = [entry | {"seconds": 0} for entry in model.choice_["considered"]]
    said = [
        model.choice_ | {"considered": considered},
        model.temperature_,
        model.graph_help_,
        model.outcome_,
        model.seed_,
    ]
    said += [] if held_out is None else [held_out.accuracy, held_out.interval, held_out.calibration_error]
    return arrays, repr([*said, [entry | {"seconds": 0} for entry in model.trace_]])


def assert_same_bits(model, other):
    (arrays, words), (others, other_words) = everything(model), everything(other)
    assert words == other_words
    assert len(arrays) == len(others)
    for array, theirs in zip(arrays, others):
        assert array.dtype == theirs.dtype
        assert_array_equal(array, theirs)


FITS = {
    "default": {},
    "sparse X": {"sparse": True, "defaults": FEW_FOLDS},
    "no graph": {"graph": None, "defaults": FEW_FOLDS},
    "validation labels": {"validation": True, "defaults": FEW_FOLDS},
    "too large to compare": {"defaults": replace(FEW_FOLDS, large=1)},
    "forest": {"encoder": RandomForestClassifier(5), "defaults": FEW_FOLDS, "n_rounds": 2},
    "paper": {"paper": True},
    "paper, validation labels": {"paper": True, "validation": True},
}
if find_spec("torch"):
    FITS["mlp"] = {"encoder": MLPEncoder(), "defaults": FEW_FOLDS, "n_epochs": 3, "n_warmup": 3}


def maker_of(kind, data):
    """A function that fits anew: as a process does that was just started."""
    X, y, truth, A = data
    settings = dict(FITS[kind])
    X = sp.csr_array(X) if settings.pop("sparse", False) else X
    hidden = np.flatnonzero(y < 0)[:20]
    validation = (hidden, truth[hidden]) if settings.pop("validation", False) else None
    graph = settings.pop("graph", A)
    paper = settings.pop("paper", False)

    def fit(**options):
        if paper:
            model = AltOpt.paper(n_rounds=3, total_epochs=12, random_state=0)
        else:
            model = AltOpt(random_state=0, **settings)
        return model.fit(X.copy(), y, graph=graph, validation=validation, **options)

    return fit


@pytest.mark.parametrize("kind", FITS)
def test_killed_after_every_step_a_fit_ends_with_the_same_bits(kind, data, tmp_path, monkeypatch):
    """One fit, killed after its first new step, resumed, killed after the next, and so on to its end."""
    fit = maker_of(kind, data)
    steps = []
    with monkeypatch.context() as patch:
        kill_after(1, patch)
        for _ in range(200):
            try:
                resumed = fit(checkpoint=tmp_path / "c", resume=True)
                break
            except Killed as step:
                steps.append(str(step))
    assert_same_bits(resumed, fit())
    rounds = [step for step in steps if step == "round"]
    others = [step for step in steps if step != "round"]
    assert len(others) == len(set(others))  # no step was done again
    assert len(rounds) == len(resumed.trace_) - 1


def test_every_field_of_a_state_is_stored_or_made_by_the_next_update():
    stored = {"n_done", "F", "P", "w", "start", "label", "learner", "trace", "best", "priors"}
    assert {field.name for field in fields(State)} - stored == {"last_start", "last_steps", "shortfall"}
    assert [field.name for field in fields(Best)] == [
        "round",
        "accuracy",
        "F",
        "P",
        "learner",
        "start",
        "steps",
    ]


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def kill_in(n_steps, fit, folder, monkeypatch):
    """A fit that stores so many steps and dies."""
    with monkeypatch.context() as patch:
        kill_after(n_steps, patch)
        with pytest.raises(Killed):
            fit(checkpoint=folder)


def test_a_checkpoint_of_another_fit_is_refused(data, tmp_path, monkeypatch):
    X, y, truth, A = data
    kill_in(3, maker_of("default", data), tmp_path / "c", monkeypatch)
    before = files_of(tmp_path / "c")
    hidden = np.flatnonzero(y < 0)
    other_X, other_y, other_A, named = X.copy(), y.copy(), sp.csr_array(A).copy(), np.array(["a", "b"])[y]
    other_X[3, 1] += 1e-9
    other_y[hidden[0]] = truth[hidden[0]]
    other_A.data[:] = 2.0
    for settings, arguments in (
        ({"random_state": 1}, {}),
        ({"n_rounds": 4}, {}),
        ({"classes": [1, 0]}, {}),
        ({"encoder": RandomForestClassifier(5)}, {}),
        ({"defaults": FEW_FOLDS}, {}),
        ({}, {"X": other_X}),
        ({}, {"y": other_y}),
        ({}, {"y": np.where(y < 0, None, named)}),
        ({}, {"graph": other_A}),
        ({}, {"graph": None}),
        ({}, {"validation": (hidden[:5], truth[hidden[:5]])}),
    ):
        call = {"X": X, "y": y, "graph": A} | arguments
        with pytest.raises(InputError, match="other data or settings"):
            AltOpt(**{"random_state": 0} | settings).fit(**call, checkpoint=tmp_path / "c", resume=True)
    assert files_of(tmp_path / "c") == before


def test_the_settings_of_a_scikit_learn_encoder_tell_fits_apart(data, tmp_path):
    X, y, _, A = data
    AltOpt(encoder=RandomForestClassifier(5), n_rounds=0).fit(X, y, graph=A, checkpoint=tmp_path / "c")
    with pytest.raises(InputError, match="other data or settings"):
        AltOpt(encoder=RandomForestClassifier(6), n_rounds=0).fit(
            X, y, graph=A, checkpoint=tmp_path / "c", resume=True
        )


def test_a_seed_that_was_drawn_is_kept(data, tmp_path, monkeypatch):
    X, y, _, A = data
    kill_in(7, lambda **options: AltOpt().fit(X, y, graph=A, **options), tmp_path / "c", monkeypatch)
    resumed = AltOpt().fit(X, y, graph=A, checkpoint=tmp_path / "c", resume=True)
    assert_same_bits(resumed, AltOpt(random_state=resumed.seed_).fit(X, y, graph=A))


def test_resuming_where_nothing_is_starts_afresh(data, tmp_path):
    fit = maker_of("default", data)
    assert_same_bits(fit(checkpoint=tmp_path / "c", resume=True), fit())


def test_without_resume_the_former_steps_are_discarded(data, tmp_path, monkeypatch):
    fit = maker_of("default", data)
    kill_in(9, fit, tmp_path / "c", monkeypatch)
    kill_in(2, fit, tmp_path / "c", monkeypatch)
    assert len([name for name in files_of(tmp_path / "c") if name.startswith("step-")]) == 2


@pytest.mark.parametrize("how", ["cut off", "a bit flipped", "empty", "a line longer", "foreign"])
def test_damaged_steps_are_computed_again(how, data, tmp_path, monkeypatch):
    fit = maker_of("default", data)
    whole = fit(checkpoint=tmp_path / "c")
    rng = np.random.default_rng(0)
    for path in sorted((tmp_path / "c").glob("step-*")):
        content = bytearray(path.read_bytes())
        if how == "cut off":
            del content[int(rng.integers(len(content))) :]
        elif how == "a bit flipped":
            content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        elif how == "a line longer":
            content += b"x"
        else:
            content = b"" if how == "empty" else b"[]\n" + bytes(64)
        path.write_bytes(content)
    assert_same_bits(fit(checkpoint=tmp_path / "c", resume=True), whole)


@pytest.mark.parametrize(
    "content", ["", "{}", "[1]", '{"format": "altopt-model", "kind": "model", "version": 1}']
)
def test_a_folder_that_is_no_checkpoint_is_refused(content, data, tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "model.json").write_text(content)
    with pytest.raises(InputError):
        maker_of("default", data)(checkpoint=tmp_path / "c", resume=True)
    assert (tmp_path / "c" / "model.json").read_text() == content


def test_an_encoder_that_cannot_be_stored_costs_its_rounds_alone(data, tmp_path, monkeypatch):
    def refused(self):
        raise MissingExtra("Storing this classifier needs a package, which is not installed.")

    monkeypatch.setattr(TabularLearner, "state", refused)
    fit = maker_of("forest", data)
    with pytest.warns(UserWarning, match="No further checkpoint is written. .* needs a package") as said:
        whole = fit(checkpoint=tmp_path / "c")
    assert len([one for one in said if "checkpoint" in str(one.message)]) == 1
    assert len(list((tmp_path / "c").glob("step-*"))) > 4
    with pytest.warns(UserWarning, match="No further checkpoint"):
        assert_same_bits(fit(checkpoint=tmp_path / "c", resume=True), whole)


def test_a_full_disk_costs_the_checkpoint_alone(data, tmp_path, monkeypatch):
    def full(path, arrays):
        raise OSError(28, "No space left on device")

    fit = maker_of("default", data)
    monkeypatch.setattr(checkpoint, "write_step", full)
    with pytest.warns(UserWarning, match="c cannot be written: No space left on device") as said:
        assert_same_bits(fit(checkpoint=tmp_path / "c"), fit())
    assert len([one for one in said if "checkpoint" in str(one.message)]) == 1


def test_removed_is_what_is_altopts_own(data, tmp_path, monkeypatch):
    kill_in(2, maker_of("default", data), tmp_path / "c", monkeypatch)
    (tmp_path / "c" / f".step-{24 * '0'}.1").write_text("a draft")
    (tmp_path / "c" / "step-1000").write_text("mine")
    checkpoint.remove(tmp_path / "c")
    assert list(files_of(tmp_path / "c")) == ["step-1000"]
    checkpoint.remove(tmp_path / "c")
    with pytest.raises(InputError, match="is not a stored checkpoint"):
        maker_of("default", data)(checkpoint=tmp_path / "c")
    assert list(files_of(tmp_path / "c")) == ["step-1000"]


def test_a_refused_fit_leaves_no_folder(data, tmp_path):
    X, y, _, A = data
    with pytest.raises(InputError, match="predict_proba"):
        AltOpt(encoder=LinearSVC()).fit(X, y, graph=A, checkpoint=tmp_path / "new" / "c")
    assert not (tmp_path / "new" / "c").exists()


def test_a_fit_whose_inputs_are_made_block_by_block_goes_on_too(data, tmp_path):
    X, y, _, A = data
    model = AltOpt(random_state=0, defaults=replace(DEFAULTS, hop_limit=1))
    scores = model.fit(X, y, graph=A, checkpoint=tmp_path / "c").scores_
    assert isinstance(encoder_rows(model.inputs_, 1), LazyRows)
    resumed = model.fit(X, y, graph=A, checkpoint=tmp_path / "c", resume=True)
    assert_array_equal(resumed.scores_, scores)
