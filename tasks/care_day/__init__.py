"""The care-day task: sixteen hours of turns, meals and medicines of one resident, over three shifts."""
