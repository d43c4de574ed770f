"""The public surface: what users import, set, call and read. A line changed here is a promise changed."""

import importlib
import inspect
import re

import pytest

from altopt import AltOpt
from problems import two_communities

NAMES = {
    "altopt": "AltOpt Graph GridSearch InputError cross_val_score diffuse",
    "altopt.views": """
        Contrast ContrastiveView CrossEntropyFeatureView CrossEntropyLabelView Curvature FeatureView GraphView
        HighPassView HuberLabelView LabelView LocallyLinearView NoGraphView Objective Pull QuadraticForm RandomWalks
        Reconstruction RobustLabels
        SharedNeighbours SoftmaxFeatureView SpectralFilter SquaredLaplacianView System TwoHopView View
        ViewChoice ViewSettings as_view_choice reconstruction_graph view_from
    """,
    "altopt.solvers": """
        ChebyshevSteps ConjugateGradient Direct GradientSteps JacobiSteps Solution Solver Steps
        as_solver
    """,
    "altopt.encoders": """
        AttentionEncoder Encoder EnsembleEncoder KernelEncoder Learner LinearEncoder MLPEncoder MixtureEncoder
        TabularEncoder TorchEncoder as_encoder
    """,
    "altopt.inputs": """
        AdjacencyInputs BlockInputs ChangedNodes DegreeInputs DiffusedInputs EAGER ExtremeInputs FeatureInputs
        FeaturelessInputs HopInputs InputMemory InputSource Inputs KindInputs LabelShareInputs LandmarkInputs LazyRows
        NewNodes Prepared PreparedMatrix RawInputs ReducedInputs SourceShape StructureInputs as_inputs
        encoder_rows unit_rows unit_sum
    """,
    "altopt.checks": """
        check_encoder check_feature_view check_graph_view check_inputs check_label_view check_solver
        check_view
    """,
    "altopt.datasets": "Dataset available communities data_folder digits load",
}

PARAMETERS = """
    feature_weight label_weight restart n_diffusion temperature n_rounds n_warmup n_epochs n_pseudo min_confidence
    encoder inputs solver feature_view graph_view label_view cross_fit self_loops n_neighbors classes class_prior
    random_state defaults
"""

METHODS = """
    decide default_candidate explain explain_many fit load paper parameters plot predict predict_proba refit save score
    suggest suspicious_labels threshold update what_if
"""

# what scikit-learn's base classes bring
INHERITED = r"get_params|set_params|get_metadata_routing|set_\w+_request"

# in the docstring of AltOpt
ATTRIBUTES = """
    choice_ columns_ confidence_ fitted_ graph_help_ label_distributions_ labelled_ leave_one_out_ outcome_ reached_
    scores_ temperature_ trace_ transduction_
"""

# in that of FittedAttributes, or scikit-learn's
MORE_ATTRIBUTES = """
    Y_ classes_ edge_weights_ embedding_ encoder_ encoder_output_ graph_ inputs_ n_features_in_ n_iter_ neighbours_
    plan_ restart_ seed_ start_
"""


@pytest.fixture(scope="module")
def model():
    X, y, _, A = two_communities()
    return AltOpt(random_state=0).fit(X, y, graph=A)


@pytest.mark.parametrize("module", NAMES)
def test_a_package_exports_these_names(module):
    package = importlib.import_module(module)
    assert sorted(package.__all__) == sorted(NAMES[module].split())
    assert all(hasattr(package, name) for name in package.__all__)


def test_the_parameters_of_the_estimator():
    parameters = inspect.signature(AltOpt).parameters.values()
    assert {parameter.name for parameter in parameters} == set(PARAMETERS.split())
    assert {parameter.kind for parameter in parameters} == {inspect.Parameter.KEYWORD_ONLY}


def test_the_methods_of_the_estimator():
    methods = {name for name, _ in inspect.getmembers(AltOpt, callable) if not name.startswith("_")}
    assert {name for name in methods if not re.fullmatch(INHERITED, name)} == set(METHODS.split())


def test_the_fitted_attributes(model):
    fitted = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    assert fitted == set((ATTRIBUTES + MORE_ATTRIBUTES).split())


def test_every_parameter_and_attribute_is_in_the_docstring():
    """Numpydoc's sections name each parameter and each fitted attribute."""
    doc = inspect.getdoc(AltOpt)
    sections = dict(zip(*[iter(re.split(r"\n(\w+)\n-+\n", doc)[1:])] * 2))
    for section, names in (("Parameters", PARAMETERS), ("Attributes", ATTRIBUTES)):
        documented = {
            name
            for line in re.findall(r"^([\w, ]+) :", sections[section], re.MULTILINE)
            for name in line.split(", ")
        }
        assert documented == set(names.split()), section


@pytest.mark.parametrize("name", sorted(set((ATTRIBUTES + MORE_ATTRIBUTES).split()) - {"n_features_in_"}))
def test_fitted_attributes_are_read_only(model, name):
    with pytest.raises(AttributeError):
        setattr(model, name, None)


def test_before_the_fit_nothing_is_there():
    for name in (ATTRIBUTES + MORE_ATTRIBUTES).split():
        assert not hasattr(AltOpt(), name), name
