"""A fit whose storage is a bucket: a mock of S3 on the loopback interface, where moto is installed."""

import pytest

from altopt.scale.fit import Fitting
from altopt.scale.plan import Plan
from altopt.scale.recipe import recipe_of
from altopt.scale.runner import Here
from altopt.scale.store import Store
from problems_on_disk import communities, on_disk, same_candidate

server = pytest.importorskip("moto.server", reason="moto is not installed: nothing is tried on S3")
fs = pytest.importorskip("pyarrow.fs")

BUDGET = 100_000  # bytes: two panels of F


@pytest.fixture
def bucket(monkeypatch):
    """The URL of a folder in an empty bucket."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    mock = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    mock.start()
    host, port = mock.get_host_and_port()
    options = f"scheme=http&endpoint_override={host}%3A{port}&region=us-east-1&allow_bucket_creation=true"
    files, _ = fs.FileSystem.from_uri(f"s3://key:secret@bucket?{options}")
    files.create_dir("bucket")
    yield f"s3://key:secret@bucket/run?{options}"
    mock.stop()


def fitted(graph, store):
    recipe = recipe_of(same_candidate(n_rounds=2).parameters(), graph)
    plan = Plan.of(graph.n_nodes, len(graph.classes), 20, BUDGET, "float32", "float16")
    with Here(store, BUDGET) as runner:
        fitting = Fitting(graph, recipe, plan, runner)
        F = fitting.alternate().F
        found = b"".join(store.path(job.file("F")).read_bytes() for job in F)
    return fitting, found


def test_a_fit_in_a_bucket_has_the_bits_of_one_in_a_folder_and_leaves_nothing_there(tmp_path, bucket):
    graph = on_disk(tmp_path / "problem", *communities(n_classes=20))
    _, expected = fitted(graph, Store(tmp_path / "store"))
    store = Store(bucket, tmp_path / "cache")
    fitting, found = fitted(graph, store)
    assert found == expected
    assert store.bytes_written > 0
    inside = fs.FileSelector(store.root, recursive=True)
    assert any(info.is_file for info in store.files.get_file_info(inside))
    fitting.clear()
    assert not any(info.is_file for info in store.files.get_file_info(inside))
    assert "secret" not in store.shown
