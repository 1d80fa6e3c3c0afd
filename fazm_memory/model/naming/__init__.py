"""How names are made: programs learned from examples of before and after. `conventions` is the way in."""
