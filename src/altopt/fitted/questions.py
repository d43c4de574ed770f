"""What a fitted AltOpt can be asked beside its labels: evidence, and which nodes to label next."""

from typing import Any

from altopt.fitted.attributes import FittedAttributes
from altopt.fitted.explain import explain
from altopt.fitted.explanation import Explanation
from altopt.fitted.request import plain_list
from altopt.fitted.suggest import suggest


class FittedQuestions(FittedAttributes):
    """Questions to a fitted model; none of them changes it."""

    def explain(self, node: Any, *, tolerance: float | None = None) -> Explanation:
        """The ledger of a node's prediction: which labels and which nodes' features gave it its row of F.

        The shares sum to that row of `scores_`; exact for the encoder output that was used and for F before the
        softmax. Evidence is followed until less than `tolerance` sqrt(degree) of the node's weight is left anywhere;
        what lies beyond is one entry with node None. The default follows all of it up to 20,000 nodes, and stops at
        1e-5 on larger graphs, where a ledger has very many entries.
        """
        return self.explain_many([node], tolerance=tolerance)[0]

    def explain_many(self, nodes: Any, *, tolerance: float | None = None) -> list[Explanation]:
        """An explanation for each of several nodes."""
        return explain(self.fitted_, plain_list(nodes), tolerance)

    def suggest(self, n: int = 10, *, among: Any = None) -> list[tuple[Any, float]]:
        """Which unlabelled nodes are worth labelling next: [(node, expected gain)], best first.

        The gain is the number of wrong labels that a node's label is expected to correct, given those before it;
        picks are spread over the graph. `among` names the nodes that can be asked for; None: any. Both candidates and
        the nodes they are evaluated by are seeded samples on large graphs.
        """
        return suggest(self.fitted_, n, among)
