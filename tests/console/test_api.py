"""Whatever is asked of the API, it answers: never a fault of the program."""

import pytest
from hypothesis import HealthCheck, settings

from rig.console.access import Role
from rig.console.app import create
from tests.console import serving

schemathesis = pytest.importorskip("schemathesis")


@pytest.fixture(scope="module")
def api(runs, tmp_path_factory):
    made = serving.settings(runs, tmp_path_factory.mktemp("cache"))
    app = create(made)
    with serving.client_of(made):
        pass
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app, headers={"host": "127.0.0.1:8765"})
    return schema, made


schema = schemathesis.pytest.from_fixture("schema_of")


@pytest.fixture(scope="module")
def schema_of(api):
    return api[0]


@schema.parametrize()
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_makes_it_fail(case, api):
    token = api[1].keys.tokens[Role.ADMIN]
    headers = {"host": "127.0.0.1:8765", "authorization": f"Bearer {token}"}
    answer = case.call(headers=headers)
    assert answer.status_code < 500, answer.text
