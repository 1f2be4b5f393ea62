"""The moments of a tick in compiled code: each calls the functions of a bench's stations in turn.

Which stations these are, the compiler reads off the type of ``plant.stations``: its fields are named
after them. So the kernel is compiled into one piece for exactly this combination, without a table of
functions, and the cache on disk tells combinations apart by their types.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from numba.extending import overload

from rig.sim.native import OPTIONS, compiled
from rig.sim.state import Engine, Plant, Senses
from rig.sim.stations import load_station

Function = Callable[..., Any]


def drive(engine: Engine, plant: Plant, dt_s: float) -> bool:
    """Prescribe motions and put forces on; return whether anything moved."""
    raise NotImplementedError("for compiled code only")


def shape(engine: Engine, plant: Plant) -> bool:
    """Move what springs rest on; return whether anything moved."""
    raise NotImplementedError("for compiled code only")


def feel(engine: Engine, plant: Plant, moving: bool) -> None:
    """Work out forces, distances and speeds."""
    raise NotImplementedError("for compiled code only")


def pass_time(plant: Plant, dt_s: float) -> None:
    """Let the slow side go on."""
    raise NotImplementedError("for compiled code only")


def each_second(plant: Plant, dt_s: float) -> None:
    """Let go on what goes by the second."""
    raise NotImplementedError("for compiled code only")


def read_out(plant: Plant, senses: Senses, dt_s: float, t_ns: int) -> None:
    """Let instruments compute from what the sensors have measured."""
    raise NotImplementedError("for compiled code only")


def _functions(plant: Any, hook: str) -> list[Function]:  # noqa: ANN401 numba's types have no types
    """Return the functions that the stations of a compiled plant have for a moment."""
    names = plant.types[plant.fields.index("stations")].dtype.fields
    found = [getattr(load_station(name), hook) for name in names]
    return [f for f in found if f is not None]


def _in_turn(functions: Sequence[Function]) -> Function:
    """Return a compiled function that calls all of these."""
    if not functions:
        return compiled(lambda *given: None)
    first, others = functions[0], _in_turn(functions[1:])

    def call(*given: Any) -> None:  # noqa: ANN401
        first(*given)
        others(*given)

    return compiled(call)


def _any_of(functions: Sequence[Function]) -> Function:
    """Return a compiled function that calls all of these and returns whether any said so."""
    if not functions:
        return compiled(lambda *given: False)
    first, others = functions[0], _any_of(functions[1:])

    def call(*given: Any) -> bool:  # noqa: ANN401
        one, another = first(*given), others(*given)
        return bool(one or another)

    return compiled(call)


def _specialised(moment: Function) -> Callable[[Function], Function]:
    """Let compiled code that calls ``moment`` be given what the decorated function returns."""
    return cast(Callable[[Function], Function], overload(moment, jit_options=OPTIONS, strict=False))


@_specialised(drive)
def _drive(engine: Any, plant: Any, dt_s: Any) -> Function:  # noqa: ANN401
    call = _any_of(_functions(plant, "drive"))
    return lambda engine, plant, dt_s: call(engine, plant, dt_s)


@_specialised(shape)
def _shape(engine: Any, plant: Any) -> Function:  # noqa: ANN401
    call = _any_of(_functions(plant, "shape"))
    return lambda engine, plant: call(engine, plant)


@_specialised(feel)
def _feel(engine: Any, plant: Any, moving: Any) -> Function:  # noqa: ANN401
    call = _in_turn(_functions(plant, "feel"))
    return lambda engine, plant, moving: call(engine, plant, moving)


@_specialised(pass_time)
def _pass_time(plant: Any, dt_s: Any) -> Function:  # noqa: ANN401
    call = _in_turn(_functions(plant, "pass_time"))
    return lambda plant, dt_s: call(plant, dt_s)


@_specialised(each_second)
def _each_second(plant: Any, dt_s: Any) -> Function:  # noqa: ANN401
    call = _in_turn(_functions(plant, "each_second"))
    return lambda plant, dt_s: call(plant, dt_s)


@_specialised(read_out)
def _read_out(plant: Any, senses: Any, dt_s: Any, t_ns: Any) -> Function:  # noqa: ANN401
    call = _in_turn(_functions(plant, "read_out"))
    return lambda plant, senses, dt_s, t_ns: call(plant, senses, dt_s, t_ns)
