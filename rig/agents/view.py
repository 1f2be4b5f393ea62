"""What an agent outside the process is shown: the same figures for every way in, with units and ages."""

import json
from typing import Any

from rig.core.agent import Briefing, Observation, Sighting
from rig.core.care import Entry
from rig.core.channel import Quality, Reading
from rig.core.reply import Reply, Status

DIGITS = 6


def view_of(observation: Observation, briefing: Briefing) -> dict[str, Any]:
    """Return an observation as JSON: job time, what became of the last action, what was heard, every reading."""
    view: dict[str, Any] = {
        "observation_id": observation.observation_id,
        "job_time_s": _round(observation.t_ns / 1e9),
        "time_left_s": _round(max(0.0, briefing.limit_s - observation.t_ns / 1e9)),
    }
    if observation.last_reply is not None:
        view["last_action"] = _reply(observation.last_reply)
    if observation.heard:
        view["heard"] = list(observation.heard)
    if observation.noticed:
        view["noticed"] = list(observation.noticed)
    if observation.sightings:
        view["pictures"] = [_sighting(s, observation.t_ns) for s in observation.sightings]
    view["readings"] = {
        name: _reading(reading, briefing.units.get(name, "1"), observation.t_ns)
        for name, reading in observation.readings.items()
    }
    return view


def text_of(observation: Observation, briefing: Briefing) -> str:
    """Return the view as compact text."""
    return json.dumps(view_of(observation, briefing), separators=(",", ":"), ensure_ascii=False)


def observation_of(text: str) -> Observation:
    """Return the observation that was shown as ``text``, for agents that sit behind the text.

    Raises:
        ValueError: If it is not a view.
    """
    view = json.loads(text)
    last = view.get("last_action")
    t_ns = round(view["job_time_s"] * 1e9)
    return Observation(
        observation_id=view["observation_id"],
        t_ns=t_ns,
        readings={
            name: Reading(
                float("nan") if r["value"] is None else r["value"],
                t_ns - round((r["age_s"] or 0.0) * 1e9),
                Quality[r.get("quality", "good").upper()],
            )
            for name, r in view["readings"].items()
        },
        heard=tuple(view.get("heard", ())),
        noticed=tuple(view.get("noticed", ())),
        last_reply=None
        if last is None
        else Reply(
            status=Status(last["status"]),
            message=last["message"],
            elapsed_s=last["took_s"],
            job_time_s=view["job_time_s"],
            observation_id=view["observation_id"],
            peak_force_n=last.get("peak_force_n"),
            entries=[Entry.model_validate(entry, strict=False) for entry in last.get("entries", ())],
        ),
    )


def _reply(reply: Reply) -> dict[str, Any]:
    told: dict[str, Any] = {
        "status": reply.status.value, "message": reply.message, "took_s": _round(reply.elapsed_s),
    }  # fmt: skip
    if reply.peak_force_n is not None:
        told["peak_force_n"] = _round(reply.peak_force_n)
    if reply.entries:
        told["entries"] = [entry.model_dump(mode="json") for entry in reply.entries]
    return told


def _sighting(sighting: Sighting, now_ns: int) -> dict[str, Any]:
    """Return what is said of a picture; the picture itself goes beside the text."""
    said: dict[str, Any] = {"camera": sighting.camera}
    if sighting.number >= 0:
        said |= {"number": sighting.number, "age_s": _round((now_ns - sighting.t_ns) / 1e9)}
    if sighting.data:
        said |= {"width": sighting.width, "height": sighting.height}
    if sighting.flaws:
        said["flaws"] = list(sighting.flaws)
    return said


def _reading(reading: Reading, unit: str, now_ns: int) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "value": _round(reading.value) if reading.value == reading.value else None,  # NaN is no number
        "unit": unit,
        "age_s": _round(max(0, now_ns - reading.t_ns) / 1e9),
    }
    if reading.quality is not Quality.GOOD:
        shown["quality"] = reading.quality.name.lower()
    return shown


def _round(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
