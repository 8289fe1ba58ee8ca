"""Numbers that a compiler asks for: verdicts on constraints, workgroups, names of tile operations."""
