"""AltOpt() with an option of the paper's framework in the place of a default part, as methods that are compared."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from altopt import AltOpt
from altopt.datasets import Dataset
from altopt.datasets.splits import Split
from altopt.graph import Graph
from altopt.inputs import LandmarkInputs
from altopt.views import Contrast, LocallyLinearView, RandomWalks, Reconstruction, reconstruction_graph
from altopt_lab.experiments.altopt_methods import DefaultMethod
from altopt_lab.experiments.context import DatasetContext
from altopt_lab.experiments.method import Fitted, Settings


@dataclass(frozen=True)
class OptionMethod(DefaultMethod):
    """AltOpt() with a part named, on the graph of the data or on another that is made of it."""

    option: str = ""  # its name in the paper
    on_graph: Callable[[Dataset], Graph | None] = lambda data: data.graph

    def fit(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        data = replace(context.dataset, graph=self.on_graph(context.dataset))
        return super().fit(DatasetContext(data), split, settings, seed)


def with_view(option: str, view: object) -> OptionMethod:
    name = view.__name__ if isinstance(view, type) else shown(view)
    return OptionMethod(
        f"AltOpt(graph_view={name})",
        lambda seed: AltOpt(graph_view=view, random_state=seed),
        option=option,
    )


def shown(part: object) -> str:
    """A part as one writes it: only what differs from its defaults."""
    usual = vars(type(part)())
    changed = ", ".join(f"{key}={value!r}" for key, value in vars(part).items() if usual[key] != value)
    return f"{type(part).__name__}({changed})"


OPTIONS = (
    replace(
        with_view("D_A: locally linear embedding, weights solved from X", Reconstruction()),
        on_graph=lambda data: reconstruction_graph(data.X, data.graph),
    ),
    with_view("D_A: locally linear embedding, every neighbour alike", LocallyLinearView),
    with_view("D_A: DeepWalk", RandomWalks()),
    with_view("D_A: node2vec, near", RandomWalks(p=0.25, q=4.0)),
    with_view("D_A: node2vec, far", RandomWalks(p=4.0, q=0.25)),
    with_view("D_A: contrastive", Contrast()),
    OptionMethod(
        "AltOpt(inputs=LandmarkInputs())",
        lambda seed: AltOpt(inputs=LandmarkInputs(), random_state=seed),
        option="D_X: multidimensional scaling on landmarks",
    ),
)
