import math

import numpy as np
import pytest

from rig.core.channel import Audience, Channel, Layout, Quality, Snapshot, Trace, joined
from rig.core.errors import UsageError


def channel(name: str = "a", **changes: object) -> Channel:
    facts: dict[str, object] = {"unit": "N", "low": 0.0, "high": 10.0, "period_s": 0.1, "stale_after_s": 0.5}
    return Channel(name=name, **{**facts, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"low": 10.0}, {"high": math.nan}, {"low": math.nan}, {"period_s": 0.0}, {"period_s": math.nan},
        {"stale_after_s": 0.05}, {"noise": -1.0}, {"resolution": math.nan}, {"latency_s": -0.1},
    ],
)  # fmt: skip
def test_a_channel_that_cannot_be_is_refused_by_name(changes: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="channel a"):
        channel(**changes)


def test_two_channels_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="named twice: a"):
        Layout([channel(), channel()])


def test_an_unknown_channel_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="unknown channel 'c'; known: a, b"):
        Layout([channel("a"), channel("b")]).index("c")


def test_what_an_audience_sees_is_in_the_data() -> None:
    layout = Layout([channel("a"), channel("b", audience=Audience.ORACLE)])
    assert layout.seen_by(Audience.AGENT) == ("a",)


def test_any_attribute_changes_the_digest_of_a_layout() -> None:
    plain = Layout([channel()]).digest()
    assert plain == Layout([channel()]).digest()
    assert plain != Layout([channel(noise=0.1)]).digest()


def snapshot(value: float, quality: Quality = Quality.GOOD) -> Snapshot:
    layout = Layout([channel()])
    return Snapshot(
        layout, 5, np.array([value]), np.array([3], dtype=np.int64), np.array([quality], dtype=np.uint8)
    )


def test_a_reading_knows_when_it_was_sampled_and_whether_it_is_good() -> None:
    reading = snapshot(2.0)["a"]
    assert (reading.value, reading.t_ns, reading.good) == (2.0, 3, True)


@pytest.mark.parametrize("quality", [Quality.STALE, Quality.OUT_OF_RANGE, Quality.FAULT])
def test_a_value_that_is_not_good_is_nan(quality: Quality) -> None:
    assert math.isnan(snapshot(2.0, quality).value("a"))


def test_a_good_nan_is_not_good() -> None:
    assert not snapshot(math.nan)["a"].good


def test_traces_join_and_rows_are_copies() -> None:
    layout = Layout([channel()])
    one = Trace(
        layout, np.array([1, 2]), np.array([[1.0], [2.0]]), np.array([[1], [2]]),
        np.array([[0], [3]], dtype=np.uint8),
    )  # fmt: skip
    both = joined([one, one], layout)
    assert len(both) == 4 and len(joined([], layout)) == 0
    assert np.array_equal(both.column("a"), [1.0, np.nan, 1.0, np.nan], equal_nan=True)
    row = one.row(0)
    one.values[0, 0] = 9.0
    assert row.value("a") == 1.0
