"""The model of these tests: fitted once, copied for each test."""

import shutil

import pytest

from altopt.cli.explore.session import Session
from explored import stored_model


@pytest.fixture(scope="session")
def fitted_once(tmp_path_factory):
    return stored_model(tmp_path_factory.mktemp("explored"))


@pytest.fixture(scope="session")
def other_fit(tmp_path_factory):
    """A fit of the same nodes in another order, one class under another name."""
    return stored_model(tmp_path_factory.mktemp("other"), shift=100, first_class="aside")


@pytest.fixture
def folder(fitted_once, tmp_path):
    shutil.copytree(fitted_once, tmp_path / "fit" / "model")
    return tmp_path / "fit" / "model"


@pytest.fixture
def session(folder):
    session = Session(folder, in_background=False)
    yield session
    session.close()
