"""The command line: one file a command; only here are errors turned into exit codes."""
