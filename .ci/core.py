"""What the wheel of altopt holds, and what it does in an environment with its core dependencies only.

usage: python core.py FOLDER_OF_WHEELS SCRATCH_FOLDER
"""

import subprocess
import sys
import tarfile
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path

dist, scratch = map(Path, sys.argv[1:])
scripts = Path(sys.executable).parent

(wheel,), (sdist,) = dist.glob("altopt-*.whl"), dist.glob("altopt-*.tar.gz")
names = zipfile.ZipFile(wheel).namelist()
strays = [name for name in names if name.endswith((".cpp", ".hpp")) or "altopt_lab" in name]
strays += [name for name in names if set(Path(name).parts) & {"baselines", "bench", "experiments", "tests"}]
assert not strays, f"not part of the library: {strays}"
with tarfile.open(sdist) as archive:
    parts = {Path(name).parts[1] for name in archive.getnames()}
assert {"src", "CMakeLists.txt", "pyproject.toml", "LICENSE"} <= parts, parts
assert not parts & {"results", "lab", "tests", "data"}, parts

extras = (
    "torch",
    "fastapi",
    "pandas",
    "polars",
    "networkx",
    "torch_geometric",
    "altopt_lab",
)
installed = [module for module in extras if find_spec(module) is not None]
assert not installed, f"not an environment with the core only: {installed}"

began = time.perf_counter()
import altopt  # noqa: E402

print(f"import altopt: {time.perf_counter() - began:.3f} s, from {Path(altopt.__file__).parent}")

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
from pyarrow import csv  # noqa: E402

from altopt.datasets import communities  # noqa: E402
from altopt.operator.kernels.dispatch import description  # noqa: E402

data = communities(1000, 4, seed=0)
shown = np.arange(1000) % 20 == 0
y = np.where(shown, data.y, -1)
model = altopt.AltOpt(random_state=0).fit(data.X, y, graph=data.graph)
accuracy = np.mean((model.transduction_ == data.y)[~shown])
print(f"default fit: accuracy {accuracy:.3f}, {model.choice_['plan']}, {description()}")
assert accuracy > 0.6

tables = scratch / "tables"
tables.mkdir()
A = data.graph.adjacency.tocoo()
columns = {f"x{j}": data.X[:, j] for j in range(data.X.shape[1])}
csv.write_csv(pa.table({"node": np.arange(1000)} | columns), tables / "X.csv")
csv.write_csv(pa.table({"node": np.flatnonzero(shown), "label": data.y[shown]}), tables / "y.csv")
csv.write_csv(pa.table({"source": A.row, "target": A.col}), tables / "E.csv")
options = [
    f"--{name}={tables / file}.csv" for name, file in (("features", "X"), ("labels", "y"), ("edges", "E"))
]
subprocess.run([scripts / "altopt", "fit", *options, f"--out={scratch / 'fit'}"], check=True)
assert (scratch / "fit" / "predictions.parquet").is_file()
assert (scratch / "fit" / "report.html").is_file()
for command, extra in (
    (["demo"], "torch"),
    (["explore", str(scratch / "fit")], "explore"),
    (["bench"], "lab"),
):
    refused = subprocess.run([scripts / "altopt", *command], capture_output=True, text=True, check=False)
    print(refused.stderr.strip())
    assert refused.returncode == 2, refused
    assert refused.stderr.count("\n") == 1, refused
    assert extra in refused.stderr, refused
