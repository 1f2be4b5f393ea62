"""One holder of a bench: a campaign does not start on one that is not idle, and none is armed under a campaign."""

import pytest

from rig.console.access import Role
from rig.console.bench_state import NotNow
from rig.console.holders import Holders
from tests.console import serving
from tests.console.test_campaign_page import PLAN
from tests.record.making import wait_until


def test_whoever_asks_is_in_nobodys_way_but_the_others():
    holders = Holders()
    held: dict[str, str] = {}

    def trials() -> dict[str, str]:
        return {"sim": "it is armed"}

    def campaigns() -> dict[str, str]:
        return held

    holders.add(trials)
    holders.add(campaigns)
    with holders.free_of_others(["sim"], trials):
        held["sim"] = "campaign night runs on it"
    with (
        pytest.raises(NotNow, match="bench sim is in use: campaign night runs on it"),
        holders.free_of_others(["bath-sim", "sim"], trials),
    ):
        pytest.fail("somebody else holds it")
    with holders.free_of_others(["bath-sim"], campaigns):
        pass


def test_a_campaign_and_the_console_keep_off_each_others_bench(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "many.toml").write_text(PLAN.format(name="many", count=400))
    made = serving.settings(tmp_path / "runs", tmp_path / "cache", bench="sim")
    wanted = {"plan": "many", "exploratory": True, "workers": 1}
    with serving.client_of(made) as client:
        anna = serving.Caller(client, made, Role.TECHNICIAN, "Anna Example")
        now = anna.post("/bench/control").json()
        anna.post("/bench/stop")
        refused = anna.post("/campaigns", wanted)
        assert (refused.status_code, "it is stopped" in refused.json()["detail"]) == (409, True)
        now = anna.get("/bench").json()
        reset = {"version": now["version"], "cause": "tried the stop", "looked": True}
        assert anna.post("/bench/reset", reset).status_code == 200

        started = anna.post("/campaigns", wanted)
        assert started.status_code == 200, started.text
        refused = anna.post("/bench/preflight")
        assert (refused.status_code, "campaign many runs on it" in refused.json()["detail"]) == (409, True)
        assert anna.get("/bench").json()["state"] == "idle"
        assert anna.post(f"/campaigns/{started.json()['key']}/stop", {"how": "at once"}).status_code == 200
        campaigns = client.app.state.parts.campaigns
        wait_until(lambda: not campaigns.at_work(made.runs / "many"))
        assert campaigns.held() == {}
