"""Industrial devices over Modbus, TCP and RTU: register maps in data, and no answer believed too easily.

An RTU answer does not say which question it answers. After any silence the line is quarantined for the
device's longest answer time and flushed; blocks have different lengths; each carries a canary; what is
written is read back. See `decisions/001-late-answers.md`.
"""
