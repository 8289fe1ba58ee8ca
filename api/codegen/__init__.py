"""Questions of a compiler: verdicts on constraints, numbers of workgroups, names of tile operations."""
