"""Films of camera pictures: every picture at its time, playable and seekable in Chromium."""

import io
import sys

import numpy as np
import pytest
from PIL import Image

from rig.console.film import film
from rig.core.errors import RecordError, UsageError

TIMES = (0.0, 0.033, 0.1, 0.5, 1.2, 1.233, 2.5)  # uneven, with a gap


def jpeg(shade: int, size=(64, 48)) -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.full((size[1], size[0], 3), shade, np.uint8)).save(out, "JPEG")
    return out.getvalue()


@pytest.fixture
def made(tmp_path):
    pytest.importorskip("av", reason="the extra `video` is not installed")
    out = tmp_path / "film.mp4"
    assert film([(t, jpeg(30 * k), "image/jpeg") for k, t in enumerate(TIMES)], out) == len(TIMES)
    return out


def test_every_picture_is_at_its_time_and_can_be_gone_to(made):
    import av
    from av.video.frame import PictureType

    with av.open(str(made)) as container:
        frames = [
            (float(f.time), f.key_frame, PictureType(f.pict_type).name, f.to_ndarray(format="rgb24").mean())
            for f in container.decode(video=0)
        ]
        assert container.streams.video[0].codec_context.name == "h264"
    times, keys, kinds, shades = zip(*frames, strict=True)
    assert times == pytest.approx(TIMES, abs=0.0005)
    assert "B" not in kinds
    assert [t for t, key in zip(times, keys, strict=True) if key] == pytest.approx(
        [0.0, 1.2, 2.5], abs=0.0005
    )
    assert shades == pytest.approx([30 * k for k in range(len(TIMES))], abs=3)


def test_it_plays_in_the_browser_people_use(made, browser):
    page = browser.new_page()
    (made.parent / "film.html").write_text(f'<video src="{made.name}" muted preload="auto"></video>')
    page.goto((made.parent / "film.html").as_uri())
    page.wait_for_function("() => document.querySelector('video').readyState >= 2")
    page.evaluate("() => { document.querySelector('video').currentTime = 1.21 }")
    page.wait_for_function("() => !document.querySelector('video').seeking")
    said = page.evaluate(
        "() => { const v = document.querySelector('video'); return [v.error, v.currentTime, v.duration] }"
    )
    assert said[:2] == [None, 1.21]
    assert said[2] >= TIMES[-1]
    page.close()


def test_odd_sizes_are_made_even_and_odd_pictures_refused(tmp_path):
    pytest.importorskip("av", reason="the extra `video` is not installed")
    assert film([(0.0, jpeg(9, (65, 49)), "image/jpeg")], tmp_path / "odd.mp4") == 1
    with pytest.raises(RecordError, match=r"0\.000 s"):
        film([(0.0, b"no picture", "image/jpeg")], tmp_path / "bad.mp4")
    with pytest.raises(UsageError, match="two pictures"):
        film([(0.0, jpeg(1), "image/jpeg")] * 2, tmp_path / "twice.mp4")


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(UsageError, match=r"runrig\[video\]"):
        film([], tmp_path / "x.mp4")
