"""Games in the browser: tables that pages play at, and a server that answers this machine alone."""
