"""Fast paths: each equals `exact` over its whole declared domain."""
