"""The README's plans are plans."""

import re
import tomllib
from pathlib import Path

from plans import DECISION

from rig.campaign.composition import arms_of
from rig.campaign.plan import Plan

README = (Path(__file__).resolve().parents[2] / "rig" / "campaign" / "README.md").read_text(encoding="utf-8")


def test_its_plans_can_be_registered() -> None:
    whole, composed = re.findall(r"```toml\n(.*?)```", README, flags=re.S)
    assert Plan.model_validate(tomllib.loads(whole)).missing() == ()
    plan = Plan.model_validate(tomllib.loads(f'name = "x"\ntext = "y"\n{DECISION}\n{composed}'))
    assert plan.composition is not None and len(arms_of(plan.composition)) >= 6
