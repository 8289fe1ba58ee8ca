"""Measure how wrong another implementation is: compare its results with the correctly rounded and the exact results."""
