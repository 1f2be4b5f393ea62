"""The devices of a bench for one trial: opened, looked at, and where they start."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from rig.core.bench import BenchSpec
from rig.core.camera import CameraSpec
from rig.core.errors import CannotArm, ConfigError, UsageError
from rig.offscreen import why_no_graphics
from rig.sim.backend import SimBackend
from rig.trial.eyes import read_off, rendered
from rig.trial.faults import device_faults_of, faults_of
from rig.trial.parts import Manikin, Mode, Recorder
from rig.trial.rendered import Eye, RenderedBackend
from rig.trial.sight import Sight
from rig.vision.face import CHANNELS
from safety_monitor.rules import rule_files
from tasks.suite import Item


def start_of(item: Item, bench: BenchSpec, hidden: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the simulated bench's starting point: the task's, then the scenario's.

    Args:
        item: The item.
        bench: The bench.
        hidden: What the bench lets a start name beside actuators and body inputs.

    Raises:
        ConfigError: If the bench does not know a name.
    """
    start = item.start
    kinds = {
        "actuators": [a.name for a in bench.actuators],
        "body": [b.name for b in bench.body],
        "hidden": list(hidden),
    }
    if wrong := [name for name in start if not any(name in names for names in kinds.values())]:
        raise ConfigError(
            f"{item.task.name}/task.toml",
            [f"{item.scenario_name}: start {name!r} is nothing this bench knows" for name in wrong],
        )
    return {kind: {n: v for n, v in start.items() if n in names} for kind, names in kinds.items()}


def open_bench(
    bench: BenchSpec, seed: int, item: Item, monitor: str, eyes: Sequence[CameraSpec] = ()
) -> Manikin:
    """Return the bench's devices, not entered yet.

    Args:
        bench: The bench.
        seed: Of its sensors.
        item: What goes wrong with it.
        monitor: Whether verdicts are enforced.
        eyes: Cameras whose channels are given by one who looks through them, and faults of cameras with them.

    Raises:
        UsageError: If nothing here can drive such a bench.
        RigFault: If a device of a physical bench is not there.
    """
    if bench.embodiment == "simulated":
        if device_faults_of(item):
            raise UsageError(
                f"{item.key} has faults of wires or devices, which bench {bench.name} does not have"
            )
        if eyes:
            given = [channel for spec in eyes for channel in read_off(spec)]
            return SimBackend(bench, seed=seed, faults=faults_of(item, bench, given), given=given)
        return SimBackend(bench, seed=seed, faults=faults_of(item, bench))
    if bench.embodiment == "emulated":
        from rig.emulation.backend import EmulatedBackend

        return EmulatedBackend(
            bench, seed, faults_of(item, bench), rule_files(item.task.name), enforces=Mode(monitor) is Mode.GUARD,
            device_faults=device_faults_of(item),
        )  # fmt: skip
    from rig.physical.bench import PhysicalBench
    from rig.physical.finding import find

    find(bench)  # before anything is written
    if device_faults_of(item):
        raise UsageError(f"{item.key} has faults of wires or devices; they are not made on a physical bench")
    return PhysicalBench(
        bench, seed, rule_files(item.task.name), Mode(monitor) is Mode.GUARD, faults_of(item, bench)
    )


def drawable(bench: BenchSpec) -> tuple[CameraSpec, ...]:
    """Return the cameras whose channels can be read off drawn frames, the one that looks at the face among them.

    Raises:
        UsageError: If the bench has none that looks at the face.
    """
    fit = tuple(c for c in bench.cameras if c.scene_camera and read_off(c))
    if bench.embodiment != "simulated" or not any({*CHANNELS} <= {*c.channels} for c in fit):
        raise UsageError(
            f"bench {bench.name}: has no camera in its scene off which {', '.join(CHANNELS)} are read; "
            f"leave out cameras = rendered"
        )
    return fit


def eyes_of(bench: BenchSpec) -> tuple[CameraSpec, ...]:
    """Return the cameras whose channels are read off drawn frames, after trying whether any can be drawn.

    Raises:
        UsageError: If the bench has none that looks at the face.
        CannotArm: If the graphics libraries are missing.
    """
    eyes = drawable(bench)
    if (why := why_no_graphics()) is not None:
        raise CannotArm(
            f"no pictures on this machine: the graphics libraries are missing ({why}); install libegl1 and "
            f"libgl1-mesa-dri, or use --cameras fitted"
        )
    return eyes


@contextmanager
def looked_at(
    world: SimBackend, specs: Sequence[CameraSpec], sight: Sight, recorder: Recorder
) -> Iterator[RenderedBackend]:
    """Yield a simulated bench whose cameras are drawn and read."""
    with ExitStack() as stack:
        eyes = []
        for spec in specs:
            camera = stack.enter_context(rendered(world, spec))
            eyes.append(Eye(spec, sight.eye(spec, sight.drawing(spec, camera.view)), camera.detector))
        yield RenderedBackend(world, eyes, recorder)


def world_of(backend: Manikin) -> SimBackend | None:
    """Return the simulated world behind a bench, None where it is the real one."""
    if isinstance(backend, SimBackend):
        return backend
    world = getattr(backend, "world", None)  # what stands behind emulated devices
    return world if isinstance(world, SimBackend) else None
