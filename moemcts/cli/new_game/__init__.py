"""Templates of `moemcts new-game`; `@NAME@` and its like are replaced."""
