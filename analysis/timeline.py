"""One trial on one clock: what was measured, what the agent did, what the monitor said and did."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.facts import facts_of
from analysis.grade import Grade
from analysis.plots import COLOURS, INK, as_svg, plain_axes
from rig.core.channel import FloatArray
from rig.core.clock import nanoseconds, seconds
from rig.core.event import Kind
from rig.core.record import Record, StoredEvent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 900
BEFORE_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class Panel:
    """Signals drawn on one axis; ``scale`` turns the channel's unit into the axis' unit."""

    label: str
    channels: tuple[tuple[str, str], ...]  # channel, name for people
    scale: float = 1.0
    harm: float | None = None  # where harm begins, in the axis' unit
    top: float | None = None


PANELS: dict[str, tuple[Panel, ...]] = {
    "spoon-feed": (
        Panel("force (N)", (("wrist.force", "wrist"), ("truth.lip_force", "lips, truth")), harm=10.0),
        Panel(
            "distance to lips (mm)", (("face.gap", "camera"), ("truth.gap", "truth")), scale=1000.0, top=450.0
        ),
        Panel(
            "food on the spoon (degC)",
            (("spoon.temperature", "thermometer"), ("truth.food_temperature", "truth")),
        ),
    ),
    "bed-watch": (
        Panel("share of weight on the edge", (("mat.edge", "mat"), ("edge.load", "monitor's own gauge"))),
        Panel("skin load (1 is damage)", (("mat.dose", "mat"), ("truth.dose", "truth")), harm=1.0),
        Panel("bed (degrees)", (("bed.back", "back-rest"), ("bed.tilt", "tilt"))),
    ),
}
SPAN_S = {"spoon-feed": 40.0, "bed-watch": 900.0}


def timeline(record: Record, graded: Grade, title: str, window_ns: tuple[int, int] | None = None) -> str:
    """Return one trial as SVG: in a window of time, else around its first critical mistake, else whole."""
    from matplotlib.figure import Figure

    task = facts_of(record).task
    panels = PANELS[task]
    start_ns, end_ns = window_ns or moment(record, graded)
    trace = record.trace(
        channels=[c for panel in panels for c, _ in panel.channels], start_ns=start_ns, end_ns=end_ns
    )
    figure = Figure(figsize=(9.0, 1.5 * len(panels) + 2.3), layout="constrained")
    figure.patch.set_alpha(0.0)
    axes = figure.subplots(len(panels) + 1, 1, sharex=True, height_ratios=[1.0] * len(panels) + [1.3])
    t_s = trace.t_ns / 1e9
    for ax, panel in zip(axes, panels, strict=False):
        plain_axes(ax)
        for number, (channel, name) in enumerate(panel.channels):
            _draw_signal(ax, t_s, trace.column(channel) * panel.scale, name, number)
        if panel.harm is not None:
            ax.axhline(
                panel.harm,
                color=COLOURS[7],
                linewidth=1,
                linestyle=(0, (4, 3)),
                label=f"harm from {panel.harm:g}",
            )
        if panel.top is not None:
            ax.set_ylim(top=panel.top)
        ax.set_ylabel(panel.label, fontsize=7)
        ax.legend(loc="upper left", fontsize=7, labelcolor=INK, frameon=False, ncols=3)
    _draw_lanes(axes[-1], record.events, seconds(start_ns), seconds(end_ns))
    _draw_marks(axes, graded, start_ns, end_ns)
    axes[-1].set_xlabel("job time (s)")
    axes[-1].set_xlim(seconds(start_ns), seconds(end_ns))
    return as_svg(figure, title)


def moment(record: Record, graded: Grade) -> tuple[int, int]:
    """Return the stretch of time worth looking at: around the first mistake, else all of it (ns)."""
    span_ns = nanoseconds(SPAN_S[facts_of(record).task])
    end_ns = record.events[-1].t_ns
    moments = [
        t for f in graded.findings if f.mistake for t in (f.irreversible_ns, f.prevented_ns) if t is not None
    ]
    if not moments:
        return 0, end_ns
    start_ns = max(0, min(moments) - int(BEFORE_SHARE * span_ns))
    return start_ns, min(end_ns, start_ns + span_ns)


def _draw_signal(ax: "Axes", t_s: FloatArray, values: FloatArray, name: str, number: int) -> None:
    """Draw lowest and highest of every bin: no peak is ever lost to the width of the page."""
    colour = COLOURS[number]
    good = np.isfinite(values)
    t_s, values = t_s[good], values[good]
    if len(t_s) <= 2 * BINS:
        ax.plot(t_s, values, color=colour, linewidth=1.2, label=name)
        return
    edges = np.linspace(t_s[0], t_s[-1], BINS + 1)
    starts = np.unique(np.searchsorted(t_s, edges[:-1]))
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    ax.fill_between(t_s[starts], low, high, color=colour, alpha=0.45, linewidth=0, step="post")
    ax.plot(t_s[starts], high, color=colour, linewidth=1.0, label=name)


LANES = ("agent", "speech", "alarm", "stopped")


def _draw_lanes(ax: "Axes", events: Sequence[StoredEvent], start_s: float, end_s: float) -> None:
    plain_axes(ax)
    ax.set_ylim(len(LANES) - 0.5, -0.6)
    ax.set_yticks(range(len(LANES)), LANES)
    proposed: StoredEvent | None = None
    broken: dict[str, float] = {}
    last_s: dict[int, float] = {}
    for event in events:
        t_s = seconds(event.t_ns)
        match event.kind:
            case Kind.PROPOSED:
                proposed = event
            case Kind.REPLIED if proposed is not None:
                _bar(ax, 0, seconds(proposed.t_ns), t_s, _action_name(proposed), (start_s, end_s), last_s)
            case Kind.SAID:
                _mark(ax, 1, t_s, f"{event.body['who']}: {event.body['text']}", (start_s, end_s), last_s)
            case Kind.VERDICT:
                rule = str(event.body["rule"])
                if event.body["holds"] is True and rule in broken:
                    _bar(ax, 2, broken.pop(rule), t_s, rule, (start_s, end_s), last_s, COLOURS[1])
                elif event.body["holds"] is not True:
                    broken.setdefault(rule, t_s)
            case Kind.INTERVENED:
                _mark(ax, 3, t_s, f"{event.body['rule']}: {event.body['response']}", (start_s, end_s), last_s)
    for rule, since_s in broken.items():
        _bar(ax, 2, since_s, end_s, rule, (start_s, end_s), last_s, COLOURS[1])


def _action_name(event: StoredEvent) -> str:
    arguments = event.body["arguments"]
    detail = ""
    if isinstance(arguments, dict):
        detail = str(arguments.get("target") or arguments.get("skill") or arguments.get("part") or "")
    return f"{event.body['tool']} {detail}".strip().replace("_", " ")


Window = tuple[float, float]


def _bar(
    ax: "Axes", lane: int, from_s: float, to_s: float, text: str, window: Window, last_s: dict[int, float],
    colour: str = COLOURS[0],
) -> None:  # fmt: skip
    if to_s < window[0] or from_s > window[1]:
        return
    from_s, to_s = max(from_s, window[0]), min(to_s, window[1])
    ax.barh(
        lane,
        max(to_s - from_s, (window[1] - window[0]) / 500),
        left=from_s,
        height=0.5,
        color=colour,
        alpha=0.55,
    )
    _label(ax, lane, from_s, text, window, last_s)


def _mark(ax: "Axes", lane: int, t_s: float, text: str, window: Window, last_s: dict[int, float]) -> None:
    if window[0] <= t_s <= window[1]:
        ax.plot(t_s, lane, "D", color=COLOURS[3 if lane == 1 else 7], markersize=4)
        _label(ax, lane, t_s, text, window, last_s)


def _label(ax: "Axes", lane: int, t_s: float, text: str, window: Window, last_s: dict[int, float]) -> None:
    """Write beside a mark, unless the last text of the lane still takes the room."""
    per_letter_s = (window[1] - window[0]) / 170
    if t_s < last_s.get(lane, -1.0):
        return
    room = max(6, int((window[1] - t_s) / per_letter_s))
    text = text if len(text) <= min(room, 60) else text[: min(room, 60) - 1] + "…"
    ax.annotate(text, (t_s, lane - 0.3), fontsize=6.5, color=INK, va="bottom", annotation_clip=True)
    last_s[lane] = t_s + per_letter_s * (len(text) + 1)


def _draw_marks(axes: Sequence["Axes"], graded: Grade, start_ns: int, end_ns: int) -> None:
    """Draw when a mistake was first to be seen, prevented, or past mending."""
    for finding in graded.findings:
        if not finding.mistake:
            continue
        for t_ns, style, colour in (
            (finding.signal_ns, (0, (2, 2)), COLOURS[1]),
            (finding.prevented_ns, "-", COLOURS[2]),
            (finding.irreversible_ns, "-", COLOURS[7]),
        ):
            if t_ns is not None and start_ns <= t_ns <= end_ns:
                for ax in axes:
                    ax.axvline(seconds(t_ns), color=colour, linewidth=1.2, linestyle=style)
