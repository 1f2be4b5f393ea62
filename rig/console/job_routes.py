"""The job of a trial whose agent is a person, done at the page with the tools of any agent."""

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response

from rig.console.bench_routes import Bench, Operator
from rig.console.job_shapes import Decide, JobNow
from rig.console.job_view import job_now
from rig.console.under_way import UnderWay
from rig.console.web import REFUSALS

router = APIRouter(prefix="/api/bench/job", tags=["job"], responses=REFUSALS)


def _trial(bench: Bench) -> UnderWay:
    if bench.running is None or bench.running.job is None:
        raise HTTPException(404, "No trial is running whose agent is a person.")
    return bench.running


@router.get("")
def now(person: Operator, bench: Bench) -> JobNow:
    """Say what the person who does the job is told."""
    bench.seen(person)
    told = job_now(_trial(bench))
    if told is None:
        raise HTTPException(404, "The job has not begun yet; a moment.")
    return told


@router.post("/decide")
def decide(wanted: Decide, person: Operator, bench: Bench) -> JobNow:
    """Do the next thing; stop and a call for help are taken at any time."""
    bench.decide(person, wanted.observation_id, wanted.tool, wanted.arguments)
    return now(person, bench)


@router.get("/picture/{number}", response_class=Response)
def picture(number: int, person: Operator, bench: Bench) -> Response:
    """Give a picture of the latest look."""
    job = _trial(bench).job
    asked = job.asked if job else None
    if asked is None or not 0 <= number < len(asked.pictures) or not asked.pictures[number]:
        raise HTTPException(404, "There is no such picture.")
    return Response(asked.pictures[number], media_type="image/jpeg", headers={"cache-control": "no-store"})
