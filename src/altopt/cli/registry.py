"""The views, inputs and encoders that the command line knows by name, and the help text about them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Part:
    """A named part. It is imported when it is made, so that `altopt --help` stays fast."""

    module: str
    name: str
    settings: Mapping[str, Any] | None = None  # None: the class itself is the part
    note: str = ""  # shown in brackets after the name in the help text
    needs: tuple[str, str] | None = None  # the optional module and the extra of altopt that brings it

    def make(self) -> Any:
        """The class, or an instance of it; settings that are parts themselves are made first."""
        kind = getattr(import_module(self.module), self.name)
        if self.settings is None:
            return kind
        return kind(**{k: v.make() if isinstance(v, Part) else v for k, v in self.settings.items()})


@dataclass(frozen=True)
class Choice:
    """An option of `altopt fit` that takes names of parts."""

    option: str  # without the dashes
    about: str
    parts: Mapping[str, Part] = field(default_factory=dict)

    @property
    def help(self) -> str:
        """What the option sets, and every name that it takes."""
        names = [f"{name} ({part.note})" if part.note else name for name, part in self.parts.items()]
        return f"{self.about}: {', '.join(names)}."

    def __getitem__(self, name: str) -> Any:
        """The part of this name; an unknown name and a missing package are refused."""
        from altopt.errors import InputError, require_extra

        part = self.parts.get(name.strip())
        if part is None:
            raise InputError(
                f"--{self.option} knows no {name.strip()!r}. Choose from {', '.join(self.parts)}."
            )
        if part.needs is not None:
            require_extra(*part.needs, f"--{self.option} {name.strip()}")
        return part.make()


def view(name: str, settings: Mapping[str, Any] | None = None, note: str = "") -> Part:
    return Part("altopt.views", name, settings, note)


def inputs(name: str, note: str = "", **settings: Any) -> Part:
    return Part("altopt.inputs", name, settings, note)


def encoder(
    name: str, note: str = "", needs: tuple[str, str] | None = None, settings: Mapping[str, Any] | None = None
) -> Part:
    return Part("altopt.encoders", name, settings or {}, note, needs)


def trees(name: str, **settings: Any) -> Part:
    """A scikit-learn ensemble of trees, wrapped as an encoder."""
    wrapped = {"classifier": Part("sklearn.ensemble", name, settings)}
    return encoder("TabularEncoder", settings=wrapped)


TORCH = ("torch", "torch")

GRAPH_VIEWS = Choice(
    "graph-view",
    "How the graph ties the labels of nodes together",
    {
        "laplacian": view("GraphView", note="neighbours are alike, the default"),
        "squared-laplacian": view("SquaredLaplacianView"),
        "two-hop": view("TwoHopView"),
        "high-pass": view("HighPassView", note="neighbours differ"),
        "shared-out-neighbours": view("SharedNeighbours", {"direction": "out"}, "needs --directed"),
        "shared-in-neighbours": view("SharedNeighbours", {"direction": "in"}, "needs --directed"),
        "locally-linear": view("LocallyLinearView"),
        "random-walks": view("RandomWalks", {}, "nodes that DeepWalk puts near are alike"),
        "contrastive": view("Contrast", {}, "neighbours are alike, and not everyone"),
        "none": view("NoGraphView"),
    },
)

LABEL_VIEWS = Choice(
    "label-view",
    "How far given labels are trusted",
    {
        "squared": view("LabelView", note="the default"),
        "robust": view("RobustLabels", {}, "where some of them may be wrong"),
    },
)

INPUTS = Choice(
    "inputs",
    "What the encoder reads of each node; several as a,b",
    {
        "reduced": inputs("ReducedInputs", "leading directions of the diffused features"),
        "raw": inputs("RawInputs", "the features alone"),
        "diffused": inputs("DiffusedInputs"),
        "hops": inputs("HopInputs", "features of neighbours, by distance"),
        "out-hops": inputs("HopInputs", direction="out"),
        "in-hops": inputs("HopInputs", direction="in"),
        "adjacency": inputs("AdjacencyInputs", "who the neighbours are"),
        "out-adjacency": inputs("AdjacencyInputs", direction="out"),
        "in-adjacency": inputs("AdjacencyInputs", direction="in"),
        "degrees": inputs("DegreeInputs"),
        "landmarks": inputs("LandmarkInputs", "distances between features, scaled to a few columns"),
    },
)

ENCODERS = Choice(
    "encoder",
    "The classifier that is trained on features",
    {
        "linear": encoder("LinearEncoder", "the default"),
        "mlp": encoder("MLPEncoder", "a neural network", TORCH),
        "mlps": encoder(
            "EnsembleEncoder", "five of them, averaged", TORCH, {"encoder": encoder("MLPEncoder")}
        ),
        "kernel": encoder("KernelEncoder"),
        "attention": encoder("AttentionEncoder", "reads hops", TORCH),
        "boosted-trees": trees("HistGradientBoostingClassifier"),
        "forest": trees("RandomForestClassifier", n_estimators=300, min_samples_leaf=2),
    },
)


def chosen_parts(
    graph_view: str | None, label_view: str | None, inputs: str | None, encoder: str | None
) -> dict[str, Any]:
    """Settings of AltOpt from the options of `altopt fit`; what was not named is left to AltOpt."""
    named = {"graph_view": (GRAPH_VIEWS, graph_view), "label_view": (LABEL_VIEWS, label_view)}
    named["encoder"] = (ENCODERS, encoder)
    settings = {key: choice[name] for key, (choice, name) in named.items() if name is not None}
    if inputs is not None:
        blocks = tuple(INPUTS[name] for name in inputs.split(","))
        if len(blocks) > 1:  # side by side, each with unit rows
            from altopt.inputs import BlockInputs

            settings["inputs"] = BlockInputs(blocks)
        else:
            settings["inputs"] = blocks[0]
    return settings
