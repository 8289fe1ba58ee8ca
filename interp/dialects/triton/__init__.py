"""The dialects of Triton: ``tt``, which its front end makes (TTIR), and those of its GPU stage (TTGIR)."""
