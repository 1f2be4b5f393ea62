"""What other limits would have said."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException

from rig.console import whatif
from rig.console.access import May, Person
from rig.console.analysis_shapes import (
    MovedAlarm,
    RuleNumber,
    RuleNumbers,
    WhatIfNow,
    WhatIfTrial,
    WhatIfWanted,
)
from rig.console.background import Desk
from rig.console.shapes import AlarmBar
from rig.console.shelf import Shelf, stories
from rig.console.web import REFUSALS, OneItem, Shared, needs

router = APIRouter(prefix="/api", tags=["analysis"], responses=REFUSALS)
Seer = Annotated[Person, Depends(needs(May.SEE_MODEL))]
MOST_TRIALS = 500


@router.get("/trials/{key}/rules/{rule}")
def numbers(item: OneItem, rule: str, person: Seer, parts: Shared) -> RuleNumbers:
    """List the numbers of a rule that may be changed."""
    told = parts.shelf.wait(item)
    if "unreadable" in told:
        raise HTTPException(409, told["unreadable"])
    found = whatif.numbers_of(told["facts"]["task"], rule)
    return RuleNumbers(
        rule=rule, numbers=[RuleNumber(slot=n.slot, place=n.place, text=n.text, named=n.named) for n in found]
    )


@router.post("/trials/{key}/whatif")
def begin(wanted: WhatIfWanted, item: OneItem, person: Seer, parts: Shared) -> WhatIfNow:
    """Begin: replay this record, or all complete records of its task, under other numbers."""
    told = parts.shelf.wait(item)
    if "unreadable" in told:
        raise HTTPException(409, told["unreadable"])
    task = told["facts"]["task"]
    text = whatif.changed_rules(task, wanted.rule, {(n.slot, n.place): n.text for n in wanted.numbers})
    whatif.check(task, text, parts.shelf.record(item).layout)
    items = [item]
    if wanted.campaign:
        others = [i for i, t in stories(parts.shelf) if i != item and _same_task(t, task)]
        items += others[: MOST_TRIALS - 1]
    return _now(parts.whatifs.start(items, text), parts.whatifs, parts.shelf)


def _same_task(told: Mapping[str, Any] | None, task: str) -> bool:
    return (
        told is not None and "unreadable" not in told and told["complete"] and told["facts"]["task"] == task
    )


@router.get("/whatif/{job}")
def look(job: str, person: Seer, parts: Shared) -> WhatIfNow:
    """Say how far a what-if is, and what it has found."""
    if job not in parts.whatifs.jobs:
        raise HTTPException(404, "That what-if is no longer kept; begin it again.")
    return _now(job, parts.whatifs, parts.shelf)


def _now(name: str, desk: Desk, shelf: Shelf) -> WhatIfNow:
    job = desk.jobs[name]
    keys = {str(item.folder): item.key for item in shelf.items()}
    found: list[WhatIfTrial] = []
    for lot in job.lots:
        if lot.done() and not lot.cancelled():
            if (error := lot.exception()) is not None:
                found.append(WhatIfTrial(key="", same=0, gained=[], lost=[], moved=[], problem=str(error)))
            else:
                found += [_trial(f, keys) for f in lot.result()]
    state = all(lot.done() for lot in job.lots)
    return WhatIfNow(
        job=name, state="done" if state else "working", trials=job.trials, done=len(found), found=found
    )


def _trial(f: Mapping[str, Any], keys: Mapping[str, str]) -> WhatIfTrial:
    key = keys.get(f["folder"], "")
    if "problem" in f:
        return WhatIfTrial(key=key, same=0, gained=[], lost=[], moved=[], problem=f["problem"])
    said = f["found"]
    moved = [
        MovedAlarm(
            rule=m["recorded"]["rule"], recorded_s=m["recorded"]["start_s"], instead_s=m["instead"]["start_s"]
        )
        for m in said["moved"]
    ]
    return WhatIfTrial(
        key=key, same=said["same"], gained=[AlarmBar(**a) for a in said["gained"]],
        lost=[AlarmBar(**a) for a in said["lost"]], moved=moved,
    )  # fmt: skip
