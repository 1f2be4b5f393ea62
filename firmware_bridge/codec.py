"""Messages to payload bytes and back."""

from dataclasses import fields

from firmware_bridge.framing import Frame
from firmware_bridge.messages import MESSAGES, Message


def pack(message: Message) -> bytes:
    """Return the payload of a message.

    Raises:
        struct.error: If a value does not fit its field: a mistake of the caller.
    """
    flat: list[int | bytes] = []
    for field in fields(message):
        value = getattr(message, field.name)
        if isinstance(value, tuple):
            flat += value
        else:
            flat.append(value)
    return message.LAYOUT.pack(*flat)


def unpack(kind: int, payload: bytes) -> Message | None:
    """Return the message, or None if there is no such kind or the payload has another length."""
    cls = MESSAGES.get(kind)
    if cls is None or len(payload) != cls.LAYOUT.size:
        return None
    flat = cls.LAYOUT.unpack(payload)
    if not cls.WIDTHS:
        return cls(*flat)
    values: list[int | bytes | tuple[int, ...]] = []
    at = 0
    for width in cls.WIDTHS:
        values.append(tuple(flat[at : at + width]) if width else flat[at])
        at += width or 1
    return cls(*values)


def framed(message: Message, session: int, seq: int, t_us: int) -> Frame:
    """Return a message in the frame it travels in."""
    return Frame(message.KIND, session, seq, t_us & 0xFFFFFFFF, pack(message))
