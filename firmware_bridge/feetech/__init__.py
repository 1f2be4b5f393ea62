"""Feetech STS servos (STS3215: SO-100 and SO-101 arms) on their half-duplex bus.

Written against the published protocol and memory table, and tested on a bus of our own bytes
(`tests/firmware_bridge/servo_bus.py`). IT HAS NOT MET A SERVO. See `hardware/adding-a-device.md`.
"""
