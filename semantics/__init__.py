"""What each op computes, on plain bit patterns; knows no IR."""
