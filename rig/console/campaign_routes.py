"""Campaigns from the page: how they stand, their horizons so far, starting and stopping them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends

from rig.campaign.entries import CampaignStatus
from rig.console import campaign_shapes as shapes
from rig.console.access import May, Person
from rig.console.shapes import Done
from rig.console.shelf import Item, key_of, stories, without_paths
from rig.console.web import REFUSALS, Parts, Shared, needs
from rig.core.errors import UsageError

router = APIRouter(prefix="/api", tags=["campaigns"], responses=REFUSALS)
Seer = Annotated[Person, Depends(needs(May.SEE_MODEL))]
Operator = Annotated[Person, Depends(needs(May.OPERATE))]
Told = Sequence[tuple[Item, Mapping[str, Any] | None]]


@router.get("/campaigns")
def campaigns(person: Seer, parts: Shared) -> shapes.Campaigns:
    """List the campaigns of this folder, and the plans that may be started."""
    lines = []
    for folder in parts.campaigns.folders():
        status = parts.campaigns.status(folder)
        lines.append(
            shapes.CampaignLine(
                key=_key(parts, folder), name=_name(status, folder),
                running=status.running if status else parts.campaigns.at_work(folder),
                trials=status.trials if status else 0, ended=status.ended if status else 0,
                registered=bool(status and status.registration),
                problem=without_paths(parts.campaigns.problem(folder)),
            )
        )  # fmt: skip
    plans = [
        shapes.PlanLine(
            name=o.name, text=o.text, trials=o.trials, job_s=o.job_s, missing=list(o.missing), begun=o.begun,
            problem=without_paths(o.problem),
        )
        for o in parts.campaigns.offers()
    ]  # fmt: skip
    return shapes.Campaigns(campaigns=lines, plans=plans)


@router.post("/campaigns")
def start(wanted: shapes.CampaignStart, person: Operator, parts: Shared) -> shapes.CampaignNow:
    """Begin a campaign or go on with it, with the checks of ``runrig campaign run``."""
    folder = parts.campaigns.start(person, wanted.plan, wanted.exploratory, wanted.workers)
    parts.shelf.look_again()
    return _now(parts, folder)


@router.post("/campaigns/{key}/stop")
def stop(key: str, wanted: shapes.CampaignStop, person: Operator, parts: Shared) -> Done:
    """Stop a campaign; what has ended is kept, and a later start goes on with it."""
    parts.campaigns.stop(person, _folder(parts, key), wanted.how == "at once")
    return Done()


@router.get("/campaign")
def campaign(person: Seer, parts: Shared, key: str | None = None) -> shapes.CampaignNow:
    """Say how a campaign stands, or all trials here, with the horizons so far and their bands."""
    return _now(parts, None if key is None else _folder(parts, key))


def _folder(parts: Parts, key: str) -> Path:
    for folder in parts.campaigns.folders():
        if _key(parts, folder) == key:
            return folder
    raise UsageError("there is no such record of a campaign here")


def _key(parts: Parts, folder: Path) -> str:
    runs = parts.settings.runs
    return key_of(runs, folder) if folder.is_relative_to(runs) else key_of(folder, runs)


def _name(status: CampaignStatus | None, folder: Path) -> str:
    return (status and status.name) or folder.name


def _now(parts: Parts, folder: Path | None) -> shapes.CampaignNow:
    told = [(i, t) for i, t in stories(parts.shelf) if folder is None or i.folder.is_relative_to(folder)]
    report, problem = parts.estimates.now("" if folder is None else str(folder), told)
    entries = [e for e in report.get("entries", []) if e.get("family") is None]
    durations = [e["longest_s"] for e in entries if e.get("longest_s")]
    return shapes.CampaignNow(
        **_standing(parts, folder, told), problem=problem, estimates=[_estimate(e) for e in entries],
        horizons=[_horizon(e, h) for e in entries for h in e["horizons"]],
        longest_s=max(durations, default=None),
    )  # fmt: skip


def _standing(parts: Parts, folder: Path | None, told: Told) -> dict[str, Any]:
    """Return how it stands: from the ledger where there is one, else from the records."""
    status = None if folder is None else parts.campaigns.status(folder)
    if status is not None and folder is not None:
        return {
            "key": _key(parts, folder), "name": _name(status, folder), "running": status.running,
            "states": {state.value: n for state, n in status.states.items()},
            "outcomes": dict(status.outcomes), "trials": status.trials, "ended": status.ended,
            "eta_s": status.eta_s, "registered": bool(status.registration),
            "under_way": [
                f"{lease.spec.agent} on {lease.spec.item}, {lease.spec.monitor}, seed {lease.spec.seed}"
                for lease in status.leases
            ],
        }  # fmt: skip
    outcomes: dict[str, int] = {}
    for _, story in told:
        if graded := (story or {}).get("grade"):
            outcomes[graded["outcome"]] = outcomes.get(graded["outcome"], 0) + 1
    return {
        "key": _key(parts, folder) if folder else None, "name": (folder or parts.settings.runs).name,
        "running": bool(folder and parts.campaigns.at_work(folder)), "states": {}, "outcomes": outcomes,
        "trials": len(told), "ended": sum(outcomes.values()), "eta_s": None, "registered": False,
        "under_way": [],
    }  # fmt: skip


def _estimate(e: Mapping[str, Any]) -> shapes.EstimateLine:
    return shapes.EstimateLine(
        agent=e["agent"], family=e["family"], definition=str(e.get("definition", "")), trials=e["trials"],
        passes=e["passes"], items=e["items"], statement=e["statement"], refusal=e["refusal"], flags=e["flags"],
    )  # fmt: skip


def _horizon(e: Mapping[str, Any], h: Mapping[str, Any]) -> shapes.HorizonLine:
    return shapes.HorizonLine(
        agent=e["agent"], family=e["family"], definition=str(e.get("definition", "")),
        embodiment=str(e.get("embodiment", "")), name=h["name"], t_s=h.get("t_s"), bands=list(h["bands"]),
    )  # fmt: skip
