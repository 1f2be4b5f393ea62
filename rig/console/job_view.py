"""From a job under way to what the page shows of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rig.agents.schema import schemas
from rig.console.job import Job
from rig.console.job_shapes import EntryRead, JobNow, Look, Seen, ToldLine, ToolForm
from rig.console.under_way import UnderWay
from rig.core.care import Entry, evidence_of


def job_now(trial: UnderWay) -> JobNow | None:
    """Return the job of a trial; None where no person does it, or they have not been told yet."""
    job = trial.job
    if job is None or (briefing := job.briefing) is None:
        return None
    view: Mapping[str, Any] = job.asked.view if job.asked else {}
    return JobNow(
        version=job.version, item=trial.spec.item, goal=briefing.goal, notes=list(briefing.care_notes),
        handed_over=list(briefing.handed_over), cameras=dict(briefing.cameras), places=list(briefing.places),
        tools=[
            ToolForm(name=t.name, text=t.description, parameters=dict(t.parameters))
            for t in schemas(briefing.tools)
        ],
        nominal_s=briefing.nominal_s, limit_s=briefing.limit_s, job_time_s=trial.t_s,
        observation_id=job.asked.observation_id if job.asked else None, waits=job.waits,
        thinking_s=job.thinking_s, doing=job.doing,
        seen=[
            Seen(name=name, value=r["value"], unit=r["unit"], age_s=r["age_s"], quality=r.get("quality", "good"))
            for name, r in view.get("readings", {}).items()
        ],
        looks=_looks(view.get("pictures", ()), job.asked.pictures if job.asked else ()),
        lines=[ToldLine(t_s=line.t_s, who=line.who, text=line.text) for line in list(job.lines)],
        read=_read(job),
    )  # fmt: skip


def _looks(said: Sequence[Mapping[str, Any]], pictures: Sequence[bytes]) -> list[Look]:
    return [
        Look(
            camera=look["camera"],
            text="; ".join(look.get("flaws", ())) or f"{look.get('age_s', 0.0):.2g} s old",
            picture=number if data else None,
        )
        for number, (look, data) in enumerate(zip(said, pictures, strict=True))
    ]


def _read(job: Job) -> list[EntryRead]:
    found = []
    for t_s, said in list(job.read.values()):
        entry = Entry.model_validate(said)
        evidence = evidence_of(entry, max(0.0, t_s)).model_dump(mode="json")
        found.append(EntryRead(id=entry.id, document=entry.document, text=entry.text, evidence=evidence))
    return found
