"""Small worlds for monitor tests: a layout, rule files written on the spot, snapshots set by hand."""

import textwrap

import numpy as np

from rig.core.channel import Audience, Channel, Layout, Quality, Snapshot

MS = 1_000_000
S = 1_000 * MS

LAYOUT = Layout(
    [
        Channel(
            name="force",
            unit="N",
            low=0.0,
            high=50.0,
            period_s=0.001,
            stale_after_s=0.02,
            noise=0.03,
            resolution=0.01,
        ),
        Channel(name="gap", unit="m", low=-0.1, high=1.0, period_s=0.033, stale_after_s=0.2, latency_s=0.04),
        Channel(name="flag", unit="1", low=0.0, high=1.0, period_s=0.001, stale_after_s=1.0),
        Channel(
            name="truth.force",
            unit="N",
            low=0.0,
            high=50.0,
            period_s=0.001,
            stale_after_s=1.0,
            audience=Audience.ORACLE,
        ),
    ]
)

LIMITS = """
status = "draft-unsigned"
author_role = "tests"
[limit.force]
text = "t"
unit = "N"
side = "above"
trip = "4 N"
policy = "6 N"
harm = "10 N"
kind = "policy"
mark = "P"
source = "s"
derivation = "d"
"""

HEAD = """
text = "rules for tests"
author_role = "tests"
status = "draft-unsigned"
review_date = 2026-01-01
"""

RULE = """
[rule.{id}]
protects = "c"
severity = "critical"
harm = "h"
irreversible = "i"
benign_margin = "b"
"""

COMMON = {
    "signal": "model",
    "max_age": "channel",
    "template": "never",
    "response": "hold",
    "response_time": "500 ms",
    "grace": "50 ms",
    "clear": "100 ms",
}


def rule(id, **keys):
    """Return a rule table as TOML text."""
    given = {**COMMON, **keys}
    return RULE.format(id=id) + "".join(f'{k} = "{v}"\n' for k, v in given.items() if v is not None)


def write(tmp_path, text, limits=LIMITS):
    """Write a rule file and a file of limits; return the arguments of `load_rules` after the layout."""
    (tmp_path / "rules.toml").write_text(HEAD + textwrap.dedent(text))
    (tmp_path / "limits.toml").write_text(limits)
    return [tmp_path / "rules.toml"], [tmp_path / "limits.toml"]


class World:
    """Readings set by hand, in a layout, at a time that is told to move on."""

    def __init__(self, layout=LAYOUT, **values):
        self.layout, self.t_ns = layout, 0
        self.values = np.array([min(max(0.0, c.low), c.high) for c in layout])
        self.quality = np.zeros(len(layout), np.uint8)
        self.stamps = {}
        self.set(**values)

    def set(self, **values):
        for name, value in values.items():
            self.values[self.layout.index(name.replace("__", "."))] = value

    def lose(self, name, how=Quality.FAULT):
        self.quality[self.layout.index(name.replace("__", "."))] = how

    def find(self, name):
        self.quality[self.layout.index(name.replace("__", "."))] = Quality.GOOD

    def snapshot(self):
        sampled = np.full(len(self.layout), self.t_ns, np.int64)
        for name, t_ns in self.stamps.items():
            sampled[self.layout.index(name)] = t_ns
        return Snapshot(self.layout, self.t_ns, self.values.copy(), sampled, self.quality.copy())

    def run(self, monitor, for_ns, tick_ns=MS):
        """Feed a monitor for a while; return the changes as (time ns, rule id, holds)."""
        seen, end_ns = [], self.t_ns + for_ns
        while self.t_ns < end_ns:
            if monitor.step(self.snapshot()):
                seen += [(self.t_ns, v.rule.id, v.holds) for v in monitor.changes()]
            self.t_ns += tick_ns
        return seen
