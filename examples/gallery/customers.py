"""Customers in a CSV with numbers of any scale, categories, a date, text and gaps; a few segments are known."""

import numpy as np
import pandas as pd

from altopt import AltOpt

WORDS = {"bank": "loan account interest", "home": "roof garden paint", "shop": "basket voucher returns"}


def write_files(n: int = 400, seed: int = 0) -> pd.Series:
    """customers.csv and friends.csv as they may lie on a disk; returns every customer's segment."""
    rng = np.random.default_rng(seed)
    segment = rng.choice(list(WORDS), n)
    code = np.unique(segment, return_inverse=True)[1]
    ids = np.array([f"cust-{k:03d}" for k in range(n)])
    table = pd.DataFrame(
        {
            "revenue": rng.lognormal(10 + 0.5 * code, 1.0).round(2),
            "age": rng.normal(35 + 5 * code, 10).round(),
            "plan": np.where(rng.random(n) < 0.5, segment, rng.choice(["free", "gold"], n)),
            "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 800, n), unit="D"),
            "note": [" ".join(rng.choice((WORDS[name] + " hello thanks").split(), 4)) for name in segment],
        },
        index=pd.Index(ids, name="customer"),
    ).mask(rng.random((n, 5)) < 0.1)
    known = pd.Series(segment).groupby(segment).sample(8, random_state=seed).index
    table["segment"] = np.where(np.isin(np.arange(n), known), segment, "")
    table.to_csv("customers.csv")
    one = rng.integers(0, n, 3 * n)
    other = [
        rng.choice(np.flatnonzero(code == code[k])) if rng.random() < 0.6 else rng.integers(n) for k in one
    ]
    pd.DataFrame({"source": ids[one], "target": ids[other]}).to_csv("friends.csv", index=False)
    return pd.Series(segment, index=table.index)


def main() -> None:
    truth = write_files()

    customers = pd.read_csv("customers.csv", index_col="customer")
    segment = customers.pop("segment")  # empty where it is not known
    model = AltOpt(random_state=0).fit(customers, segment, graph=pd.read_csv("friends.csv"))

    print(model.columns_)  # how each column was read
    print(model.leave_one_out_.in_words())
    print(model.explain("cust-007"))
    print(f"{model.score(customers, truth):.0%} are right")


if __name__ == "__main__":
    main()
