"""Measure halfulp and other implementations (its peers): ``python -m benchmarks``, from the root of the tree. This
package is not installed.
"""
