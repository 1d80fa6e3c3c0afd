"""The timeline page and what it asks: a small JSON API over the façade, for browsers and a window."""
