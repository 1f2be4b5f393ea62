"""Numpy column types shared by the analysis, and text columns stored as codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """A text column stored as codes into its sorted distinct values.

    Attributes:
        codes: Index into ``names`` for each row, shape (n,).
        names: Distinct values, sorted.
    """

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    @classmethod
    def of(cls, values: Sequence[str] | NDArray[Any]) -> Self:
        """Encode ``values``."""
        codes: dict[str, int] = {}
        first_seen = np.fromiter((codes.setdefault(v, len(codes)) for v in values), np.int32, len(values))
        names = sorted(codes)
        rank = np.empty(len(names), np.int32)
        for position, name in enumerate(names):
            rank[codes[name]] = position
        return cls(rank[first_seen] if names else first_seen, tuple(names))

    def __getitem__(self, row: int) -> str:
        return self.names[int(self.codes[row])]

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: NDArray[Any]) -> "Factor":
        """Return the factor of the selected rows, with only the values they use."""
        chosen = self.codes[rows]
        used = np.bincount(chosen, minlength=len(self.names)) > 0
        rank = (np.cumsum(used) - 1).astype(np.int32)
        names = tuple(name for name, kept in zip(self.names, used.tolist(), strict=True) if kept)
        return Factor(rank[chosen], names)

    def is_(self, name: str) -> BoolArray:
        """Return which rows hold ``name``."""
        if name not in self.names:
            return np.zeros(len(self.codes), np.bool_)
        return np.equal(self.codes, self.names.index(name))


def combine(*codes: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Number the combinations of several columns of small integers.

    Args:
        codes: Columns of integers from 0, shape (n,) each.

    Returns:
        The number of each row's combination, shape (n,), counting combinations in order of the first
        column, then the second, ...; and a row that has each combination, shape (combinations,).
    """
    key = np.zeros(len(codes[0]), np.int64)
    for column in codes:
        key = key * (int(column.max(initial=0)) + 1) + column
    if int(key.max(initial=0)) > 4 * len(key) + 1024:  # too sparse to count
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        return number.astype(np.int64), first.astype(np.int64)
    used = np.bincount(key) > 0
    number = (np.cumsum(used) - 1)[key]
    first = np.empty(int(used.sum()), np.int64)
    first[number[::-1]] = np.arange(len(key) - 1, -1, -1)
    return number.astype(np.int64), first
