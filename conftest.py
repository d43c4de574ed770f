"""What holds for every test."""

import pytest

from altopt.threads import threads_for


@pytest.fixture(autouse=True, scope="session")
def small_fits_on_one_thread():
    """Test problems are small: a second thread would only wait."""
    with threads_for(0, with_torch=True):
        yield
