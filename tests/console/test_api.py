"""Whatever is asked of the API, it answers: never a fault of the program."""

import pytest
from hypothesis import HealthCheck, given, settings

from rig.console.access import Role
from tests.console import serving

schemathesis = pytest.importorskip("schemathesis")


def test_no_request_makes_it_fail(runs, tmp_path):
    made = serving.settings(runs, tmp_path)
    token = made.keys.tokens[Role.ADMIN]
    headers = {"host": "127.0.0.1:8765", "authorization": f"Bearer {token}"}
    with serving.client_of(made) as client:
        schema = schemathesis.openapi.from_dict(client.get("/api/openapi.json").json())
        operations = [found.ok() for found in schema.get_all_operations()]
        assert len(operations) > 40
        for operation in operations:

            @settings(max_examples=5, deadline=None, database=None, suppress_health_check=list(HealthCheck))
            @given(case=operation.as_strategy())
            def ask(case):
                sent = case.as_transport_kwargs(base_url=serving.BASE)
                wanted = {**(sent.get("headers") or {}), **headers}
                parts = {name: sent[name] for name in ("params", "json") if sent.get(name) is not None}
                answer = client.request(sent["method"], sent["url"], headers=wanted, **parts)
                assert answer.status_code < 500, f"{case.method} {sent['url']}: {answer.text}"

            ask()
