"""`python -m moemcts` is `moemcts`."""

from moemcts.cli.main import main

if __name__ == "__main__":
    main()
