"""Pictures of a camera as one H.264 film that any browser plays and seeks in; needs the extra ``video``.

No B-frames and a keyframe every second, so that a player can go to any picture; each picture is shown from
the moment it was taken until the next, to the millisecond.
"""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rig.core.errors import RecordError, UsageError

if TYPE_CHECKING:
    import av

EXTRA = "a film needs PyAV, which is not installed: pip install 'runrig[video]'"
CODECS = {"image/jpeg": "mjpeg", "image/png": "png", "image/webp": "webp"}
MS = Fraction(1, 1000)
KEY_EVERY_MS = 1000


def can_film() -> bool:
    """Return whether the extra is installed."""
    try:
        import av  # noqa: F401
    except ImportError:
        return False
    return True


def film(pictures: Iterable[tuple[float, bytes, str]], out: Path) -> int:
    """Write pictures as an MP4 file with H.264; return how many.

    Args:
        pictures: Seconds from the beginning, file and media type of each, in order.
        out: The file to write.

    Raises:
        UsageError: If PyAV is not installed, or two pictures are of one millisecond.
        RecordError: If a picture cannot be decoded.
    """
    try:
        import av
    except ImportError:
        raise UsageError(EXTRA) from None
    from av.video.reformatter import ColorRange

    written, key_ms, last_ms = 0, -KEY_EVERY_MS, -1
    with av.open(str(out), "w", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream("libx264", options={"bf": "0", "preset": "veryfast", "crf": "20"})
        stream.time_base = stream.codec_context.time_base = MS
        stream.pix_fmt = "yuv420p"
        for t_s, data, kind in pictures:
            decoder = cast("av.VideoCodecContext", av.VideoCodecContext.create(CODECS[kind], "r"))
            try:
                (frame, *_) = decoder.decode(av.Packet(data))
            except (av.FFmpegError, ValueError) as error:
                raise RecordError(f"the picture at {t_s:.3f} s cannot be decoded: {error}") from None
            if not written:
                stream.width, stream.height = frame.width // 2 * 2, frame.height // 2 * 2
            t_ms = round(t_s * 1000)
            if t_ms <= last_ms:
                raise UsageError(f"two pictures are of {t_s:.3f} s; a film shows one at a time")
            shown = frame.reformat(  # JPEG uses the whole range of each byte, films do not
                stream.width, stream.height, "yuv420p", src_color_range=ColorRange.JPEG,
                dst_color_range=ColorRange.MPEG,
            )  # fmt: skip
            shown.pts, shown.time_base = t_ms, MS
            shown.pict_type = av.video.frame.PictureType.NONE
            if t_ms - key_ms >= KEY_EVERY_MS:
                shown.pict_type, key_ms = av.video.frame.PictureType.I, t_ms
            container.mux(stream.encode(shown))
            written, last_ms = written + 1, t_ms
        container.mux(stream.encode())
    return written
