"""Bytes on a wire: framing, messages and sessions between the host and a bench's microcontrollers."""
