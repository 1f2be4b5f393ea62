"""The quantities of the simulated world, and which of them each channel of a bench shows.

The world is one float64 vector. `NAMES` gives its entries; the constants below are their places.
A bench file may add body quantities of its own (a plate's tag, a card): they are appended, as are
the controller's intents, so the compiled kernels never depend on a bench's channel table.
"""

from collections.abc import Sequence

from rig.core.bench import BenchSpec
from rig.core.errors import ConfigError

BODY = (
    "head.yaw", "mouth.opening", "person.weight", "person.edge", "person.roll", "person.slump",
    "person.fall", "person.floor", "person.limb", "person.leaving", "airway.blocked", "bolus.taken",
    "bolus.held", "spoon.load", "call.level", "carer.present",
)  # fmt: skip
"""What the scripted person does that the world itself reacts to; in the first places, in this order."""

(
    HEAD_YAW, MOUTH_OPENING, WEIGHT, EDGE, ROLL, SLUMP,
    FALL, FLOOR, LIMB, LEAVING, BLOCKED, TAKEN,
    HELD, LOAD, CALL, CARER,
) = range(16)  # fmt: skip

ARM = ("arm.base", "arm.shoulder", "arm.elbow", "arm.roll", "arm.wrist", "arm.spoon")
BED = ("bed.back", "bed.height", "bed.tilt", "bed.rails")

DERIVED = (
    *ARM, *BED,
    "spoon.speed", "spoon.height", "wrist.force", "spoon.temperature", "bed.current", "bed.moving",
    "spo2", "mat.pressure", "mat.dose",
    "truth.gap", "truth.in_mouth", "truth.lip_force", "truth.face_force", "truth.opening", "truth.back",
    "truth.food_temperature", "truth.lip_dose", "truth.dose", "truth.limb_force", "truth.floor_s",
    "truth.blocked_s", "truth.held_back_s",
)  # fmt: skip
(
    ARM0, _ARM1, _ARM2, _ARM3, _ARM4, _ARM5, BACK, HEIGHT, TILT, RAILS,
    TIP_SPEED, TIP_HEIGHT, WRIST_FORCE, THERMOMETER, CURRENT, MOVING,
    SPO2, MAT_PRESSURE, MAT_DOSE,
    GAP, IN_MOUTH, LIP_FORCE, FACE_FORCE, OPENING, TRUNK,
    FOOD_TEMPERATURE, LIP_DOSE, DOSE, LIMB_FORCE, FLOOR_S,
    BLOCKED_S, HELD_BACK_S,
) = range(16, 48)  # fmt: skip

HIDDEN = (
    "bowl_temperature", "bite_temperature", "alveolar_saturation", "load_before", "taken_before",
    "limb_before", "limb_back", "limb_height", "limb_tilt", "hung_mass",
)  # fmt: skip
"""State that no sensor shows."""
(
    BOWL_TEMPERATURE, BITE_TEMPERATURE, ALVEOLAR, LOAD_BEFORE, TAKEN_BEFORE,
    LIMB_BEFORE, LIMB_BACK, LIMB_HEIGHT, LIMB_TILT, HUNG_MASS,
) = range(48, 58)  # fmt: skip

NAMES = (*BODY, *DERIVED, *HIDDEN)

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
    mistakes += [f"body.{n}: the plant computes it itself" for n in sorted(body & {*DERIVED, *HIDDEN})]
    if mistakes:
        raise ConfigError(f"bench {bench.name}", mistakes)
    extra = tuple(b.name for b in bench.body if b.name not in BODY)
    return (*NAMES, *extra, *bench.intents)


def _source(channel: str, names: Sequence[str]) -> str | None:
    """Return the quantity a channel shows: by `SHOWN_AS`, by its own name, or by its last part.

    The last part counts when exactly one body quantity ends in it: ``mic.coughs`` shows
    ``voice.coughs``, ``truth.held`` shows ``bolus.held``.
    """
    name = SHOWN_AS.get(channel, channel)
    if name in names:
        return name
    part = channel.rpartition(".")[2]
    body = [n for n in names if n not in DERIVED and n not in HIDDEN and n.rpartition(".")[2] == part]
    return body[0] if len(body) == 1 else None


def channel_sources(bench: BenchSpec) -> tuple[int, ...]:
    """Return, for every channel of the bench, the place in the world vector that it shows.

    Raises:
        ConfigError: If the plant has nothing to show on a channel.
    """
    names = world_names(bench)
    sources = {c.name: _source(c.name, names) for c in bench.layout}
    mistakes = [
        f"channel.{c}: the simulated plant has nothing to show on it; quantities are {', '.join(names)}"
        for c, source in sources.items()
        if source is None
    ]
    if mistakes:
        raise ConfigError(f"bench {bench.name}", mistakes)
    return tuple(names.index(s) for s in sources.values() if s is not None)
