"""The narrow door between a bench's inner loop and the safety monitor.

A backend that can run many ticks in one call (`StretchBackend`) evaluates a `Watch` after every
tick, inside its own compiled loop, and stops at the tick on which the watch asks for attention.
The kernel is passed as a first-class function of `KERNEL`'s signature, so neither side imports the
other and both stay cacheable on disk.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import types

from rig.core.channel import ByteArray, FloatArray, IntArray

KERNEL = types.int64(
    types.int64,  # t_ns of the tick
    types.float64[::1],  # values, shape (c,)
    types.int64[::1],  # sampled_ns, shape (c,)
    types.uint8[::1],  # quality, shape (c,)
    types.float64[::1],  # float state, owned by the watch
    types.int64[::1],  # integer state, owned by the watch
)
"""Signature of a watch kernel; a non-zero return asks the loop to stop after this tick."""

KernelFunction = Callable[[int, FloatArray, IntArray, ByteArray, FloatArray, IntArray], int]


class Pointer(types.WrapperAddressProtocol):  # type: ignore[misc]
    """A compiled kernel's address, looked up once: numba would look it up again at every call."""

    def __init__(self, kernel: Any) -> None:  # noqa: ANN401 numba's dispatcher has no type
        compiled = kernel.get_compile_result(KERNEL)
        name = compiled.fndesc.llvm_cfunc_wrapper_name
        self._address = int(compiled.library.get_pointer_to_function(name))
        self._kernel = kernel  # keeps the code alive

    def __wrapper_address__(self) -> int:
        return self._address

    def signature(self) -> Any:  # noqa: ANN401 numba's signature has no type
        """Return the kernel's signature."""
        return KERNEL


@dataclass(frozen=True, slots=True)
class Watch:
    """A compiled kernel with its state; the state arrays are mutated tick by tick.

    Attributes:
        kernel: The kernel, to be called from Python.
        floats: Its float state.
        integers: Its integer state.
        pointer: The kernel, to be passed to compiled code as a first-class function.
    """

    kernel: KernelFunction
    floats: FloatArray
    integers: IntArray
    pointer: Pointer = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pointer", Pointer(self.kernel))


@dataclass(frozen=True, slots=True)
class Guard:
    """A skill's own stop condition on one channel: stop after the first tick on which it holds.

    ``above`` and ``below`` are inclusive; NaN or a reading that is not good also stops, because a
    guard that cannot see must not let the motion go on.
    """

    channel: str
    above: float = np.inf
    below: float = -np.inf
