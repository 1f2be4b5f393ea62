"""The checks of a physical bench that need no motion: who is there, with which firmware, and proofs of today.

Has not met hardware. Motion on a physical bench (stop latency, nudges) is not built: a bench that needs these
proofs stays red, and so gets no permit.
"""

from collections.abc import Sequence

from firmware_bridge import messages as m
from firmware_bridge.discovery import Port, ports_here
from firmware_bridge.link import Link, in_words, settings
from rig.core.bench import BenchSpec
from rig.core.clock import MonotonicClock
from rig.core.device import Device
from rig.core.errors import RigFault
from rig.doctor.calibration import calibration_checks
from rig.doctor.cameras import camera_checks
from rig.doctor.report import Check, judged
from rig.doctor.state import load_latency, proof_of_today
from rig.physical.finding import paths_of

PROOFS = {"estop": "Emergency stop proven today", "watchdog": "Watchdog proven today"}


def physical_checks(
    bench: BenchSpec, ports: Sequence[Port] | None = None
) -> tuple[list[Check], tuple[str, ...]]:
    """Return the checks, and what the devices that answered say they are."""
    here = ports_here() if ports is None else tuple(ports)
    checks, identities = calibration_checks(bench), []
    for device in bench.devices:
        check, identity = _device(device, here)
        checks.append(check)
        if identity:
            identities.append(identity)
    if not bench.devices:
        checks.append(
            judged("devices", "Devices", False, "none listed", "at least one", "list them in the bench file")
        )
    checks += camera_checks(bench)
    checks += [_proof(bench, what) for what in PROOFS]
    return [*checks, _latency(bench)], tuple(identities)


def _device(device: Device, ports: Sequence[Port]) -> tuple[Check, str]:
    name, title = f"device.{device.name}", f"Device {device.name}"
    todo = "plug it in and power it; if it was replaced, correct the bench file"
    try:
        paths = paths_of(device, ports)
        said = _node(device, paths[0]) if device.driver == "node" else f"found at {', '.join(paths)}"
    except RigFault as fault:
        return judged(name, title, False, str(fault), "found by its identity", todo), ""
    return judged(name, title, True, said, "found by its identity", ""), f"{device.name}: {said}"


def _node(device: Device, path: str) -> str:
    """Return what a node says it is.

    Raises:
        RigFault: If it does not answer, is another one, or has other firmware.
    """
    with Link(path, settings(m.Role.CONTROLLER), MonotonicClock(), device.baud) as link:
        found = link.seen(lambda s: s.identity)
    if found is None:
        raise RigFault(f"{path}: the node does not say who it is")
    if device.uid and found.uid.hex() != device.uid:
        raise RigFault(f"{path}: node {found.uid.hex()} instead of {device.uid}: cables exchanged?")
    if found.self_test:
        raise RigFault(f"{path}: part {found.self_test} of the node's self-test failed")
    return in_words(found)


def _proof(bench: BenchSpec, what: str) -> Check:
    proof = proof_of_today(bench.name, what)
    return judged(
        what, PROOFS[what], proof is not None, proof or "not proven today", "proven today",
        "press it (pull the controller's cable) while the drives are armed and the bed is empty, and see it go safe",
    )  # fmt: skip


def _latency(bench: BenchSpec) -> Check:
    found = load_latency(bench.name)
    good = (
        found is not None
        and found.bench_digest == bench.digest
        and found.command_s <= bench.reaction_ns / 1e9
    )
    measured = (
        "never measured" if found is None else f"{found.total_s * 1000:.0f} ms, measured {found.measured_utc}"
    )
    if found is not None and found.bench_digest != bench.digest:
        measured += ", with another version of the bench file"
    return judged(
        "stop_latency", "Signal to standstill", good, measured, f"measured, command within {bench.reaction_ns / 1e6:.0f} ms",
        "measure it anew after every change of bench or firmware", None if found is None else found.total_s,
    )  # fmt: skip
