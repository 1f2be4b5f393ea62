"""Finding a device again by what its adapter says it is, never by the number its port happened to get."""

from collections.abc import Sequence
from dataclasses import dataclass

from rig.core.errors import RigFault


@dataclass(frozen=True, slots=True)
class Port:
    """A serial port of this machine and the identity of its adapter; empty where it has none."""

    path: str
    vendor: str
    product: str
    serial: str

    @property
    def address(self) -> str:
        """Its address as a bench file would name it."""
        return f"usb:{self.vendor}:{self.product}:{self.serial}"


def ports_here() -> tuple[Port, ...]:
    """Return the serial ports of this machine with an identity; none is opened."""
    from serial.tools import list_ports

    return tuple(
        Port(p.device, f"{p.vid:04x}", f"{p.pid:04x}", p.serial_number or "")
        for p in list_ports.comports()
        if p.vid is not None and p.pid is not None
    )


def port_of(address: str, ports: Sequence[Port]) -> str:
    """Return the device file of a ``usb:`` address.

    Raises:
        RigFault: If no adapter, or more than one, has that identity; lists those there are.
    """
    _, vendor, product, serial = address.split(":")
    wanted = (vendor.lower(), product.lower(), serial)
    found = [p for p in ports if (p.vendor, p.product, p.serial) == wanted]
    if len(found) == 1:
        return found[0].path
    if found:
        raise RigFault(
            f"{address}: {len(found)} adapters say they are this one ({', '.join(p.path for p in found)})"
        )
    known = ", ".join(f"{p.address} at {p.path}" for p in ports) or "none"
    raise RigFault(f"{address}: not found; is it plugged in? Adapters here: {known}")
