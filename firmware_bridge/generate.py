"""Write everything that follows from the link's description; ``--check`` only compares.

Run as ``python -m firmware_bridge.generate`` in a checkout after changing protocol.toml.
"""

import json
import struct
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from firmware_bridge import generate_c, generate_py
from firmware_bridge.schema import Item, ProtocolFile, fingerprint, items, load_protocol
from rig.core.data import hardware_dir

RANGES = {"u8": (0, 255), "u16": (0, 65535), "u32": (0, 2**32 - 1), "u64": (0, 2**64 - 1),
          "i32": (-(2**31), 2**31 - 1)}  # fmt: skip


def _cobs(data: bytes) -> bytes:
    # Byte by byte, unlike the codec under test: the vectors must not share its mistakes.
    out, block = bytearray(), bytearray()
    for byte in data:
        if byte:
            block.append(byte)
        else:
            out += bytes([len(block) + 1]) + block
            block.clear()
    return bytes(out + bytes([len(block) + 1]) + block)


def _value(item: Item, pick: Callable[[Item, int], int]) -> int | list[int]:
    if item.count:
        return [pick(item, i) for i in range(item.count)]
    return pick(item, 0)


def _flat(values: Mapping[str, int | list[int]]) -> Iterator[int]:
    for value in values.values():
        yield from value if isinstance(value, list) else (value,)


PICKS: Mapping[str, Callable[[Item, int], int]] = {
    "zero": lambda item, i: 0,
    "lowest": lambda item, i: RANGES[item.type][0],
    "highest": lambda item, i: RANGES[item.type][1],
    "distinct": lambda item, i: (
        (sum(item.name.encode()) * 2654435761 + i * 40503) % (RANGES[item.type][1] + 1)
    ),
}


def vectors(file: ProtocolFile) -> dict[str, Any]:
    """Return the golden frames: every message with four sets of values, and frames that must be rejected."""
    seed = fingerprint(file)
    good: list[dict[str, Any]] = []
    for name, message in file.message.items():
        found = items(message)
        for label, pick in PICKS.items():
            values = {item.name: _value(item, pick) for item in found}
            payload = struct.pack("<" + "".join(item.format for item in found), *_flat(values))
            session, seq, t_us = (0, 0, 0) if label == "zero" else (0x01000200 + message.id, 513, 0xFFFF0001)
            body = struct.pack("<BIHI", message.id, session, seq, t_us) + payload
            raw = body + struct.pack("<I", zlib.crc32(body, 0 if message.plain else seed))
            wire = b"\0" + _cobs(raw) + b"\0"
            good.append(
                {"name": f"{name} {label}", "message": name, "session": session, "seq": seq, "t_us": t_us,
                 "values": values, "payload": payload.hex(), "wire": wire.hex()}
            )  # fmt: skip
    return {"fingerprint": seed, "good": good, "bad": list(_bad(good))}


def _bad(good: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    wire = bytes.fromhex(next(v["wire"] for v in good if v["name"] == "Heartbeat distinct"))
    for bit in (0, 3, 7):
        for place in range(1, len(wire) - 1, 5):
            flipped = bytearray(wire)
            flipped[place] ^= 1 << bit
            yield {"name": f"bit {bit} of byte {place} flipped", "wire": flipped.hex()}
    body = bytes.fromhex(next(v["payload"] for v in good if v["name"] == "Heartbeat distinct"))
    head = struct.pack("<BIHI", 5, 1, 1, 1) + body
    yield {
        "name": "checksum without the fingerprint",
        "wire": (b"\0" + _cobs(head + struct.pack("<I", zlib.crc32(head))) + b"\0").hex(),
    }
    yield {"name": "last byte missing", "wire": (wire[:-2] + b"\0").hex()}
    yield {"name": "first byte missing", "wire": (b"\0" + wire[2:]).hex()}
    yield {"name": "too short for a header", "wire": "0003010200"}
    yield {"name": "code points past the end", "wire": "0009010200"}
    yield {"name": "longer than any frame", "wire": "00" + "01" * 300 + "00"}


def vectors_header(found: Mapping[str, Any]) -> str:
    """Return the golden frames as C arrays."""
    lines = [generate_c.BANNER, "#ifndef VECTORS_H\n#define VECTORS_H\n", "#include <stdint.h>\n"]
    lines.append("struct vector { const char *name; int good; uint16_t length; const uint8_t *wire; };\n")
    rows = [(v["name"], 1, v["wire"]) for v in found["good"]] + [
        (v["name"], 0, v["wire"]) for v in found["bad"]
    ]
    for i, (_, _, wire) in enumerate(rows):
        lines.append(f"static const uint8_t WIRE_{i}[] = {{{','.join(map(str, bytes.fromhex(wire)))}}};")
    lines.append("\nstatic const struct vector VECTORS[] = {")
    lines += [f'    {{"{n}", {g}, sizeof WIRE_{i}, WIRE_{i}}},' for i, (n, g, _) in enumerate(rows)]
    lines.append("};\n\n#endif")
    return "\n".join(lines) + "\n"


def outputs(file: ProtocolFile) -> dict[Path, str]:
    """Return every generated file and its text."""
    hardware, found = hardware_dir(), vectors(file)
    return {
        Path(__file__).parent / "messages.py": generate_py.module(file),
        hardware / "firmware" / "core" / "protocol.h": generate_c.header(file),
        hardware / "firmware" / "core" / "protocol.c": generate_c.source(file),
        hardware / "firmware" / "tests" / "vectors.h": vectors_header(found),
        hardware / "vectors" / "frames.json": json.dumps(found, indent=0) + "\n",
    }


def stale(file: ProtocolFile) -> list[Path]:
    """Return the generated files that no longer follow from the description."""
    return [p for p, text in outputs(file).items() if not p.is_file() or p.read_text("utf-8") != text]


def main(arguments: list[str]) -> int:
    """Write the files that changed, or with ``--check`` name them; return the exit code."""
    file = load_protocol()
    changed = stale(file)
    texts = outputs(file)
    for path in changed:
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[path], encoding="utf-8")
        sys.stdout.write(f"{path.name}: {'out of date' if '--check' in arguments else 'written'}\n")
    return 1 if changed and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
