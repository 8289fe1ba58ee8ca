"""The dialect of halfulp itself."""
