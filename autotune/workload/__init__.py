"""Child side: runs the user's script, captures its ``fit`` and brings configurations to it."""
