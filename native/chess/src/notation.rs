//! Positions and moves as text: FEN with additional history, UCI and SAN moves.
//!
//! A state is written as its FEN and, if it has a history, `; last` with the last moves, the newest first, and `; seen`
//! with the hashes of the positions that it can still repeat. If only the number of occurrences is known, as in
//! datasets, `; occurred 1` says how often the position occurred before. `startpos` is the variant's start position,
//! and `; moves e2e4 e7e5` plays moves from the position before it.

use moemcts_tree::State;
use shakmaty::fen::Fen;
use shakmaty::san::San;
use shakmaty::uci::UciMove;
use shakmaty::variant::{Variant as Board, VariantPosition};
use shakmaty::{Bitboard, Castles, EnPassantMode, Move, Position, PositionError, Setup, Square};

use crate::compact::{square_byte, Compact, HISTORY, NONE};
use crate::moves::with_legal_moves;
use crate::pgn::WrittenMove;
use crate::seen::Seen;
use crate::state::{plies, Chess};
use crate::variant::Rules;

/// Returns the position of a FEN, or an error of one line.
///
/// Castling rights without the king or rook in place are dropped, as in python-chess and Lichess: programs that set up
/// positions write such FENs.
pub fn parse_position(fen: &str, rules: &Rules) -> Result<VariantPosition, String> {
    let parsed: Fen = fen.parse().map_err(|error| format!("expected a FEN, got {fen:?} ({error})"))?;
    let mut setup = parsed.into_setup();
    setup.castling_rights = valid_castling_rights(&setup, rules);
    let result = match unsupported_feature(&setup, rules.variant.board) {
        Some(reason) => Err(reason.to_owned()),
        None => position(setup, rules),
    };
    result.map_err(|error| format!("no {} position: {fen:?} ({error})", rules.variant.name))
}

/// Returns what a position has that does not exist on that board.
fn unsupported_feature(setup: &Setup, board: Board) -> Option<&'static str> {
    let has_pieces_in_hand =
        setup.pockets.as_ref().is_some_and(|hands| hands.iter().any(|hand| hand.iter().any(|&n| n > 0)));
    if has_pieces_in_hand && board != Board::Crazyhouse {
        Some("only crazyhouse has pieces in hand")
    } else if setup.remaining_checks.is_some() && board != Board::ThreeCheck {
        Some("only three-check counts checks")
    } else {
        None
    }
}

/// Returns those of the declared castling rooks that can castle by the rules of the game.
fn valid_castling_rights(setup: &Setup, rules: &Rules) -> Bitboard {
    match rules.variant.board {
        // Some files declare rights for these nevertheless.
        Board::Antichess | Board::RacingKings => Bitboard::EMPTY,
        _ => Castles::from_setup(setup, rules.variant.castling).unwrap_or_else(|possible| possible).castling_rights(),
    }
}

/// Returns a playable position, which may have more material than is reachable in a game.
pub fn position(setup: Setup, rules: &Rules) -> Result<VariantPosition, String> {
    let variant = rules.variant;
    check_counters(&setup)?;
    let position = VariantPosition::from_setup(variant.board, setup, variant.castling)
        .or_else(PositionError::ignore_too_much_material);
    let position = match variant.board {
        // Its move generator ignores checks, and would let kings be captured.
        Board::RacingKings => position,
        _ => position.or_else(PositionError::ignore_impossible_check),
    };
    position.map_err(|error| error.to_string().trim_start_matches("illegal position: ").to_owned())
}

/// Checks that neither counter exceeds what a compact position can store, now or later in the game.
fn check_counters(setup: &Setup) -> Result<(), String> {
    let left = Rules::MAX_PLIES_LIMIT.saturating_sub(plies(setup.fullmoves, setup.turn));
    for (name, got, max) in [
        ("half-move clock", setup.halfmoves, Compact::MAX_HALFMOVES - left),
        ("move number", setup.fullmoves.get(), Compact::MAX_FULLMOVES),
    ] {
        if got > max {
            return Err(format!("expected a {name} of at most {max}, got {got}"));
        }
    }
    Ok(())
}

/// Returns the state written as `text`, or an error of one line.
pub fn parse_state(text: &str, rules: Rules) -> Result<Chess, String> {
    let mut parts = text.split(';').map(str::trim);
    let fen = parts.next().unwrap_or_default();
    let position = match fen {
        "startpos" => VariantPosition::new(rules.variant.board),
        fen => parse_position(fen, &rules)?,
    };
    let (mut last, mut seen, mut occurred, mut moves) = ([NONE; 2 * HISTORY], Seen::default(), 0, Vec::new());
    for part in parts.filter(|part| !part.is_empty()) {
        let mut words = part.split_whitespace();
        match words.next() {
            Some("last") => last = parse_last(words)?,
            Some("seen") => seen = parse_seen(words)?,
            Some("occurred") => occurred = parse_occurred(words)?,
            Some("moves") => moves.extend(words),
            _ => return Err(format!("expected `last`, `seen`, `occurred` or `moves` after the FEN, got {part:?}")),
        }
    }
    check_seen(seen.len(), position.halfmoves(), plies(position.fullmoves(), position.turn()), &rules)?;
    if occurred > 0 && !seen.is_empty() {
        return Err("expected `seen` or `occurred`, got both".to_owned());
    }
    let mut state = Chess::with_history(position, rules, last, seen, occurred);
    for word in moves {
        let m = parse_move(word, &state)?;
        state.play_move(m);
    }
    Ok(state)
}

/// Returns one line that `parse_state` reads back.
pub fn format_state(state: &Chess) -> String {
    let mut text = fen(state);
    let last: Vec<String> = state.last_moves().chunks_exact(2).map_while(format_last).collect();
    if !last.is_empty() {
        text += &format!("; last {}", last.join(" "));
    }
    if !state.seen().is_empty() {
        let keys: Vec<String> = state.seen().to_vec().iter().map(|key| format!("{key:x}")).collect();
        text += &format!("; seen {}", keys.join(" "));
    } else if state.repetitions() > 0 {
        text += &format!("; occurred {}", state.repetitions());
    }
    text
}

/// Returns the FEN, with the en passant square only if the capture is legal, as in python-chess.
pub fn fen(state: &Chess) -> String {
    Fen::from_position(state.position(), EnPassantMode::Legal).to_string()
}

/// Returns the legal move written in UCI or SAN, or an error of one line.
pub fn parse_move(text: &str, state: &Chess) -> Result<Move, String> {
    let position = state.position();
    let uci = text.parse::<UciMove>().ok().and_then(|uci| uci.to_move(position).ok());
    let legal = uci.or_else(|| {
        let (written, len) = WrittenMove::read(text.as_bytes())?;
        matches!(&text[len..], "" | "+" | "#").then(|| written.to_move(position)).flatten()
    });
    legal.filter(|_| !state.is_over()).ok_or_else(|| {
        let names: Vec<String> = legal_moves(state).into_iter().map(|m| uci_move(m, state)).collect();
        match names.len() {
            0 => format!("expected no move, for the game is over, got {text:?}"),
            _ => format!("expected one of {}, got {text:?}", names.join(", ")),
        }
    })
}

/// Returns the move in UCI: castling is e1g1, but king takes rook in Chess960.
pub fn uci_move(m: Move, state: &Chess) -> String {
    UciMove::from_move(m, state.variant().castling).to_string()
}

/// Returns the move in SAN, without check signs.
pub fn san_move(m: Move, state: &Chess) -> String {
    San::from_move(state.position(), m).to_string()
}

/// Returns the legal moves, none if the game is over.
pub fn legal_moves(state: &Chess) -> Vec<Move> {
    if state.is_over() {
        Vec::new()
    } else {
        with_legal_moves(state.position(), <[Move]>::to_vec)
    }
}

/// Returns the state as bytes: its compact position and the hashes of the positions it can repeat, eight bytes each.
pub fn pack(state: &Chess) -> Vec<u8> {
    let mut bytes = Compact::of(state).to_bytes().to_vec();
    bytes.extend(state.seen().to_vec().iter().flat_map(|key| key.to_le_bytes()));
    bytes
}

/// Returns the position of a packed state, or an error of one line if it is not one of this game.
///
/// Whether the position is legal is checked only by `unpack`, which takes far longer.
pub fn check_packed(bytes: &[u8], rules: Rules) -> Result<Compact, String> {
    let too_short = || format!("expected at least {} bytes, got {}", Compact::BYTES, bytes.len());
    let compact = Compact::from_bytes(bytes).ok_or_else(too_short)?;
    if compact.variant != rules.variant.id {
        let other = crate::variant::Variant::numbered(compact.variant).map_or("no known game", |variant| variant.name);
        return Err(format!("expected positions of {}, got {other}", rules.variant.name));
    }
    let [a, b, c] = compact.roles;
    if a & b & c != 0 || compact.white & !compact.occupied() != 0 {
        return Err("expected a piece or none on every square, got what is neither".to_owned());
    }
    let (keys, rest) = bytes[Compact::BYTES..].as_chunks::<8>();
    if !rest.is_empty() {
        let got = bytes.len();
        return Err(format!("expected {} bytes and eight for each position before, got {got}", Compact::BYTES));
    }
    check_seen(keys.len(), compact.halfmoves, compact.ply(), &rules)?;
    Ok(compact)
}

/// Returns the state that was packed, or an error of one line.
pub fn unpack(bytes: &[u8], rules: Rules) -> Result<Chess, String> {
    let compact = check_packed(bytes, rules)?;
    let has = |variant| rules.variant.board == variant;
    let setup = compact.setup(has(shakmaty::variant::Variant::Crazyhouse), has(shakmaty::variant::Variant::ThreeCheck));
    let position = position(setup, &rules)?;
    let (keys, _) = bytes[Compact::BYTES..].as_chunks();
    let seen = keys.iter().map(|&key| u64::from_le_bytes(key)).collect();
    Ok(Chess::with_history(position, rules, compact.moves, seen, compact.repetitions))
}

/// Maximum depth of `perft`: with few moves per position it could go deeper, and would need a deep stack.
pub const MAX_PERFT_DEPTH: u32 = 100;

/// Returns the number of leaves of the tree of legal moves at that depth; draws do not end games.
///
/// `depth` is at most `MAX_PERFT_DEPTH`. None if `stop`, which is polled, returned true.
pub fn perft(state: &Chess, depth: u32, stop: &dyn Fn() -> bool) -> Option<u64> {
    count_leaves(state.position(), depth, stop)
}

fn count_leaves(position: &VariantPosition, depth: u32, stop: &dyn Fn() -> bool) -> Option<u64> {
    match depth {
        0 => return Some(1),
        1 => return Some(with_legal_moves(position, |moves| moves.len() as u64)),
        _ if stop() => return None,
        _ => {}
    }
    with_legal_moves(position, |moves| {
        moves.iter().try_fold(0, |sum, &m| {
            let mut child = position.clone();
            child.play_unchecked(m);
            Some(sum + count_leaves(&child, depth - 1, stop)?)
        })
    })
}

/// Returns the state after legal actions, or None if one is not legal.
pub fn replay(mut state: Chess, actions: &[u32]) -> Option<Chess> {
    for &action in actions {
        state.legal_move(action)?;
        state.play(&[action]).ok()?;
    }
    Some(state)
}

fn parse_last<'a>(words: impl Iterator<Item = &'a str>) -> Result<[u8; 2 * HISTORY], String> {
    let mut last = [NONE; 2 * HISTORY];
    let mut free_pairs = last.chunks_exact_mut(2);
    for word in words {
        let expected = || format!("expected squares like e2e4, or @e4 for a drop, got {word:?}");
        let (from, to) = word.split_at_checked(word.len().saturating_sub(2)).ok_or_else(expected)?;
        let from = match from {
            "@" => NONE,
            from => square_byte(Some(from.parse::<Square>().map_err(|_| expected())?)),
        };
        let to = square_byte(Some(to.parse::<Square>().map_err(|_| expected())?));
        let pair = free_pairs.next().ok_or_else(|| format!("expected at most {HISTORY} last moves"))?;
        pair.copy_from_slice(&[from, to]);
    }
    Ok(last)
}

fn format_last(pair: &[u8]) -> Option<String> {
    let to = Square::try_from(pair[1]).ok()?;
    Some(match Square::try_from(pair[0]) {
        Ok(from) => format!("{from}{to}"),
        Err(_) => format!("@{to}"),
    })
}

fn parse_seen<'a>(words: impl Iterator<Item = &'a str>) -> Result<Seen, String> {
    words
        .map(|word| u64::from_str_radix(word, 16).map_err(|_| format!("expected hexadecimal hashes, got {word:?}")))
        .collect()
}

fn parse_occurred<'a>(words: impl Iterator<Item = &'a str>) -> Result<u8, String> {
    let words: Vec<&str> = words.collect();
    let number = || words.join(" ").parse().ok();
    number().ok_or_else(|| format!("expected a number from 0 to 255 after `occurred`, got {:?}", words.join(" ")))
}

/// Returns an error if a game cannot have seen so many positions since the last irreversible move.
fn check_seen(num: usize, halfmoves: u32, plies: u32, rules: &Rules) -> Result<(), String> {
    let (max, counter) = match rules.variant.progresses {
        true => (halfmoves, "the half-move clock"),
        false => (plies, "the move number"),
    };
    if num <= max as usize {
        return Ok(());
    }
    Err(format!("expected at most {max} positions before that can be repeated, as {counter} says, got {num}"))
}
