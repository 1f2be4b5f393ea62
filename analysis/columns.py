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
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        return Factor(codes.astype(np.int32), tuple(self.names[i] for i in used))

    def is_(self, name: str) -> BoolArray:
        """Return which rows hold ``name``."""
        if name not in self.names:
            return np.zeros(len(self.codes), np.bool_)
        return np.equal(self.codes, self.names.index(name))
