"""The review page shows the frames a record holds, whoever wrote them."""

import pytest

from rig.console.pictures import Pictures, cameras
from rig.core.errors import UsageError
from rig.core.record import read
from tests.record.making import MS, ended, ticks
from tests.record.test_images import recorded, shot, writer


def test_recorded_frames_are_shown_at_the_time_the_rig_had_them(tmp_path):
    record = recorded(tmp_path / "r")
    assert cameras(record) == ("bed", "face")
    pictures = Pictures(record)
    assert pictures.times_ns("face") == [(k * 33 + 40) * MS for k in range(12)]
    assert pictures.frame("face", 7) == (shot(7).data, "image/jpeg")
    with pytest.raises(UsageError, match="0 to 11"):
        pictures.frame("face", 12)


def test_a_camera_nobody_looked_through_is_not_offered(tmp_path):
    with writer(tmp_path / "r") as record:
        record.telemetry(ticks(100))
        record.close(ended())
    assert cameras(read(tmp_path / "r")) == ()
