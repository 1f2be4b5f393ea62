"""The web console: one page for technicians at a bench and for reviewers of records.

A composition root beside the command line: it knows every package and nothing imports it but `rig.cli`.
`rig.console.app.create` builds the application, `rig.console.settings.Settings` says what it serves.
"""
