"""What a fitted AltOpt can be asked beside its labels: evidence, decisions, and which nodes to label next."""

from typing import Any

from altopt.fitted.attributes import FittedAttributes
from altopt.fitted.decisions import Decision, Threshold, decide, threshold
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
        return explain(self.fitted_, plain_list(nodes), tolerance, self._column_names())

    def _column_names(self) -> list[Any]:
        """Of each column that the model computes with, the name of the column of X, where it has one, or its number."""
        fitted = self.fitted_
        if not fitted.has_features:
            return []
        if fitted.reader is not None:
            return [column.name for column in fitted.reader.columns for _ in column.names]
        names = getattr(self, "feature_names_in_", None)
        return list(range(fitted.n_features)) if names is None else names.tolist()

    def decide(self, cost: Any) -> Decision:
        """Labels of least expected cost, and what they are expected to cost.

        Parameters
        ----------
        cost : dict {(true class, decided class): number}, or array (n_classes, n_classes)
            In a dict, mistakes that are not named cost 1 and what is right nothing: {("fraud", "ok"): 10} says that a
            missed fraud is ten times as bad as a false alarm. An array has a row for each true class, as `classes_`.

        Given labels stay as they are. The expected cost comes from the labels that the fit held out in turn.
        """
        return decide(self.fitted_, cost)

    def threshold(
        self, label: Any, *, precision: float | None = None, recall: float | None = None
    ) -> Threshold:
        """The probability of a class from which on nodes are called by it, for a wished precision or recall.

        The lowest with that precision on held-out labels, less what choosing it on them flatters; or the highest with
        that recall. The answer says what precision and recall to expect, with intervals, and which unlabelled nodes
        pass.
        """
        return threshold(self.fitted_, label, precision, recall)

    def suggest(self, n: int = 10, *, among: Any = None) -> list[tuple[Any, float]]:
        """Which unlabelled nodes are worth labelling next: [(node, expected gain)], best first.

        The gain is the number of wrong labels that a node's label is expected to correct, given those before it;
        picks are spread over the graph. `among` names the nodes that can be asked for; None: any. Both candidates and
        the nodes they are evaluated by are seeded samples on large graphs.
        """
        return suggest(self.fitted_, n, among)
