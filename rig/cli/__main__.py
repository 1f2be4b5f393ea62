"""``python -m rig.cli``: the same as the ``runrig`` command."""

from rig.cli import main

main()
