"""The options and the help of each command. Nothing here takes time to import."""
