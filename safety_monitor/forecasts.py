"""Predictors as kernel statements: the Kalman filter of `ahead` and the estimate of `stiffness`."""

from typing import Protocol

from rig.core.channel import Layout
from safety_monitor.nodes import Ahead, Measured, Numeric, Stiffness


class Writer(Protocol):
    """The part of the emitter that predictors write with."""

    layout: Layout

    def say(self, *lines: str) -> None:
        """Add statements."""
        ...

    def keep(self, value: int = ...) -> str:
        """Return a word of integer state."""
        ...

    def keep_float(self, value: float = ...) -> str:
        """Return a word of float state."""
        ...

    def number(self, node: Numeric) -> str:
        """Return the local that holds a number."""
        ...

    def good(self, x: Measured) -> str:
        """Return the local that says whether a reading is known."""
        ...


def ahead(to: Writer, node: Ahead, v: str) -> None:
    """Emit the filter of `safety_monitor.predict.Filter`, term for term."""
    z, good, i = to.number(node.x), to.good(node.x), to.layout.index(node.x.channel)
    n, stamp = to.keep(0), to.keep()
    y, w, p00, p01, p11 = (to.keep_float() for _ in range(5))
    r2, q, k = node.x.noise * node.x.noise, node.walk * node.walk, v[1:]
    beyond = ">" if node.kappa >= 0 else "<"
    to.say(
        f"if {good} and ({n} == 0 or s[{i}] > {stamp}):",
        f"    dt{k} = (s[{i}] - {stamp}) / 1e9",
        f"    if {n} == 0:",
        f"        {y} = {z}",
        f"    elif {n} == 1:",
        f"        {w} = ({z} - {y}) / dt{k}",
        f"        {y} = {z}",
        f"        {p00} = {r2!r}",
        f"        {p01} = {r2!r} / dt{k}",
        f"        {p11} = 2.0 * {r2!r} / (dt{k} * dt{k})",
        "    else:",
        f"        e{k} = {y} + dt{k} * {w}",
        f"        a{k} = {p00} + 2.0 * dt{k} * {p01} + dt{k} * dt{k} * {p11}"
        f" + {q!r} * dt{k} * dt{k} * dt{k} / 3.0",
        f"        b{k} = {p01} + dt{k} * {p11} + 0.5 * {q!r} * dt{k} * dt{k}",
        f"        c{k} = {p11} + {q!r} * dt{k}",
        f"        k{k} = a{k} / (a{k} + {r2!r})",
        f"        l{k} = b{k} / (a{k} + {r2!r})",
        f"        {w} = {w} + l{k} * ({z} - e{k})",
        f"        {y} = e{k} + k{k} * ({z} - e{k})",
        f"        {p00} = (1.0 - k{k}) * a{k}",
        f"        {p01} = (1.0 - k{k}) * b{k}",
        f"        {p11} = c{k} - l{k} * b{k}",
        f"    {n} = min({n} + 1, 2)",
        f"    {stamp} = s[{i}]",
        f"{v} = NAN",
        f"if {good} and {n} >= 2:",
        f"    h{k} = (t + {node.span_ns} - {stamp}) / 1e9",
        f"    {v} = {y} + h{k} * {w} + {node.kappa!r} * np.sqrt({p00} + 2.0 * h{k} * {p01}"
        f" + h{k} * h{k} * {p11} + {q!r} * h{k} * h{k} * h{k} / 3.0)",
        f"    {v} = {v} if {v} {beyond} {z} else {z}",
    )


def stiffness(to: Writer, node: Stiffness, v: str) -> None:
    """Emit the way made since the last tick without touch, and what it has cost."""
    z, good, u = to.number(node.x), to.good(node.x), to.number(node.speed)
    way, last, begun, k = to.keep_float(0.0), to.keep(), to.keep(0), v[1:]
    to.say(
        f"{v} = 0.0",
        f"if {good} and {z} <= {node.touch!r}:",
        f"    {way} = 0.0",
        "else:",  # a NaN stays in the way until the touch is over
        f"    dt{k} = (t - {last}) / 1e9 if {begun} != 0 else 0.0",
        f"    {way} += {u} * dt{k} if {good} else NAN",
        f"    w{k} = {z} - {node.touch!r}",
        f"    {v} = {node.most!r} if {way} * {node.most!r} <= w{k} else w{k} / {way}",
        f"{last} = t",
        f"{begun} = 1",
    )
