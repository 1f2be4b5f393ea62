"""Trials at the same time, for commands that run many and keep no record."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

T = TypeVar("T")


def over_workers(function: Callable[..., T], todo: Sequence[tuple[Any, ...]], workers: int) -> Iterator[T]:
    """Yield what a function returns for each tuple of arguments, in order; in processes of their own if several."""
    if workers == 1:
        yield from (function(*each) for each in todo)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, *zip(*todo, strict=True))
