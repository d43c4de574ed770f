"""What holds for every test."""

import signal
from pathlib import Path

import pytest

from altopt.threads import threads_for

# a shell that starts tests in the background has SIGINT ignored; tests send it and expect it to be heard
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
