"""Counter-based random numbers: draw ``j`` of stream ``key`` is a pure function of both.

SplitMix64 (Steele, Lea & Flood, OOPSLA 2014) read at a counter. Replicates can be computed in any order
or in parallel and by numpy or numba alike, and give the same bytes for the same seed for ever, which no
library generator promises between its versions.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
SHIFT_30, SHIFT_27, SHIFT_31, SHIFT_11 = (np.uint64(bits) for bits in (30, 27, 31, 11))
TO_UNIT = 2.0**-53


def stream_key(seed: int, *names: str) -> int:
    """Return the 64-bit key of the stream that ``seed`` and ``names`` stand for."""
    text = "\x1f".join((str(seed), *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def mix(counter: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the scrambled bits of each 64-bit counter."""
    with np.errstate(over="ignore"):
        z = (counter ^ (counter >> SHIFT_30)) * MIX_1
        z = (z ^ (z >> SHIFT_27)) * MIX_2
        return z ^ (z >> SHIFT_31)


def uniforms(key: int, replicate: int, count: int, start: int = 0) -> NDArray[np.float64]:
    """Return draws ``start`` to ``start + count - 1`` of one replicate, uniform on [0, 1)."""
    with np.errstate(over="ignore"):
        origin = mix(np.array([key], np.uint64) + np.uint64(replicate) * GOLDEN)
        counters = origin + np.arange(start + 1, start + count + 1, dtype=np.uint64) * GOLDEN
    return (mix(counters) >> SHIFT_11).astype(np.float64) * TO_UNIT
