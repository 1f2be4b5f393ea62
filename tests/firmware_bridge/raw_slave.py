"""A Modbus RTU slave written byte by byte from the standard: an oracle that shares no code with the driver."""

import os
import select
import struct
import threading
import time
from collections.abc import Callable

Reply = list[tuple[float, bytes]]
"""Delays in seconds after the request, and the bytes then sent."""


def crc16(data: bytes) -> bytes:
    """Modbus over serial line 1.02, section 6.2.2: polynomial 0xA001, start 0xFFFF, low byte first."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    return struct.pack("<H", crc)


def framed(body: bytes) -> bytes:
    return body + crc16(body)


def registers_reply(unit: int, words: list[int]) -> bytes:
    return framed(struct.pack(">BBB", unit, 3, 2 * len(words)) + struct.pack(f">{len(words)}H", *words))


def exception_reply(unit: int, function: int, code: int) -> bytes:
    return framed(bytes([unit, function | 0x80, code]))


class RawSlave:
    """Answers requests on a pseudo terminal with whatever ``answer`` says."""

    def __init__(self, answer: Callable[[bytes], Reply]) -> None:
        self.answer = answer
        self.requests: list[bytes] = []
        self._master, self._slave = os.openpty()
        import termios
        import tty

        tty.setraw(self._slave, termios.TCSANOW)
        self.port = os.ttyname(self._slave)
        self._ending = False
        self._due: list[tuple[float, bytes]] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "RawSlave":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ending = True
        self._thread.join()
        os.close(self._master)
        os.close(self._slave)

    def _run(self) -> None:
        text = b""
        while not self._ending:
            ready, _, _ = select.select([self._master], [], [], 0.002)
            if ready:
                text += os.read(self._master, 4096)
            while (size := self._length(text)) and len(text) >= size:
                request, text = text[:size], text[size:]
                self.requests.append(request)
                now = time.monotonic()
                self._due += [(now + delay, data) for delay, data in self.answer(request)]
            for due in [d for d in self._due if d[0] <= time.monotonic()]:
                self._due.remove(due)
                os.write(self._master, due[1])

    @staticmethod
    def _length(text: bytes) -> int:
        if len(text) < 7:
            return 0
        return 8 if text[1] in (3, 6) else 9 + text[6]
