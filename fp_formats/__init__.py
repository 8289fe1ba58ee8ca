"""What each float type is, and the one exact rounding core."""
