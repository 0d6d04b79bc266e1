//! Tokenizer for PGN: games, their tags, and the tokens of their movetext.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr3};
use shakmaty::Color;

use super::chunks::starts_game;
use super::filter::result;
use super::san::{dash, WrittenMove};

/// The relevant tokens of a game's movetext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    Move(WrittenMove, &'a [u8]),
    /// 1 White won, 0 draw, -1 Black won, None for `*`.
    Outcome(Option<i8>),
}

/// An unclosed comment, which extends to the start of the next game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnclosedComment;

/// Reads games in sequence, each as its tags followed by its tokens.
///
/// As python-chess does, it skips unknown words and the moves of variations, and ends a game at an empty line. A line
/// that starts with a tag ends it as well.
pub struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// Whether the current game has ended.
    ended: bool,
    has_moved: bool,
    /// Nesting depth of variations.
    depth: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        let at = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self { text, at, ended: true, has_moved: false, depth: 0 }
    }

    /// Returns the current byte offset.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Advances to the beginning of the next game; returns whether there is one.
    pub fn next_game(&mut self) -> bool {
        self.skip_game();
        loop {
            match self.peek() {
                None => return false,
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                // Comment and escape lines between games.
                Some(b'%' | b';') => self.skip_line(),
                Some(_) => break,
            }
        }
        (self.ended, self.has_moved, self.depth) = (false, false, 0);
        true
    }

    /// Returns the next tag, name and value, or None at the movetext.
    pub fn tag(&mut self) -> Option<(&'a [u8], Cow<'a, str>)> {
        while !self.ended && self.peek() == Some(b'[') {
            let rest = &self.text[self.at + 1..];
            let tag = memchr3(b'"', b']', b'\n', rest).filter(|&i| rest[i] == b'"').map(|quote| {
                let (value, len) = read_quoted(&rest[quote + 1..]);
                self.at += quote + 2 + len;
                (rest[..quote].trim_ascii(), value)
            });
            if tag.is_none() {
                self.skip_to_line_end();
            }
            self.finish_tag();
            if tag.is_some() {
                return tag;
            }
        }
        None
    }

    /// Returns the next token, or None at the end of the game.
    pub fn token(&mut self) -> Result<Option<Token<'a>>, UnclosedComment> {
        while let Some(byte) = self.peek().filter(|_| !self.ended) {
            match byte {
                b'\n' => self.next_line(),
                b'{' => self.skip_comment()?,
                b';' => self.skip_to_line_end(),
                b'(' => {
                    // A variation is only possible after the first move.
                    self.depth += usize::from(self.has_moved || self.depth > 0);
                    self.at += 1;
                }
                b')' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.at += 1;
                }
                b'$' => {
                    self.at += 1;
                    while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                        self.at += 1;
                    }
                }
                _ => {
                    let (token, len) = read_token(&self.text[self.at..]);
                    self.at += len;
                    if let Some(token) = token.filter(|_| self.depth == 0) {
                        self.has_moved |= matches!(token, Token::Move(..));
                        return Ok(Some(token));
                    }
                }
            }
        }
        self.ended = true;
        Ok(None)
    }

    /// Skips to the end of the game.
    pub fn skip_game(&mut self) {
        while !self.ended {
            match memchr3(b'\n', b'{', b';', &self.text[self.at..]) {
                None => (self.at, self.ended) = (self.text.len(), true),
                Some(len) => {
                    self.at += len;
                    match self.text[self.at] {
                        b'\n' => self.next_line(),
                        b';' => self.skip_to_line_end(),
                        // An unclosed comment has ended the game.
                        _ => self.skip_comment().unwrap_or(()),
                    }
                }
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Skips the rest of a tag and at most one empty line; two of them before another tag end a game without moves.
    fn finish_tag(&mut self) {
        let mut lines = 0;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b']' if lines == 0 => self.at += 1,
                b'\n' => {
                    lines += 1;
                    self.at += 1;
                }
                b'%' if lines > 0 => self.skip_to_line_end(),
                _ => break,
            }
        }
        self.ended = lines > 2 && self.peek() == Some(b'[');
    }

    /// Advances to the next line, and ends the game if that is empty or a tag.
    fn next_line(&mut self) {
        self.at += 1;
        let line = &self.text[self.at..];
        let start = line.iter().position(|byte| !b" \t\r".contains(byte)).unwrap_or(line.len());
        match line.get(start) {
            None | Some(b'\n') => self.ended = true,
            Some(b'[') if start == 0 => self.ended = true,
            Some(b'%') if start == 0 => self.skip_to_line_end(),
            Some(_) => {}
        }
    }

    fn skip_line(&mut self) {
        self.skip_to_line_end();
        self.at = (self.at + 1).min(self.text.len());
    }

    fn skip_to_line_end(&mut self) {
        self.at = memchr(b'\n', &self.text[self.at..]).map_or(self.text.len(), |len| self.at + len);
    }

    /// Skips a comment; an unclosed one ends, with its game, where the next game starts.
    fn skip_comment(&mut self) -> Result<(), UnclosedComment> {
        while let Some(len) = memchr2(b'}', b'[', &self.text[self.at..]) {
            self.at += len;
            if self.text[self.at] == b'}' {
                self.at += 1;
                return Ok(());
            }
            if starts_game(self.text, self.at) {
                self.ended = true;
                return Err(UnclosedComment);
            }
            self.at += 1;
        }
        (self.at, self.ended) = (self.text.len(), true);
        Err(UnclosedComment)
    }
}

/// Returns the text up to a closing quote, or to the end of the line without one, and its length in the source.
fn read_quoted(text: &[u8]) -> (Cow<'_, str>, usize) {
    let mut end = 0;
    loop {
        end += memchr3(b'"', b'\\', b'\n', &text[end..]).unwrap_or(text.len() - end);
        match text[end..] {
            [b'"', ..] => {
                let value = String::from_utf8_lossy(&text[..end]);
                return (if value.contains('\\') { unescape(&value).into() } else { value }, end + 1);
            }
            [b'\\', b'\n', ..] | [b'\\'] => end += 1,
            [b'\\', ..] => end += 2,
            _ => return (String::from_utf8_lossy(text[..end].trim_ascii_end()), end),
        }
    }
}

fn unescape(value: &str) -> String {
    let mut unescaped = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        unescaped.push(if character == '\\' { characters.next().unwrap_or('\\') } else { character });
    }
    unescaped
}

/// Parses the move or result at the beginning of a text, or skips a byte.
fn read_token(text: &[u8]) -> (Option<Token<'_>>, usize) {
    if let Some((written, len)) = WrittenMove::read(text) {
        return (Some(Token::Move(written, &text[..len])), len);
    }
    match read_outcome(text) {
        Some((outcome, len)) => (Some(Token::Outcome(outcome)), len),
        None => (None, 1),
    }
}

fn read_outcome(text: &[u8]) -> Option<(Option<i8>, usize)> {
    if text.first() == Some(&b'*') {
        return Some((None, 1));
    }
    let sides: [(&[u8], &[u8], _); 4] = [
        (b"1", b"0", Some(Color::White)),
        (b"0", b"1", Some(Color::Black)),
        (b"1/2", b"1/2", None),
        ("½".as_bytes(), "½".as_bytes(), None),
    ];
    sides.into_iter().find_map(|(white, black, winner)| {
        let rest = text.strip_prefix(white)?;
        let dash = dash(rest)?;
        rest[dash..].starts_with(black).then_some((Some(result(winner)), white.len() + dash + black.len()))
    })
}
