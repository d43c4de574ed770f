"""What the parameters of AltOpt mean for a fit on files: a linear encoder on diffused features, and squared views."""

from dataclasses import dataclass

from altopt.defaults import Defaults
from altopt.encoders.linear import LinearEncoder
from altopt.errors import InputError
from altopt.graph.settings import seed_of
from altopt.inputs import ReducedInputs, as_inputs
from altopt.scale.graph_folder import GraphFolder
from altopt.scale.panel import ViewWeights
from altopt.selection.candidates import diffused_inputs
from altopt.selection.parameters import Parameters
from altopt.training.alternate import Schedule
from altopt.views import FeatureView, GraphView, LabelView


@dataclass(frozen=True)
class Recipe:
    """The settings of a fit on files: a linear encoder on diffused features, squared views.

    Parameters
    ----------
    inputs : ReducedInputs
    encoder : LinearEncoder
    weights : ViewWeights
    schedule : Schedule
    restart, n_diffusion : float, int
        Of the diffusion of X.
    temperature, min_confidence : float
        Of pseudo labels.
    defaults : Defaults
    """

    inputs: ReducedInputs
    encoder: LinearEncoder
    weights: ViewWeights
    schedule: Schedule
    restart: float
    n_diffusion: int
    temperature: float
    min_confidence: float
    defaults: Defaults


def recipe_of(parameters: Parameters, graph: GraphFolder) -> Recipe:
    """What parameters of AltOpt mean for a fit on files; parts that need all of F or X in memory are refused."""
    n_features = 0 if graph.features is None else graph.features.n_columns
    return recipe_for(parameters, graph.n_nodes, n_features, graph.n_labelled)


def recipe_for(parameters: Parameters, n_nodes: int, n_features: int, n_labelled: int) -> Recipe:
    """The same for a graph of this size."""
    refuse_unsupported(parameters)
    candidate = parameters.default_candidate(n_nodes, n_features, n_labelled)
    inputs = candidate.inputs
    if parameters.inputs is None:
        inputs = diffused_inputs(n_nodes, n_features, n_labelled, parameters.numbers)
    assert isinstance(inputs, ReducedInputs)
    assert isinstance(candidate.encoder, LinearEncoder)
    return Recipe(
        inputs=inputs,
        encoder=candidate.encoder,
        weights=ViewWeights(candidate.feature_weight, candidate.label_weight),
        schedule=parameters.schedule(candidate, seed_of(parameters.random_state)),
        restart=parameters.resolved_restart(n_labelled),
        n_diffusion=parameters.n_diffusion,
        temperature=parameters.temperature,
        min_confidence=parameters.min_confidence,
        defaults=parameters.numbers,
    )


def refuse_unsupported(parameters: Parameters) -> None:
    """Refuse settings that a fit on files does not know, before any long work."""
    inputs = None if parameters.inputs is None else as_inputs(parameters.inputs)
    others = {
        "encoder": not isinstance(parameters.resolved_encoder(), LinearEncoder),
        "inputs": inputs is not None and not (isinstance(inputs, ReducedInputs) and inputs.by_kind),
        "feature_view, graph_view or label_view": parameters.views() != (FeatureView, GraphView, LabelView),
        "feature_weight=0": parameters.feature_weight == 0,
        "solver": parameters.solver is not None,
        "n_pseudo": parameters.n_pseudo is not None,
        "self_loops": parameters.self_loops,
        "classes": parameters.classes is not None,
        'n_rounds="full"': parameters.n_rounds == "full",
    }
    for name, given in others.items():
        if given:
            raise InputError(
                f"a fit with memory= knows a linear encoder on diffused features and the default views and solver; "
                f"{name} asks for something else. Leave it out, or fit without memory=."
            )
