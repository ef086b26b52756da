"""An experiment's pipeline: its slots read, and a plan whose steps nobody has placed yet given to their components."""
