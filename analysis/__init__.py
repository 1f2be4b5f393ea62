"""From records to numbers; never touches a bench."""
