"""Questions and answers of every kind, drawn from the server's own description: none breaks it."""

import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from altopt.cli.explore.server import application
from altopt.cli.explore.session import Session
from altopt.fitted.picture import name_of

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
pytest.importorskip("fastapi")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")

TOKEN = "secret-token"
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]
N_OPERATIONS = 15


@pytest.fixture(scope="module")
def served(fitted_once, tmp_path_factory):
    place = shutil.copytree(fitted_once, tmp_path_factory.mktemp("fuzzed") / "model")
    session = Session(place, in_background=False)
    app = application(session, TOKEN, {"localhost", "testserver"})
    headers = {"Authorization": f"Bearer {TOKEN}"}
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app, headers=headers)
    yield session, {found.ok().label: found.ok() for found in schema.get_all_operations()}
    session.close()


@pytest.mark.filterwarnings("ignore:Nothing was learnt")
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("k", range(N_OPERATIONS))
def test_no_question_breaks_the_server(served, k, mode):
    session, operations = served
    assert len(operations) == N_OPERATIONS
    operation = operations[sorted(operations)[k]]

    n = 10 if "refit" in operation.label else 60  # each of which is a refit

    @settings(max_examples=n, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case):
        if mode is schemathesis.GenerationMode.POSITIVE:
            name_rightly(case, session)
        answer = case.call(headers={"Authorization": f"Bearer {TOKEN}"})
        case.validate_response(answer, checks=CHECKS)

    try:
        ask()
    except Unsatisfiable:
        pytest.skip("nothing that it takes can be wrong")


def name_rightly(case, session):
    """Half of the questions about a node are about one of this model, so that they get past the first check."""
    body = case.body
    if not isinstance(body, dict) or "node" not in body or body["at"] % 2:
        return
    if any(isinstance(body.get(name), float) for name in ("at", "label")):
        return  # 1.0 is a whole number to JSON schema, and none to the server
    body["at"] %= session.fitted.n_nodes
    body |= {"node": name_of(session.name(body["at"])), "numbering": session.numbering}
    if body.get("label") is not None:
        body["label"] %= len(session.classes)
        body["name"] = name_of(session.classes[body["label"]])
