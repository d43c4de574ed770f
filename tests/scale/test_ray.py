"""Jobs on Ray: the same bits as here with any number of workers, and whoever is killed."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from altopt.cli.main import run
from altopt.errors import InputError, MissingExtra
from altopt.scale.fit import Fitting
from altopt.scale.job import JOBS, Job
from altopt.scale.plan import Plan
from altopt.scale.recipe import recipe_of
from altopt.scale.runner import Here
from altopt.scale.store import Store
from altopt_lab.bench import mortal
from altopt_lab.bench.large import LargeGraph, write
from problems_on_disk import communities, on_disk, same_candidate
from scale_jobs import contents, tree, until

ray = pytest.importorskip("ray")

from altopt.scale.ray_runner import Ray  # noqa: E402

BUDGET = 1 << 24
TESTS = Path(__file__).parent.parent
DRIVER = """
import sys
from altopt_lab.bench import mortal
from altopt_lab.bench.large import LargeGraph, write
from problems_on_disk import communities, on_disk, same_candidate
from scale_jobs import tree
from altopt.scale.ray_runner import Ray
from altopt.scale.store import Store
with Ray(Store(sys.argv[1]), workers=2, budget=1 << 24) as runner:
    runner.run(tree())
"""


@pytest.fixture(scope="module")
def orders(tmp_path_factory):
    """The folder that tells jobs in workers to die or to wait; workers read its name when they start."""
    return tmp_path_factory.mktemp("orders")


@pytest.fixture(scope="module")
def environment(orders):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", f"{TESTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        patch.setenv("ALTOPT_TEST_ORDERS", str(orders))
        patch.setenv(mortal.ORDERS, str(orders))
        yield


@pytest.fixture(scope="module")
def cluster(environment):
    """Two machines in one: three processors, of which tests take one or two away and bring them back."""
    from ray.cluster_utils import Cluster

    machine = {"object_store_memory": 80 << 20, "memory": 1 << 30}
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False, **machine}
    )
    cluster.add_node(num_cpus=1, **machine)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    runner = Here(Store(tmp_path_factory.mktemp("here")), BUDGET)
    runner.run(tree())
    return contents(runner.store, tree())


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_any_number_of_workers_gives_the_bits_of_one_process(cluster, tmp_path, expected, workers):
    done = []
    store = Store(f"file://{tmp_path}/store", tmp_path / "cache")
    with Ray(store, workers, budget=BUDGET, on_done=done.append) as runner:
        runner.run(tree())
        written = store.bytes_written
        runner.run(tree())
    assert contents(store, tree()) == expected
    assert len(done) == 2 * len(tree())
    assert store.bytes_written == written  # nothing was made twice
    assert store.bytes_read >= sum(len(expected[name]) for job in tree() for name in job.inputs)


@pytest.mark.parametrize("position", [0, 3, -1], ids=["draw", "halve", "mix"])
def test_a_killed_worker_costs_its_job(cluster, orders, tmp_path, expected, position):
    order = orders / f"die-{tree()[position].name}"
    order.touch()
    with Ray(Store(tmp_path), 2, budget=BUDGET) as runner:
        runner.run(tree())
    assert not order.exists()
    assert contents(Store(tmp_path), tree()) == expected


def test_a_removed_machine_costs_its_jobs(cluster, orders, tmp_path, expected):
    extra = cluster.add_node(num_cpus=1, memory=1 << 30, object_store_memory=80 << 20)
    cluster.wait_for_nodes()
    drawn = [Job("draw", {"seed": k, "size": 1000}, (), ("numbers",)) for k in range(4)]
    for job in drawn:
        (orders / f"wait-{job.name}").touch()
    with Ray(Store(tmp_path), 4, budget=BUDGET) as runner:
        running = threading.Thread(target=runner.run, args=([*drawn, *tree()],))
        running.start()
        until(
            lambda: all((orders / f"waiting-{job.name}").exists() for job in drawn)
        )  # one on each processor
        cluster.remove_node(extra, allow_graceful=False)
        for job in drawn:
            (orders / f"wait-{job.name}").unlink()
        running.join()
    assert contents(Store(tmp_path), tree()) == expected
    assert all(job.is_done(Store(tmp_path)) for job in drawn)


def test_a_killed_driver_resumes(cluster, orders, tmp_path, expected):
    held = tree()[-1]
    order = orders / f"wait-{held.name}"
    order.touch()
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path)], start_new_session=True)
    until(lambda: (orders / f"waiting-{held.name}").exists())
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    order.unlink()
    store = Store(tmp_path)
    made = {name: (tmp_path / name).stat().st_mtime_ns for job in tree()[:-1] for name in job.files}
    with Ray(store, 2, budget=BUDGET) as runner:
        runner.run(tree())
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in made} == made
    assert contents(store, tree()) == expected


def test_an_error_of_a_job_is_raised_as_it_is_and_the_rest_is_cancelled(cluster, orders, tmp_path):
    held = tree()[1]
    (orders / f"wait-{held.name}").touch()
    absent = Job("mix", {}, ("absent",), ("numbers",))
    with (
        Ray(Store(tmp_path), 2, budget=BUDGET) as runner,
        pytest.raises(InputError, match="holds no absent") as caught,
    ):
        runner.run([held, absent])
    assert type(caught.value) is InputError
    (orders / f"wait-{held.name}").unlink()
    assert not held.is_done(Store(tmp_path))


def test_a_storage_that_workers_do_not_share_is_refused(cluster, tmp_path, monkeypatch):
    store = Store(tmp_path / "mine")
    monkeypatch.setattr(
        store, "place", str(tmp_path / "theirs")
    )  # as a local disk is: another one on each machine
    with (
        pytest.raises(InputError, match="is not shared: machine .* does not see"),
        Ray(store, 2, budget=BUDGET),
    ):
        pass
    assert list((tmp_path / "mine").iterdir()) == []


def test_more_memory_than_any_machine_has_is_refused(cluster, tmp_path):
    with pytest.raises(InputError, match="none offers more than"), Ray(Store(tmp_path), 2, budget=1 << 40):
        pass


def test_a_job_that_is_lost_again_and_again_is_an_error(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("altopt.scale.ray_runner.RETRIES", 1)
    with (
        Ray(Store(tmp_path), 1, budget=BUDGET) as runner,
        pytest.raises(InputError, match="'crash' was lost 2 times with its worker"),
    ):
        runner.run([Job("crash", {}, (), ("nothing",))])


def test_without_ray_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"altopt\[ray\]"):
        Ray(Store(tmp_path), 2)


def test_core_does_not_import_ray():
    code = "import sys, altopt.cli.main, altopt.scale.ray_runner; assert 'ray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def fit(graph, runner):
    """The bytes of F, and the kinds of jobs that made it."""
    recipe = recipe_of(same_candidate().parameters(), graph)
    plan = Plan.of(graph.n_nodes, len(graph.classes), 20, runner.budget, "float32", "float16")
    fitting = Fitting(graph, recipe, plan, runner)
    _ = fitting.folds
    F = fitting.alternate().F
    return b"".join(runner.store.path(job.file("F")).read_bytes() for job in F)


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    return on_disk(tmp_path_factory.mktemp("problem"), *communities(n_classes=20))


SMALL = 100_000  # bytes: two panels of F


@pytest.fixture(scope="module")
def F(problem, tmp_path_factory):
    return fit(problem, Here(Store(tmp_path_factory.mktemp("in one")), SMALL))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_fit_by_any_number_of_workers_has_the_bits_of_one_process(cluster, problem, F, tmp_path, workers):
    kinds = []
    store = Store(f"file://{tmp_path}/store", tmp_path / "cache")
    with Ray(store, workers, budget=SMALL, on_done=lambda job: kinds.append(job.kind)) as runner:
        assert fit(problem, runner) == F
    assert kinds.count("finish panel") == 2


def test_a_fit_in_which_a_worker_dies_in_each_kind_of_job_has_the_same_bits(
    cluster, orders, problem, F, tmp_path
):
    kinds = [kind for kind, function in JOBS.items() if function.__module__ == mortal.__name__]
    for kind in kinds:
        (orders / f"die-{kind}").touch()
    done = set()
    with Ray(Store(tmp_path), 2, budget=SMALL, on_done=lambda job: done.add(job.kind)) as runner:
        assert fit(problem, runner) == F
    assert {kind for kind in kinds if not (orders / f"die-{kind}").exists()} == done
    for kind in set(kinds) - done:
        (orders / f"die-{kind}").unlink()
    assert len(done) >= 10


def command(place, name, *more):
    """altopt fit of the tables in a folder."""
    tables = [
        word
        for option, table in (("edges", "edges"), ("features", "features"), ("labels", "labels.parquet"))
        for word in (f"--{option}", str(place / table))
    ]
    return ["fit", *tables, "--memory", "400MB", "--quiet", "--out", str(place / name), *more]


def results(out):
    """The bytes of F and of the predictions."""
    files = [*sorted((out / "model").glob("data-*/F/*")), *sorted((out / "predictions").iterdir())]
    assert len(files) >= 2
    return [path.read_bytes() for path in files]


def test_the_command_on_ray_writes_what_it_writes_here(cluster, tmp_path):
    write(LargeGraph(500, 1500, 4, 8), tmp_path)
    assert run(command(tmp_path, "here")) == 0
    on_ray = ("--engine", "ray", "--workers", "2", "--storage", f"file://{tmp_path}/jobs")
    assert run(command(tmp_path, "ray", *on_ray)) == 0
    assert results(tmp_path / "here") == results(tmp_path / "ray")


COMMAND = (
    "import sys; from altopt_lab.bench import mortal; from altopt.cli.main import run; run(sys.argv[1:])"
)


def test_the_killed_driver_of_a_fit_resumes_to_the_same_bits(cluster, orders, tmp_path):
    write(LargeGraph(500, 1500, 4, 8), tmp_path)
    jobs, holds = (
        tmp_path / "jobs",
        [orders / f"hold-{node['NodeID']}" for node in ray.nodes() if node["Alive"]],
    )
    on_ray = ("--engine", "ray", "--workers", "2", "--storage", str(jobs), "--address", cluster.address)
    (orders / "held").unlink(missing_ok=True)
    driver = subprocess.Popen([sys.executable, "-c", COMMAND, *command(tmp_path, "ray", *on_ray)])
    until(lambda: list(jobs.glob("teach-encoder-*.sum")))  # a round was made
    for hold in holds:
        hold.touch()
    until(lambda: (orders / "held").exists())
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    for hold in holds:
        hold.unlink()
    made = {path: path.stat().st_mtime_ns for path in jobs.glob("teach-encoder-*.encoder")}
    assert made
    assert not (tmp_path / "ray" / "model").exists()
    done = []
    finished = Ray.__exit__

    def look(runner, *error):
        done.append({path: path.stat().st_mtime_ns for path in made})
        return finished(runner, *error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ray, "__exit__", look)
        assert run(command(tmp_path, "ray", *on_ray, "--resume")) == 0
    assert done == [made]  # nothing was made twice
    assert list(jobs.iterdir()) == []
    assert run(command(tmp_path, "here")) == 0
    assert results(tmp_path / "here") == results(tmp_path / "ray")
