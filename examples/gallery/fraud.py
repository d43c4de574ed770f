"""Fraud: few cases, labels of some accounts, and a missed fraud that costs twenty times a false alarm."""

import numpy as np

from altopt import AltOpt
from altopt.datasets import communities


def main() -> None:
    data = communities(600, 6, mean_degree=4, signal=0.25, seed=1)  # accounts, and who pays whom
    truth = np.where(data.y == 0, "fraud", "ok").astype(object)
    checked = np.random.default_rng(0).choice(len(truth), 150, replace=False)
    known = {int(account): truth[account] for account in checked}

    model = AltOpt(random_state=0).fit(data.X, known, graph=data.graph)
    print(model.leave_one_out_)

    decision = model.decide(cost={("fraud", "ok"): 20})  # (true, decided); other mistakes cost 1
    print(decision)

    alarm = model.threshold("fraud", precision=0.7)
    print(alarm)
    print(f"Look at first: {alarm.nodes[:5].tolist()}")

    why = model.explain(alarm.nodes[0])
    print(f"Columns that speak for it: {[name for name, _ in why.columns[:3]]} ({why.columns_how})")

    rest = ~model.labelled_
    print(f"{100 * np.mean((model.transduction_ == truth)[rest]):.0f}% are right")
    missed = {
        name: int(np.sum((truth == "fraud") & (labels == "ok") & rest))
        for name, labels in {"likeliest": model.transduction_, "least cost": decision.labels}.items()
    }
    print(
        f"Frauds missed by the likeliest label: {missed['likeliest']}, at least cost: {missed['least cost']}"
    )


if __name__ == "__main__":
    main()
