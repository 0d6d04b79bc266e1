"""Classic two-player board games on the native core: connect four, Othello, Breakthrough, Hex, tic-tac-toe."""
