"""Whole programs: compared, validated, reduced and made at random."""
