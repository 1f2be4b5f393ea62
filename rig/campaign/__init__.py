"""Campaigns: many trials, decided before they are run, each exactly once, on one core or many machines.

A campaign is a folder: ``plan.toml`` and ``registration.dsse.json`` (what was decided, signed), ``deviations/``,
``configurations/`` (whole manifests by identity), ``ledger.sqlite`` (where every trial stands; the truth),
``records/`` and ``report/``. Names are loaded when they are first used, so importing this costs nothing.

To read a campaign: `Ledger.reading` (``status``, ``entries``, ``anchors``), `rig.core.registration`
(`read_registration`, `read_deviations`) and `rig.core.configuration` (`differences`).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rig.campaign.entries import CampaignStatus, Entry, Finished, Lease, State
    from rig.campaign.ledger import Ledger
    from rig.campaign.local import run_all, workers_here
    from rig.campaign.plan import Plan, load_plan

_HOMES = {
    "CampaignStatus": "rig.campaign.entries",
    "Entry": "rig.campaign.entries",
    "Finished": "rig.campaign.entries",
    "Ledger": "rig.campaign.ledger",
    "Lease": "rig.campaign.entries",
    "Plan": "rig.campaign.plan",
    "State": "rig.campaign.entries",
    "load_plan": "rig.campaign.plan",
    "run_all": "rig.campaign.local",
    "workers_here": "rig.campaign.local",
}

__all__ = [
    "CampaignStatus",
    "Entry",
    "Finished",
    "Lease",
    "Ledger",
    "Plan",
    "State",
    "load_plan",
    "run_all",
    "workers_here",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
