//! Valid and invalid PGN files.

use std::io::Write;
use std::path::PathBuf;

use moemcts_chess::pgn::{read_games, Chunk, Chunks, Filter, Games, Importer, Rejection};
use moemcts_chess::variant::{Rules, Variant};
use moemcts_chess::Compact;

const GAME: &str =
    "[Event \"a\"]\n[Date \"2017.05.31\"]\n[Result \"0-1\"]\n[WhiteElo \"2500\"]\n[BlackElo \"2400\"]\n\n\
                    1. f3 {weak} e5 (1... d5 2. e4) 2. g4 $4 Qh4# 0-1\n\n";

fn read(text: &str, game: &str, filter: Filter) -> Games {
    let chunk = Chunk { text: text.as_bytes().to_vec(), line: 1 };
    read_games(&chunk, Rules::of(Variant::named(game).unwrap()), &filter)
}

fn temporary(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("moemcts-chess-{}-{name}", std::process::id()));
    std::fs::File::create(&path).unwrap().write_all(bytes).unwrap();
    path
}

fn import(path: &PathBuf) -> std::io::Result<Games> {
    let mut importer = Importer::open(path, Rules::of(Variant::named("chess").unwrap()), Filter::default(), 2)?;
    let mut all = Games::default();
    while let Some(games) = importer.next_games()? {
        all = all.concatenate(games);
    }
    std::fs::remove_file(path)?;
    Ok(all)
}

#[test]
fn a_game_is_read_with_its_tags() {
    let games = read(GAME, "chess", Filter::default());
    assert_eq!((games.games.len(), games.actions.len()), (1, 4));
    let game = games.games[0];
    assert_eq!((game.len, game.result, game.date, game.elo, game.line), (4, -1, 20170531, [2500, 2400], 1));
    assert_eq!(games.positions.len(), 4 * Compact::BYTES);
    let third = Compact::from_bytes(&games.positions[2 * Compact::BYTES..]).unwrap();
    assert_eq!((third.fullmoves, third.black_to_move, &third.moves[..4]), (2, false, &[52, 36, 13, 21][..]));
}

#[test]
fn an_illegal_move_costs_its_game_and_names_its_line() {
    let bad = GAME.replace("2. g4", "2. Qg4");
    let games = read(&format!("{GAME}{bad}{GAME}"), "chess", Filter::default());
    assert_eq!((games.games.len(), games.actions.len(), games.damaged.len()), (2, 8, 1));
    assert_eq!((games.damaged[0].line, games.damaged[0].reason.as_str()), (9, "illegal move 2. Qg4"));
    assert_eq!(games.games[1].line, 17);
}

#[test]
fn a_game_without_an_end_is_damaged() {
    let games = read(&GAME[..GAME.len() - 8], "chess", Filter::default());
    assert_eq!(games.damaged[0].reason, "the moves end without a result");
}

#[test]
fn a_tag_without_end_ends_with_its_line() {
    let bad = GAME.replace("\"a\"", &format!("\"{}", "a".repeat(100_000)));
    let games = read(&format!("{GAME}{bad}{GAME}"), "chess", Filter::default());
    assert_eq!((games.games.len(), games.actions.len(), games.damaged.len()), (3, 12, 0), "{:?}", games.damaged);
    assert_eq!((games.games[1].line, games.games[2].line), (9, 17));
}

#[test]
fn a_comment_without_end_costs_only_its_game() {
    for bad in ["{weak", "{weak\n\n[%eval 1]"] {
        let bad = GAME.replace("{weak}", bad);
        let games = read(&format!("{GAME}{bad}{}", GAME.repeat(28)), "chess", Filter::default());
        assert_eq!((games.games.len(), games.damaged.len()), (29, 1));
        assert_eq!((games.damaged[0].line, games.damaged[0].reason.as_str()), (9, "a comment has no end"));
        let games = read(&format!("{GAME}{bad}"), "chess", Filter::default());
        assert_eq!((games.games.len(), games.damaged.len()), (1, 1));
        let filtered = Filter { min_elo: 2600, ..Filter::default() };
        let games = read(&format!("{bad}{}", GAME.replace("2500", "2700").replace("2400", "2700")), "chess", filtered);
        assert_eq!((games.games.len(), games.rejected[Rejection::Elo as usize]), (1, 1));
    }
}

#[test]
fn two_empty_lines_end_a_game_without_moves() {
    let games = read(&format!("[Event \"a\"]\n\n\n{GAME}"), "chess", Filter::default());
    assert_eq!((games.games.len(), games.damaged.len()), (1, 1));
    let games = read(&GAME.replacen("]\n", "]\n\n", 1), "chess", Filter::default());
    assert_eq!((games.games.len(), games.damaged.len()), (1, 0));
}

#[test]
fn a_wrong_fen_is_damaged() {
    let games = read(&GAME.replace("[Event", "[FEN \"8/8/8/8 w - - 0 1\"]\n[Event"), "chess", Filter::default());
    assert!(games.damaged[0].reason.starts_with("expected a FEN"), "{}", games.damaged[0].reason);
}

#[test]
fn filters_leave_games_out() {
    let rejected = |filter: Filter, game: &str| {
        let games = read(GAME, game, filter);
        assert_eq!(games.games.len() + games.actions.len() + games.damaged.len(), 0);
        Rejection::ALL.into_iter().find(|&rejection| games.rejected[rejection as usize] == 1).unwrap()
    };
    let all = Filter::default;
    assert_eq!(rejected(Filter { min_elo: 2401, ..all() }, "chess"), Rejection::Elo);
    assert_eq!(rejected(Filter { min_plies: 5, ..all() }, "chess"), Rejection::Length);
    assert_eq!(rejected(Filter { max_plies: 3, ..all() }, "chess"), Rejection::Length);
    assert_eq!(rejected(Filter { results: vec![1, 0], ..all() }, "chess"), Rejection::Result);
    assert_eq!(rejected(Filter { since: 20170601, ..all() }, "chess"), Rejection::Date);
    assert_eq!(rejected(Filter { until: 20170530, ..all() }, "chess"), Rejection::Date);
    assert_eq!(rejected(all(), "antichess"), Rejection::Variant);
}

#[test]
fn a_game_counts_as_far_as_the_rules_let_it_go_on() {
    let shuffle = "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 5. e4 e5 1/2-1/2\n";
    let games = read(shuffle, "chess", Filter::default());
    assert_eq!((games.games.len(), games.actions.len()), (1, 8));
}

#[test]
fn a_game_or_a_line_of_any_length_is_read_in_one_pass() {
    // Takes a second; if every move looked through all before it, or every tag through all of its line, minutes.
    let games = read(&format!("{}1-0\n", "Nf3 Nf6 Ng1 Ng8 ".repeat(100_000)), "chess", Filter::default());
    assert_eq!((games.games.len(), games.actions.len()), (1, 8));
    let games = read(&format!("{}\n\n{GAME}", "[A \"".repeat(1_000_000)), "chess", Filter::default());
    assert_eq!((games.games.len(), games.damaged.len()), (1, 0));
}

#[test]
fn a_tag_that_ends_with_a_backslash_ends_with_its_line() {
    let bad = GAME.replace("\"a\"]", "\"a\\");
    let games = read(&format!("{bad}{GAME}"), "chess", Filter::default());
    assert_eq!((games.games.len(), games.actions.len()), (2, 8));
    assert_eq!(games.games[0].date, 20170531);
}

#[test]
fn chunks_end_between_games() {
    let text = GAME.repeat(30_000);
    let chunks: Vec<Chunk> = Chunks::new(text.as_bytes()).map(Result::unwrap).collect();
    assert!(chunks.len() > 3);
    assert_eq!(chunks.iter().flat_map(|chunk| chunk.text.clone()).collect::<Vec<u8>>(), text.as_bytes());
    assert!(chunks.iter().all(|chunk| chunk.text.starts_with(b"[Event")));
    assert!(chunks.iter().all(|chunk| chunk.line % 8 == 1));
}

#[test]
fn compressed_files_are_read_whatever_their_name() {
    let text = GAME.repeat(3).into_bytes();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&text).unwrap();
    let mut bzip = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip.write_all(&text).unwrap();
    let files = [
        ("plain", text.clone()),
        ("zstd", zstd::encode_all(text.as_slice(), 1).unwrap()),
        ("gzip", gzip.finish().unwrap()),
        ("bzip2", bzip.finish().unwrap()),
    ];
    for (name, bytes) in files {
        assert_eq!(import(&temporary(name, &bytes)).unwrap().games.len(), 3, "{name}");
        if name != "plain" {
            let half = &bytes[..bytes.len() / 2];
            assert!(import(&temporary(&format!("half-{name}"), half)).is_err(), "{name}");
        }
    }
}
