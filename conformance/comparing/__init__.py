"""The comparison of one op with an oracle: cases, inputs, exact results, verdicts."""
