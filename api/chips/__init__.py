"""What real chips computed: recordings compared with the models, and which chip or rule explains given results."""
