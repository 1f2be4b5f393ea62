"""Run generated kernels over traces: as compiled code, or the same source as plain Python."""

import types

import numpy as np

from safety_monitor.cache import load_kernel
from safety_monitor.kernel import WORD, Timing, compile_source

NO_DELAY = Timing(0, 1 << 61, 0)


def as_python(source):
    """Return ``step`` of a generated module without compiling it."""
    stub = types.ModuleType("numba")
    stub.njit = lambda *_args, **_options: lambda f: f
    real = __import__("numba")
    stub.types = real.types
    names = {}
    exec(compile(source.replace("import numba\n", ""), "kernel", "exec"), names | {"numba": stub}, names)
    names["step"].__globals__.update(names)
    return names["step"]


class Machine:
    """A kernel with its state, fed trace by trace."""

    def __init__(self, violations, layout, timings=None, compiled=False):
        self.program = compile_source(violations, timings or [NO_DELAY] * len(violations), layout)
        self.step = (load_kernel if compiled else as_python)(self.program.source)
        self._count = len(violations)
        self.reset()

    def reset(self):
        self.floats, self.integers = self.program.floats.copy(), self.program.integers.copy()

    def words(self, word):
        return [int(self.integers[self.program.row(r)][word]) for r in range(self._count)]

    def run(self, trace, word=WORD.raw):
        """Return ``word`` of every rule at every tick, shape (n, rules)."""
        rows = []
        for k in range(len(trace)):
            with np.errstate(all="ignore"):
                self.step(
                    int(trace.t_ns[k]),
                    trace.values[k],
                    trace.sampled_ns[k],
                    trace.quality[k],
                    self.floats,
                    self.integers,
                )
            rows.append(self.words(word))
        return np.array(rows)
