"""The rig controller: benches, trials and the command line (import ``rig.core`` for the vocabulary)."""
