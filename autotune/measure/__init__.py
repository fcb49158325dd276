"""Workers: processes of their own in which the user's script is trained and timed."""
