"""What holds for every test."""

import signal
from pathlib import Path

import pytest

from altopt.threads import threads_for

# in the background, or under nohup, a shell has signals ignored that tests send and expect to be heard
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
    signal.signal(number, usual)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True, scope="session")
def small_fits_on_one_thread():
    """Test problems are small: a second thread would only wait."""
    with threads_for(0, with_torch=True):
        yield


# whole fits and searches, whose lines other tests reach as well: counting lines would make them half as slow again
NOT_COUNTED = {
    "test_accuracy_floors.py",
    "test_docs.py",
    "test_examples.py",
    "test_real_graphs.py",
    "test_update.py",
}


def pytest_collection_modifyitems(config, items):
    """Coverage is paused in the slowest files, so that `make test` takes about as long with it as without."""
    if config.pluginmanager.hasplugin("_cov"):
        for item in items:
            if Path(item.path).name in NOT_COUNTED:
                item.add_marker("no_cover")
