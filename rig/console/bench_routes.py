"""Running the bench from the page. Every route answers with the state as the server knows it."""

import math
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import Response, StreamingResponse

from rig.agents.catalogue import check_agent
from rig.agents.human import NAME as HUMAN
from rig.console import bench_view
from rig.console.access import May, Person
from rig.console.bench_shapes import (
    Acknowledge,
    Act,
    Arm,
    AuditLine,
    AuditPage,
    Choices,
    NoteText,
    PaceWanted,
    Reset,
    Sign,
    Start,
    StationNow,
    StopDone,
    StopState,
    TaskChoice,
)
from rig.console.live import live
from rig.console.pictures import KINDS
from rig.console.station import Station
from rig.console.web import REFUSALS, Shared, Somebody, needs
from rig.core.bench import BenchSpec, load_bench
from rig.core.errors import UsageError
from rig.trial.attended import Did
from rig.trial.devices import drawable
from rig.trial.spec import TrialSpec
from rig.trial.think import ThinkMode
from tasks.suite import load_item, load_task, task_names

router = APIRouter(prefix="/api/bench", tags=["bench"], responses=REFUSALS)

Operator = Annotated[Person, Depends(needs(May.OPERATE))]
Watcher = Annotated[Person, Depends(needs(May.SEE_MODEL))]


def station_of(parts: Shared) -> Station:
    """Return the bench; 404 where the console serves none."""
    if parts.station is None:
        raise HTTPException(404, "This console serves no bench; start it with --bench.")
    return parts.station


Bench = Annotated[Station, Depends(station_of)]


@router.get("")
def now(person: Watcher, bench: Bench, parts: Shared) -> StationNow:
    """Say how the bench is."""
    bench.seen(person)
    return bench_view.station_now(bench, person, parts.settings.runs)


@router.get("/stop")
def stop_state(person: Somebody, bench: Bench) -> StopState:
    """Say whether the bench runs; all that somebody who reviews blind may know."""
    return StopState(state=bench.state.value, bench=bench.bench.name, stop=bench_view.stop_now(bench))


@router.post("/stop")
def stop(person: Somebody, bench: Bench) -> StopDone:
    """Stop everything. Any role, no confirmation, whatever the state."""
    return StopDone(safe_after_s=bench.stop(person))


@router.get("/choices")
def choices(person: Operator, bench: Bench) -> Choices:
    """List what may be started."""
    found = []
    for name in task_names():
        task = load_task(name)
        found.append(
            TaskChoice(
                name=name,
                goal=task.file.goal,
                lengths=list(task.file.length),
                scenarios=list(task.file.scenario),
                drawable=_drawable(load_bench(task.bench(bench.bench.name))),
            )
        )
    return Choices(tasks=found, agents=["careful", "hasty", "refuse", "planted(1)", HUMAN])


def _drawable(bench: BenchSpec) -> bool:
    try:
        drawable(bench)
    except UsageError:
        return False
    return True


@router.get("/camera/{name}", response_class=Response)
def camera(name: str, person: Watcher, bench: Bench) -> Response:
    """Give the newest frame of a camera of the trial under way, as it is recorded."""
    frame = bench.running.frames.get(name) if bench.running else None
    if frame is None or frame.format not in KINDS:
        raise HTTPException(404, "There is no frame of such a camera.")
    return Response(frame.data, media_type=KINDS[frame.format], headers={"cache-control": "no-store"})


@router.post("/control")
def take_control(person: Operator, bench: Bench, parts: Shared) -> StationNow:
    """Take control, or ask whoever has it."""
    bench.take_control(person)
    return now(person, bench, parts)


@router.post("/control/give")
def give_control(person: Operator, bench: Bench, parts: Shared) -> StationNow:
    """Hand control over to whoever asks, or let go of it."""
    bench.give_control(person)
    return now(person, bench, parts)


@router.post("/preflight")
def preflight(person: Operator, bench: Bench, parts: Shared) -> StationNow:
    """Examine the bench; takes seconds."""
    bench.preflight(person)
    return now(person, bench, parts)


@router.post("/preflight/sign")
def sign(wanted: Sign, person: Operator, bench: Bench, parts: Shared) -> StationNow:
    """Put one's name to the preflight."""
    bench.sign(person, wanted.digest, wanted.confirmed)
    return now(person, bench, parts)


@router.post("/arm")
def arm(wanted: Arm, person: Operator, bench: Bench, parts: Shared) -> StationNow:
    """Make ready."""
    bench.arm(person, wanted.version, wanted.first)
    return now(person, bench, parts)


@router.post("/disarm")
def disarm(wanted: Act, person: Operator, bench: Bench, parts: Shared) -> StationNow:
    """Go back to idle."""
    bench.disarm(person, wanted.version)
    return now(person, bench, parts)


@router.post("/start")
def start(wanted: Start, person: Operator, bench: Bench, parts: Shared) -> StationNow:
    """Start a trial."""
    check_agent(wanted.agent)
    person_does_it = wanted.agent == HUMAN
    if person_does_it and wanted.pace != 1.0:
        raise UsageError("a person does the job in the time it takes; choose real time")
    goes_on = person_does_it or bench.bench.embodiment == "physical"  # while somebody thinks
    item = load_item(wanted.item)
    spec = TrialSpec(
        item=item.key, agent=wanted.agent, bench=bench.bench.name, monitor=wanted.monitor, seed=wanted.seed,
        repeat=wanted.repeat, cameras=wanted.cameras,
        think=ThinkMode.REALTIME.value if goes_on else ThinkMode.CHARGED.value,
    )  # fmt: skip
    bench.start(person, wanted.version, spec, math.inf if wanted.pace is None else wanted.pace)
    parts.shelf.look_again()
    return now(person, bench, parts)


@router.post("/reset")
def reset(wanted: Reset, person: Operator, bench: Bench, parts: Shared) -> StationNow:
    """Leave the stopped state."""
    bench.reset(person, wanted.version, wanted.cause, wanted.looked)
    return now(person, bench, parts)


@router.post("/note")
def note(wanted: NoteText, person: Operator, bench: Bench, parts: Shared) -> StationNow:
    """Put a note on the record of the trial under way."""
    bench.say(person, Did.NOTED, wanted.text)
    return now(person, bench, parts)


@router.post("/acknowledge")
def acknowledge(wanted: Acknowledge, person: Operator, bench: Bench, parts: Shared) -> StationNow:
    """Say that a prompt was answered."""
    bench.say(person, Did.ACKNOWLEDGED, f"#{wanted.seq}")
    return now(person, bench, parts)


@router.post("/pace")
def pace(wanted: PaceWanted, person: Operator, bench: Bench, parts: Shared) -> StationNow:
    """Run a simulated trial faster or slower."""
    bench.set_pace(person, math.inf if wanted.pace is None else wanted.pace)
    return now(person, bench, parts)


@router.get("/audit")
def audit(person: Watcher, bench: Bench, parts: Shared) -> AuditPage:
    """List the latest of what people did here."""
    found = parts.audit.entries()
    return AuditPage(
        total=len(found),
        entries=[
            AuditLine(
                seq=e.seq, utc=e.utc, what=e.kind, by=e.by, role=e.role, result=str(e.body.get("result", ""))
            )
            for e in found[-200:][::-1]
        ],
    )


@router.get("/live", response_class=StreamingResponse)
def stream(request: Request, person: Watcher, bench: Bench, parts: Shared) -> StreamingResponse:
    """Follow the bench: its state, and signals and events of the trial under way, as server-sent events."""
    return StreamingResponse(live(request, person, bench, parts), media_type="text/event-stream")
