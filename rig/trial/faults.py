"""What goes wrong in a scenario: with sensors, with the cameras they rest on, with wires and devices."""

from collections.abc import Sequence
from typing import Any

from rig.core.bench import BenchSpec
from rig.emulation.faults import DeviceFault, is_bench_fault, parse_bench_faults
from rig.sim.camera_faults import CameraFault, is_camera_fault, parse_camera_faults
from rig.sim.camera_faults import sensor_faults as of_cameras
from rig.sim.faults import SensorFault, parse_faults
from tasks.suite import Item


def faults_of(item: Item, bench: BenchSpec, given: Sequence[str] = ()) -> tuple[SensorFault, ...]:
    """Return what goes wrong with sensors in the scenario, by fault of their own or of the camera they rest on.

    Shares of the duration are times here.

    Args:
        item: The item.
        bench: The bench.
        given: Channels that are read off frames: these have a camera's fault in them already.

    Raises:
        ConfigError: If a fault is not one the bench knows.
    """
    own = [f for f in _timed(item) if not is_bench_fault(f) and not is_camera_fault(f)]
    told = of_cameras(camera_faults_of(item, bench), bench.cameras)
    return (*parse_faults(own, _source(item)), *(f for f in told if f.channel not in given))


def camera_faults_of(item: Item, bench: BenchSpec) -> tuple[CameraFault, ...]:
    """Return the scenario's faults of cameras.

    Raises:
        ConfigError: If one is wrong, or of a camera the bench lacks.
    """
    found = [f for f in _timed(item) if is_camera_fault(f)]
    return parse_camera_faults(found, _source(item), bench.cameras)


def device_faults_of(item: Item) -> tuple[DeviceFault, ...]:
    """Return the scenario's faults of wires and devices, which only a bench with some can have.

    Raises:
        ConfigError: If one is wrong.
    """
    return parse_bench_faults([f for f in _timed(item) if is_bench_fault(f)], _source(item))


def _source(item: Item) -> str:
    return f"{item.task.name}/task.toml, scenario {item.scenario_name}"


def _timed(item: Item) -> list[dict[str, Any]]:
    total_s = item.length.nominal_s
    found: list[dict[str, Any]] = []
    for fault in item.scenario.faults:
        given = dict(fault)
        start_s, end_s = (
            total_s * float(given.pop(f"{at}_share", by)) for at, by in (("start", 0.0), ("end", 10.0))
        )
        found.append({"start": f"{start_s} s", "end": f"{end_s} s", **given})
    return found
