"""Feetech servos of our own bytes on a pseudo terminal: an oracle that shares no code with the driver."""

import os
import select
import termios
import threading
import time
import tty


class Servo:
    def __init__(self, model: int = 777, position: int = 2048) -> None:
        self.memory = bytearray(128)
        self.memory[3:5] = model.to_bytes(2, "little")
        self.memory[56:58] = position.to_bytes(2, "little")
        self.memory[42:44] = position.to_bytes(2, "little")
        self.error = 0

    @property
    def position(self) -> int:
        return int.from_bytes(self.memory[56:58], "little")

    @property
    def goal(self) -> int:
        return int.from_bytes(self.memory[42:44], "little")

    def move(self, dt: float) -> None:
        if not self.memory[40]:
            return
        speed = int.from_bytes(self.memory[46:48], "little") or 3000
        left = self.goal - self.position
        step = min(abs(left), max(1, round(speed * dt)))
        self.memory[56:58] = (self.position + (step if left > 0 else -step)).to_bytes(2, "little")


class Bus:
    """Answers as the manual says; ``spoil`` may change the bytes of an answer."""

    def __init__(self, servos: dict[int, Servo]) -> None:
        self.servos = servos
        self.spoil = lambda data: data
        self.echo = False
        self.seen: list[bytes] = []
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave, termios.TCSANOW)
        self.port = os.ttyname(self._slave)
        self._ending = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Bus":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ending = True
        self._thread.join()
        os.close(self._master)
        os.close(self._slave)

    def _run(self) -> None:
        text, last = b"", time.monotonic()
        while not self._ending:
            ready, _, _ = select.select([self._master], [], [], 0.002)
            if ready:
                text += os.read(self._master, 4096)
            while len(text) >= 4 and len(text) >= 4 + text[3]:
                packet, text = text[: 4 + text[3]], text[4 + text[3] :]
                self._serve(packet)
            now = time.monotonic()
            for servo in self.servos.values():
                servo.move(now - last)
            last = now

    def _serve(self, packet: bytes) -> None:
        self.seen.append(packet)
        assert packet[:2] == b"\xff\xff"
        number, size, instruction = packet[2], packet[3], packet[4]
        assert (~sum(packet[2:-1])) & 0xFF == packet[-1], "checksum"
        parameters = packet[5 : 4 + size - 1]
        if self.echo:
            os.write(self._master, packet)
        if instruction == 0x83:
            address, length = parameters[:2]
            for k in range(2, len(parameters), length + 1):
                if parameters[k] in self.servos:
                    self.servos[parameters[k]].memory[address : address + length] = parameters[
                        k + 1 : k + 1 + length
                    ]
        elif number in self.servos:
            servo = self.servos[number]
            data = b""
            if instruction == 0x02:
                data = bytes(servo.memory[parameters[0] : parameters[0] + parameters[1]])
            body = bytes([number, len(data) + 2, servo.error]) + data
            os.write(self._master, self.spoil(b"\xff\xff" + body + bytes([(~sum(body)) & 0xFF])))
