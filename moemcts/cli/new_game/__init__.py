"""Templates of `moemcts new-game`; placeholders such as `@NAME@` are replaced."""
