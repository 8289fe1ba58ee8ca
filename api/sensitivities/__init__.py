"""Which op's format matters: programs with one thing changed at a time, and the errors of their results."""
