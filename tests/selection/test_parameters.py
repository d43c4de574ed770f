"""Parameters: the same names as AltOpt's, resolved to parts."""

import inspect
from dataclasses import fields

from altopt import AltOpt
from altopt.encoders import LinearEncoder, MLPEncoder
from altopt.selection.parameters import Parameters
from altopt.solvers import ChebyshevSteps, ConjugateGradient, Direct, JacobiSteps
from altopt.training.pseudo_labels import ConfidenceThreshold, NoPseudoLabels, TopPerClass
from altopt.views import CrossEntropyFeatureView, SoftmaxFeatureView


def test_parameters_are_those_of_the_estimator():
    names = list(inspect.signature(AltOpt.__init__).parameters)[1:]
    assert [entry.name for entry in fields(Parameters)] == names


def test_what_is_given_is_taken_and_what_is_not_has_a_default():
    assert isinstance(AltOpt().parameters().resolved_encoder(), LinearEncoder)
    assert AltOpt(encoder=MLPEncoder()).parameters().resolved_encoder() == MLPEncoder()
    assert not AltOpt(encoder=MLPEncoder()).parameters().encoder_is_free
    assert AltOpt(feature_weight=3.0).default_candidate(10, 2).feature_weight == 3.0
    assert not AltOpt(feature_weight=3.0).parameters().weights_are_free
    few, many = (AltOpt().parameters().resolved_restart(n) for n in (29, 30))
    assert few < many
    assert AltOpt(restart=1.0).parameters().resolved_restart(5) == 1.0


def test_the_solver_suits_the_views():
    assert isinstance(AltOpt().parameters().solvers(100, 3).last, ChebyshevSteps)
    assert isinstance(AltOpt(feature_weight=0).parameters().solvers(100, 3).last, ConjugateGradient)
    loose = AltOpt(feature_view=CrossEntropyFeatureView).parameters().solvers(100, 3)
    assert isinstance(loose.last, ConjugateGradient)
    assert isinstance(AltOpt(feature_view=SoftmaxFeatureView).parameters().solvers(100, 3).last, JacobiSteps)
    small, large = (AltOpt().parameters().solvers(n, 50) for n in (1_000, 1_000_000))
    assert (small.rounds.storage, small.last.storage) == (None, None)
    assert (large.rounds.storage, large.last.storage) == ("float16", None)
    given = AltOpt(solver=Direct()).parameters().solvers(100, 3)
    assert given.rounds is given.last


def test_the_rule_for_pseudo_labels_suits_the_views():
    assert isinstance(AltOpt(n_pseudo=7).parameters().pseudo_labels(), TopPerClass)
    assert isinstance(AltOpt(n_pseudo=0).parameters().pseudo_labels(), NoPseudoLabels)
    rule = AltOpt(feature_view=SoftmaxFeatureView, min_confidence=0.4).parameters().pseudo_labels()
    assert rule == ConfidenceThreshold(0.4)
