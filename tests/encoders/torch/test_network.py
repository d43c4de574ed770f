"""A torch module of the user's as encoder: taken as it is, stopped early, stored as weights alone."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from torch import nn

from altopt import AltOpt, InputError
from altopt.encoders import AttentionEncoder, EnsembleEncoder, MLPEncoder, TorchEncoder
from altopt.inputs import RawInputs
from problems import two_communities


def two_layers(n_inputs, n_classes):
    return nn.Sequential(nn.Linear(n_inputs, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, n_classes))


class Net(nn.Linear):
    """A class of modules, called as a function is."""


def fitted(encoder, **settings):
    X, y, truth, A = two_communities()
    model = AltOpt(encoder=encoder, inputs=RawInputs(), random_state=0, **settings).fit(X, y, graph=A)
    return model, X, truth


@pytest.mark.parametrize(
    "encoder",
    [two_layers, Net, nn.Sequential(nn.LazyLinear(2)), TorchEncoder(two_layers, batch_size=8, patience=3)],
    ids=["function", "class", "module", "TorchEncoder"],
)
def test_a_module_of_ones_own_is_fitted_stored_and_loaded(encoder, tmp_path):
    model, X, truth = fitted(encoder, cross_fit=False)
    assert np.mean(model.transduction_ == truth) > 0.8
    assert model.encoder is encoder
    model.save(tmp_path / "model")
    loaded = AltOpt.load(tmp_path / "model", encoder=encoder)
    assert_array_equal(loaded.predict_proba(X[:5]), model.predict_proba(X[:5]))
    assert loaded.plan_.encoder == model.plan_.encoder
    loaded.update(labels={3: None})  # and goes on as any other
    with pytest.raises(InputError, match=r"your own torch module.*AltOpt.load\(path, encoder=...\)"):
        AltOpt.load(tmp_path / "model")


def test_the_file_of_such_a_model_holds_no_code(tmp_path):
    model, *_ = fitted(two_layers, cross_fit=False)
    model.save(tmp_path / "model")
    assert b"two_layers" in (tmp_path / "model" / "model.json").read_bytes()  # the name alone
    with pytest.raises(InputError, match="another network: network.0.bias is in one of the two alone"):
        AltOpt.load(tmp_path / "model", encoder=lambda n_inputs, n_classes: nn.Linear(n_inputs, n_classes))
    with pytest.raises(InputError, match="encoder must be a torch module or a function"):
        AltOpt.load(tmp_path / "model", encoder=MLPEncoder())


def test_settings_given_again_replace_the_stored_ones(tmp_path):
    model, *_ = fitted(TorchEncoder(two_layers, patience=3), cross_fit=False)
    model.save(tmp_path / "model")
    kept = AltOpt.load(tmp_path / "model", encoder=two_layers)
    assert kept.plan_.encoder.patience == 3
    other = AltOpt.load(tmp_path / "model", encoder=TorchEncoder(two_layers, batch_size=4))
    assert (other.plan_.encoder.patience, other.plan_.encoder.batch_size) == (None, 4)


def test_it_is_cross_fitted_and_cloned_as_any_encoder():
    model, _, truth = fitted(two_layers)
    again = clone(model)
    assert again.get_params()["encoder"] is two_layers
    assert model.leave_one_out_.accuracy > 0.7
    assert model.embedding_.shape == (len(truth), model.n_features_in_)


def test_a_module_given_as_it_is_stays_untouched():
    module = nn.Linear(4, 2)
    before = module.weight.detach().clone()
    X, y, _, A = two_communities()
    AltOpt(encoder=nn.Sequential(nn.LazyLinear(4), module), cross_fit=False, random_state=0).fit(
        X, y, graph=A
    )
    assert bool((module.weight == before).all())


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Linear(99, 2), "encoder does not read rows of 4 inputs: RuntimeError, mat1 and mat2"),
        (lambda n_inputs, n_classes: 5, "encoder must make a torch.nn.Module, but made int"),
        (lambda n_inputs: nn.Linear(n_inputs, 2), "encoder could not be made for 4 inputs and 2 classes"),
        (lambda n, c: nn.Linear(n, c + 1), r"to logits \(n, 2\), but made \(2, 3\) of 2 rows"),
        (lambda n, c: nn.AvgPool1d(2), "encoder has no parameters to train"),
    ],
)
def test_a_module_that_does_not_fit_is_refused_in_a_sentence(module, message):
    with pytest.raises(InputError, match=message):
        TorchEncoder(module).begin(4, 2, seed=0)


@pytest.mark.parametrize(
    "encoder", [MLPEncoder(device="cuda:77"), TorchEncoder(two_layers, device="cuda:77")], ids=["MLP", "own"]
)
def test_a_device_that_is_not_there_is_named(encoder):
    with pytest.raises(InputError, match=r"^device='cuda:77' cannot be used here.*Leave device out"):
        encoder.begin(4, 2, seed=0)
    with pytest.raises(InputError, match="device='tpu' cannot be used here"):
        AttentionEncoder(n_hops=2, device="tpu").begin(4, 2, seed=0)


def test_it_is_not_taken_for_one_where_it_is_none():
    with pytest.raises(InputError, match="TorchEncoder: module must be a torch.nn.Module or a function"):
        TorchEncoder(3)
    with pytest.raises(InputError, match="must be an Encoder"):
        EnsembleEncoder(two_layers)


def test_training_stops_where_held_out_rows_stop_gaining():
    rng = np.random.default_rng(0)
    X, targets = rng.normal(size=(60, 5)), np.eye(2)[rng.integers(2, size=60)]  # nothing to learn
    epochs = []

    class Counted(nn.Linear):
        def forward(self, x):
            epochs.append(self.training)
            return super().forward(x)

    for patience, most in ((None, 200), (4, 100)):
        epochs.clear()
        learner = TorchEncoder(Counted, patience=patience).begin(5, 2, seed=0)
        learner.train(X, targets, np.ones(60), n_epochs=200)
        assert sum(epochs) <= most
    assert sum(epochs) >= 4


def test_unused_and_frozen_parameters_are_left_alone():
    class Odd(nn.Module):
        def __init__(self, n_inputs, n_classes):
            super().__init__()
            self.unused, self.used = nn.Linear(3, 3), nn.Linear(n_inputs, n_classes)
            self.used.bias.requires_grad_(False)

        def forward(self, x):
            return self.used(x)

    learner = TorchEncoder(Odd).begin(5, 2, seed=0)
    bias = learner.network.used.bias.clone()
    learner.train(np.eye(5), np.eye(2)[[0, 1, 0, 1, 0]], np.ones(5), n_epochs=300)
    assert bool((learner.network.used.bias == bias).all())
    assert learner.predict(np.eye(5)).argmax(axis=1).tolist() == [0, 1, 0, 1, 0]
