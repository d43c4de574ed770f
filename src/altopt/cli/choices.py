"""Views, inputs and encoders named on the command line, as the parts they stand for."""

from typing import Any

GRAPH_VIEW = (
    "laplacian, squared-laplacian, two-hop, high-pass, shared-out-neighbours, shared-in-neighbours, "
    "locally-linear or none."
)
LABEL_VIEW = "squared, or robust where some labels are wrong."
INPUTS = (
    "What the encoder reads: reduced, raw, diffused, hops, out-hops, in-hops, adjacency, out-adjacency, "
    "in-adjacency, degrees; several as a,b."
)
ENCODER = "linear, mlp, mlps (five, averaged), kernel, attention (reads hops), boosted-trees or forest."


def chosen_parts(
    graph_view: str | None, label_view: str | None, inputs: str | None, encoder: str | None
) -> dict[str, Any]:
    """Settings of AltOpt; what was not named is left to it."""
    from altopt.cli import registry

    settings: dict[str, Any] = {}
    for option, name, known in (
        ("graph-view", graph_view, registry.GRAPH_VIEWS),
        ("label-view", label_view, registry.LABEL_VIEWS),
        ("encoder", encoder, registry.ENCODERS),
    ):
        if name is not None:
            settings[option.replace("-", "_")] = known[one_of(name, known, option)]
    if inputs is not None:
        settings["inputs"] = registry.blocks(
            [one_of(name, registry.INPUTS, "inputs") for name in inputs.split(",")]
        )
    return settings


def one_of(name: str, known: dict[str, Any], option: str) -> str:
    from altopt.errors import InputError

    name = name.strip()
    if name not in known:
        raise InputError(f"--{option} knows no {name!r}. Choose from {', '.join(known)}.")
    return name
