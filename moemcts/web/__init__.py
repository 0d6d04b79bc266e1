"""Games in the browser: tables for playing, and a server for this machine only."""
