"""Classic board games of two players on the native core: connect four, Othello, Breakthrough, Hex, tic-tac-toe."""
