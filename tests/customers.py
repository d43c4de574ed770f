"""A table of customers as people have them, for tests: numbers of any scale, categories, a date, text, gaps."""

import numpy as np
import pandas as pd

SEGMENTS = np.array(["bank", "home", "shop"])
WORDS = [
    ["loan", "account", "transfer", "interest", "branch"],
    ["roof", "garden", "kitchen", "repair", "paint"],
    ["basket", "voucher", "delivery", "returns", "size"],
]


def customers(
    n: int = 300, missing: float = 0.1, seed: int = 900
) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    """Features by customer, the segment of each, and who is tied to whom."""
    rng = np.random.default_rng(seed)
    c = rng.integers(0, 3, n)
    ids = np.array([f"cust-{k:04d}" for k in range(n)])
    noisy = np.where(rng.random(n) < 0.6, c, rng.integers(0, 3, n))
    table = pd.DataFrame(
        {
            "revenue": rng.lognormal(10 + 0.4 * c, 1.0),
            "age": rng.normal(40 + 4 * c, 12, n).round(),
            "visits": rng.poisson(1 + c),
            "share": rng.beta(2, 3 + c) / 1000,
            "region": np.array(["north", "south", "east", "west"])[(noisy + rng.integers(0, 2, n)) % 4],
            "plan": np.array(["free", "gold", "pro"])[
                np.where(rng.random(n) < 0.5, c, rng.integers(0, 3, n))
            ],
            "channel": np.array(["web", "phone"])[(rng.random(n) < 0.3 + 0.2 * c).astype(int)],
            "joined": pd.Timestamp("2019-03-01")
            + pd.to_timedelta(rng.integers(0, 900, n) + 150 * c, unit="D"),
            "note": [
                " ".join(rng.choice(WORDS[k if rng.random() < 0.5 else rng.integers(3)], 3)) + " please"
                for k in c
            ],
        },
        index=pd.Index(ids, name="customer"),
    )
    table = table.mask(rng.random(table.shape) < missing)
    source = rng.integers(0, n, 3 * n)
    same = np.array([rng.choice(np.flatnonzero(c == c[k])) for k in source])
    target = np.where(rng.random(3 * n) < 0.6, same, rng.integers(0, n, 3 * n))
    return (
        table,
        pd.Series(SEGMENTS[c], index=table.index),
        pd.DataFrame({"source": ids[source], "target": ids[target]}),
    )


def few(y: pd.Series, per_class: int = 8, seed: int = 900) -> pd.Series:
    """The labels of a few customers of each class, in no order."""
    return y.groupby(y).sample(per_class, random_state=seed).sample(frac=1, random_state=seed)
