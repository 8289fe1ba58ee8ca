"""Random functions with arguments, control flow, memory and containers, to test passes with."""
