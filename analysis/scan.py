# ruff: noqa: ANN001, ANN201 (types are in the compiled signature)
"""The monitor's own kernel driven over recorded ticks in one compiled loop."""

from numba import njit, types

from rig.core.watch import KERNEL

_SIGNATURE = types.int64(
    types.FunctionType(KERNEL),
    types.int64[::1],  # t_ns, shape (n,)
    types.float64[:, ::1],  # values, shape (n, k): the channels the rules read
    types.int64[:, ::1],  # sampled_ns, shape (n, k)
    types.uint8[:, ::1],  # quality, shape (n, k)
    types.int64[::1],  # their columns in the whole layout, shape (k,)
    types.float64[::1],  # room for one tick of the whole layout: values, shape (c,)
    types.int64[::1],  # sampled_ns, shape (c,)
    types.uint8[::1],  # quality, shape (c,)
    types.float64[::1],  # the kernel's float state
    types.int64[::1],  # the kernel's integer state
    types.int64,  # first tick
)


@njit(_SIGNATURE, cache=True, nogil=True, error_model="numpy")
def scan(kernel, t_ns, values, sampled_ns, quality, columns, x, s, q, floats, integers, first):  # type: ignore[no-untyped-def]
    """Run ticks from ``first`` until the kernel asks for attention; return that tick, or n if none does."""
    for tick in range(first, len(t_ns)):
        for k in range(len(columns)):
            c = columns[k]
            x[c], s[c], q[c] = values[tick, k], sampled_ns[tick, k], quality[tick, k]
        if kernel(t_ns[tick], x, s, q, floats, integers) != 0:
            return tick
    return len(t_ns)
