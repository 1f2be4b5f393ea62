"""How every driver is left: everything is switched off, whatever fails on the way; then it is told."""

from collections.abc import Callable, Iterable

from rig.core.errors import RigFault


def switch_off(steps: Iterable[Callable[[], None]], error: BaseException | None = None) -> None:
    """Take every step, whatever the others say, and then report the first fault.

    Args:
        steps: In order, the safest first.
        error: What the block is left for already: it is more to the point than a fault on the way out.

    Raises:
        RigFault: The first one of a step, if the block is not left for an error. What is no fault of the rig is
            raised in any case.
    """
    first: Exception | None = None
    for step in steps:
        try:
            step()
        except Exception as fault:
            first = first or fault
    if first is not None and (error is None or not isinstance(first, RigFault)):
        raise first
