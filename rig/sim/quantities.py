"""The quantities of the simulated world, and which of them each channel of a bench shows.

The world is one record of float64 fields, a quantity each: ``truth.lip_dose`` is the field
``truth_lip_dose``. The sensors see the same memory as a plain vector. A bench file may add body
quantities of its own (a plate's tag, a card): they are appended to the vector, as are the
controller's intents, so the compiled kernels never depend on a bench's channel table.
"""

from collections.abc import Sequence

import numpy as np

from rig.core.bench import BenchSpec
from rig.core.errors import ConfigError

ARM = ("arm.base", "arm.shoulder", "arm.elbow", "arm.roll", "arm.wrist", "arm.spoon")
BED = ("bed.back", "bed.height", "bed.tilt", "bed.rails")

BODY = (
    "head.yaw", "mouth.opening", "person.weight", "person.edge", "person.roll", "person.slump",
    "person.fall", "person.floor", "person.limb", "person.leaving", "airway.blocked", "bolus.taken",
    "bolus.held", "spoon.load", "call.level", "carer.present",
)  # fmt: skip
"""What the scripted person does that the world itself reacts to."""

DERIVED = (
    "spoon.speed", "spoon.height", "wrist.force", "spoon.temperature", "bed.current", "bed.moving",
    "spo2", "mat.pressure", "mat.dose",
    "truth.gap", "truth.in_mouth", "truth.lip_force", "truth.face_force", "truth.opening", "truth.back",
    "truth.food_temperature", "truth.lip_dose", "truth.dose", "truth.limb_force", "truth.floor_s",
    "truth.blocked_s", "truth.held_back_s",
)  # fmt: skip
"""What the plant works out."""

HIDDEN = (
    "hidden.bowl_temperature", "hidden.bite_temperature", "hidden.lung_saturation", "hidden.load_before",
    "hidden.taken_before", "hidden.limb_before", "hidden.limb_back", "hidden.limb_height",
    "hidden.limb_tilt", "hidden.hung_kg",
)  # fmt: skip
"""State that no sensor shows."""

NAMES = (*ARM, *BED, *BODY, *DERIVED, *HIDDEN)
WORLD = np.dtype([(name.replace(".", "_"), np.float64) for name in NAMES])
"""The world as a record; the arm's joints and the bed's parts come first, in the actuators' order."""

SHOWN_AS = {
    "bed.back2": "bed.back", "face.gap": "truth.gap", "face.yaw": "head.yaw", "truth.yaw": "head.yaw",
    "mouth.opening": "truth.opening", "camera.takes": "bolus.taken", "mat.weight": "person.weight",
    "mat.edge": "person.edge", "edge.load": "person.edge", "depth.floor": "person.floor",
    "truth.fall_speed": "person.fall", "truth.carer": "carer.present", "truth.call": "call.level",
}  # fmt: skip
"""Channels that show a quantity of another name, beyond the rule of `_source`."""


def world_names(bench: BenchSpec) -> tuple[str, ...]:
    """Return the name of every entry of the world vector of ``bench``.

    Raises:
        ConfigError: If the bench lacks an actuator or body quantity that the plant needs, or has an
            actuator the plant does not have.
    """
    actuators, body = {a.name for a in bench.actuators}, {b.name for b in bench.body}
    mistakes = [f"actuator.{n}: the simulated plant needs it" for n in (*ARM, *BED) if n not in actuators]
    mistakes += [
        f"actuator.{n}: the simulated plant has no such actuator" for n in sorted(actuators - {*ARM, *BED})
    ]
    mistakes += [f"body.{n}: the simulated plant needs it" for n in BODY if n not in body]
    mistakes += [
        f"body.{n}: the plant computes it itself" for n in sorted(body & {*ARM, *BED, *DERIVED, *HIDDEN})
    ]
    if mistakes:
        raise ConfigError(f"bench {bench.name}", mistakes)
    extra = tuple(b.name for b in bench.body if b.name not in BODY)
    return (*NAMES, *extra, *bench.intents)


def _source(channel: str, names: Sequence[str], bodies: Sequence[str]) -> str | None:
    """Return the quantity a channel shows: by `SHOWN_AS`, by its own name, or by its last part.

    The last part counts when exactly one body quantity ends in it: ``mic.coughs`` shows
    ``voice.coughs``, ``truth.held`` shows ``bolus.held``.
    """
    name = SHOWN_AS.get(channel, channel)
    if name in names:
        return name
    part = channel.rpartition(".")[2]
    body = [n for n in bodies if n.rpartition(".")[2] == part]
    return body[0] if len(body) == 1 else None


def channel_sources(bench: BenchSpec) -> tuple[int, ...]:
    """Return, for every channel of the bench, the place in the world vector that it shows.

    Raises:
        ConfigError: If the plant has nothing to show on a channel.
    """
    names, bodies = world_names(bench), [b.name for b in bench.body]
    sources = {c.name: _source(c.name, names, bodies) for c in bench.layout}
    mistakes = [
        f"channel.{c}: the simulated plant has nothing to show on it; quantities are {', '.join(names)}"
        for c, source in sources.items()
        if source is None
    ]
    if mistakes:
        raise ConfigError(f"bench {bench.name}", mistakes)
    return tuple(names.index(s) for s in sources.values() if s is not None)
