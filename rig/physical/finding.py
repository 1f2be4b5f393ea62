"""Where a bench's devices are on this machine: all of them, or one fault that names each that is missing."""

from collections.abc import Mapping, Sequence

from firmware_bridge.discovery import Port, port_of, ports_here
from rig.core.bench import BenchSpec
from rig.core.device import Device
from rig.core.errors import RigFault


def paths_of(device: Device, ports: Sequence[Port]) -> tuple[str, ...]:
    """Return where a device's addresses are: its own, and a node's second one.

    Raises:
        RigFault: If an adapter is not there, or not alone with its identity.
    """
    addresses = [a for a in (device.address, device.monitor_address) if a]
    return tuple(port_of(a, ports) if a.startswith("usb:") else a for a in addresses)


def find(bench: BenchSpec, ports: Sequence[Port] | None = None) -> Mapping[str, tuple[str, ...]]:
    """Return where every device is, by name; nothing is opened.

    Args:
        bench: The bench.
        ports: Serial ports with their identities; those of this machine by default.

    Raises:
        RigFault: If any is missing; names each, and what is there instead. Nothing is ever put in its place.
    """
    here = ports_here() if ports is None else tuple(ports)
    found, missing = {}, []
    for device in bench.devices:
        try:
            found[device.name] = paths_of(device, here)
        except RigFault as fault:
            missing.append(f"{device.name}: {fault}")
    if missing or not bench.devices:
        what = "; ".join(missing) or "its file lists none"
        raise RigFault(
            f"bench {bench.name}: {len(missing)} of {len(bench.devices)} devices are not there: {what}"
        )
    return found


def unmeasured(bench: BenchSpec) -> tuple[str, ...]:
    """Return the bench's channels that no device measures, intents aside."""
    measured = {name for device in bench.devices for name in device.channels}
    return tuple(n for n in bench.layout.names if n not in measured and n not in bench.intents)
