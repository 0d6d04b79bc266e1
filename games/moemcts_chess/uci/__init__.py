"""The search as a UCI engine: `moemcts uci`."""
