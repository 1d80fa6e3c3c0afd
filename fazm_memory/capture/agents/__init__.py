"""One module per agent: where its records are, and how to read them."""
