"""Questions and answers of every kind, drawn from the server's own description: none breaks it."""

import shutil

import pytest
from hypothesis import HealthCheck, given, settings

from altopt.cli.explore.server import application
from altopt.cli.explore.session import Session

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
pytest.importorskip("fastapi")

TOKEN = "secret-token"


@pytest.fixture(scope="module")
def description(fitted_once, tmp_path_factory):
    place = shutil.copytree(fitted_once, tmp_path_factory.mktemp("fuzzed") / "model")
    session = Session(place, in_background=False)
    app = application(session, TOKEN, {"localhost", "testserver"})
    headers = {"Authorization": f"Bearer {TOKEN}"}
    yield schemathesis.openapi.from_asgi("/api/openapi.json", app, headers=headers)
    session.close()


def test_no_question_breaks_the_server(description):
    operations = [found.ok() for found in description.get_all_operations()]
    assert len(operations) >= 13
    for operation in operations:

        @settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def ask(case):
            answer = case.call(headers={"Authorization": f"Bearer {TOKEN}"})
            assert answer.status_code in (200, 400, 404, 413, 422), (case.path, answer.status_code)

        ask()
