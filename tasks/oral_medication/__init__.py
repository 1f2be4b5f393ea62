"""The oral-medication task: the right tablets to the right person, swallowed and recorded."""
