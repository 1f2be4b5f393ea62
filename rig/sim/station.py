"""Stations: pieces of equipment, or parts of a person, that a simulated bench is put together from.

A station is one module of `rig.sim.stations`. It declares the quantities it adds to the world, the
actuators it carries out, its constants and what of the scene it looks at, and gives compiled
functions for the moments of a tick (see `HOOKS`). A bench file lists its stations; the kernel calls
their functions in that order, compiled into one piece for exactly this combination.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mujoco

from rig.sim.state import Plant

Hook = Callable[..., Any]
"""A function made by `rig.sim.native.compiled`."""

HOOKS = ("drive", "shape", "feel", "pass_time", "each_second", "read_out")
"""The moments of a tick, in order; all but the last two are run on every one.

``drive(engine, plant, dt_s)``
    Before the engine's step: prescribe motions, put forces on. ``dt_s`` 0: place at once.
    Returns whether anything moved.
``shape(engine, plant)``
    After the engine's step, before positions are worked out: move what springs rest on.
    Returns whether anything moved.
``feel(engine, plant, moving)``
    Once positions and contacts are worked out: forces, distances, speeds. Returns nothing.
``pass_time(plant, dt_s)``
    The slow side: heat, breath, motors, timers. In the slow world a row is cut into steps of at
    most 0.1 s. Returns nothing.
``each_second(plant, dt_s)``
    At whole seconds, and after every row of the slow world that is longer. Returns nothing.
``read_out(plant, senses, dt_s, t_ns)``
    Likewise, after the sensors have measured: what an instrument computes. Returns nothing.
"""


@dataclass(frozen=True, slots=True)
class Start:
    """A hidden quantity that a scenario may start with, beside actuators and body quantities.

    Attributes:
        quantity: The quantity of the world it sets.
        value: What it is unless the scenario says otherwise.
        low: Smallest value, inclusive.
        high: Largest value, inclusive.
        unit: Its unit.
    """

    quantity: str
    value: float
    low: float
    high: float
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """A piece of equipment, or a part of the person, as the plant sees it.

    Attributes:
        name: As in a bench file's ``stations``.
        text: What it is, in words.
        needs: Stations it works on, which must come before it.
        servos: Actuators that are motors of the engine, with joints of the same names.
        motors: Actuators that `pass_time` carries out itself.
        body: Body quantities the plant reacts to.
        derived: Quantities it works out, which channels may show.
        hidden: State that no channel shows.
        shown_as: Channels that show a quantity of another name.
        stands: Where motors and body quantities are unless the start says otherwise; else 0.
        starts: Hidden quantities that a start may name.
        parameters: A frozen dataclass of floats with all its defaults: the station's constants, with
            their sources. In compiled code they are the fields of ``plant.parameters[0]``.
        lags: Those of the parameters that are time constants; what is left of the exponential after
            a step is the field of the same name of ``plant.factors[0]``.
        parts: What it looks at in the scene: a field of ``engine.book[0]`` for each, as kind and name
            (see `rig.sim.scene.find`).
        reads: Channels whose places its `read_out` needs: fields of ``senses.reads[0]``.
        measured: Names of constants taken from the loaded scene by `measure`.
        measure: Returns them; they are fields of ``plant.parameters[0]`` too.
        fit: Adapts the loaded model to the parameters (springs), given them by name.
        begin: Completes the world's start, given world and parameters as records.
        why_busy: Returns why the slow world is not allowed now, given the plant; None when this
            station allows it.
        dress: Places in a copy of the scene what is only there to be seen in pictures.
    """

    name: str
    text: str
    needs: tuple[str, ...] = ()
    servos: tuple[str, ...] = ()
    motors: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    shown_as: Mapping[str, str] = field(default_factory=dict)
    stands: Mapping[str, float] = field(default_factory=dict)
    starts: Mapping[str, Start] = field(default_factory=dict)
    parameters: Any = None
    lags: tuple[str, ...] = ()
    parts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    reads: Mapping[str, str] = field(default_factory=dict)
    measured: tuple[str, ...] = ()
    measure: Callable[[mujoco.MjModel, mujoco.MjData], Mapping[str, float]] | None = None
    fit: Callable[[mujoco.MjModel, Any], None] | None = None
    begin: Callable[[Any, Any], None] | None = None
    why_busy: Callable[[Plant], str | None] | None = None
    dress: Callable[[mujoco.MjModel, mujoco.MjData, Plant], None] | None = None
    drive: Hook | None = None
    shape: Hook | None = None
    feel: Hook | None = None
    pass_time: Hook | None = None
    each_second: Hook | None = None
    read_out: Hook | None = None
