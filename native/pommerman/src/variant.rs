//! The environments of the reference.

/// The teams of a game, and the reference's rewards for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum GameType {
    /// Free-for-all.
    Ffa = 1,
    /// Players 0 and 2 against 1 and 3.
    Team = 2,
    /// Like `Team`, with two words per step sent between teammates.
    TeamRadio = 3,
    /// Two players on a small board.
    OneVsOne = 4,
}

impl GameType {
    /// Returns the type of this number in the reference's `GameType`.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Ffa),
            2 => Some(Self::Team),
            3 => Some(Self::TeamRadio),
            4 => Some(Self::OneVsOne),
            _ => None,
        }
    }

    pub const fn num_players(self) -> usize {
        match self {
            Self::OneVsOne => 2,
            _ => 4,
        }
    }

    pub const fn has_teams(self) -> bool {
        matches!(self, Self::Team | Self::TeamRadio)
    }
}

/// The parameters of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    pub game_type: GameType,
    /// Side length of the board, 8 or 11; the reference defines no number of walls for others.
    pub board_size: u8,
    /// How many rows and columns away a player sees; 0 means everything.
    pub view: u8,
    /// Blast strength at which IncrRange has no further effect: 10, and 4 in the reference's fog (`max_blast_strength =
    /// agent_view_size or 10`).
    pub blast_cap: u8,
    /// The step at which the outermost ring turns into walls; 0 for never.
    pub first_collapse: u16,
    /// The step after which the game is over.
    pub max_steps: u16,
    /// Whether the survivors of the last step have lost, as in the reference's rewards; otherwise they have tied.
    pub timeout_is_loss: bool,
}

impl Rules {
    pub const fn num_players(&self) -> usize {
        self.game_type.num_players()
    }

    /// Returns the ring that collapses at the end of the step with this count.
    ///
    /// The reference's `range(first, max, int((max - first) / 4))`.
    #[inline]
    pub fn ring_at(&self, step: u16) -> Option<u8> {
        if self.first_collapse == 0 || step < self.first_collapse || step >= self.max_steps {
            return None;
        }
        let interval = (self.max_steps - self.first_collapse) / 4;
        let since = step - self.first_collapse;
        since.is_multiple_of(interval).then_some((since / interval) as u8)
    }

    /// Returns the item values (10 + id) of the enemies of `player`, and their number.
    pub const fn enemies(&self, player: usize) -> ([u8; 3], usize) {
        let mut enemies = [0; 3];
        let mut count = 0;
        let mut other = 0;
        while other < self.num_players() {
            if other != player && !(self.game_type.has_teams() && other % 2 == player % 2) {
                enemies[count] = crate::item::AGENT0 + other as u8;
                count += 1;
            }
            other += 1;
        }
        (enemies, count)
    }

    /// Returns the player's teammate.
    pub const fn teammate(&self, player: usize) -> Option<usize> {
        if self.game_type.has_teams() {
            Some((player + 2) % 4)
        } else {
            None
        }
    }

    /// Checks that a game can be played with these parameters; the error describes what was expected.
    pub fn check(&self) -> Result<(), String> {
        if self.board_size != 8 && self.board_size != 11 {
            return Err(format!("expected a board_size of 8 or 11, got {}", self.board_size));
        }
        if !(2..=10).contains(&self.blast_cap) {
            return Err(format!("expected a blast_cap between 2 and 10, got {}", self.blast_cap));
        }
        if self.view > 10 {
            return Err(format!("expected a view of at most 10 cells (0 sees everything), got {}", self.view));
        }
        if !(1..=9999).contains(&self.max_steps) {
            return Err(format!("expected max_steps between 1 and 9999, got {}", self.max_steps));
        }
        if self.first_collapse != 0 && self.max_steps.saturating_sub(self.first_collapse) < 4 {
            let (first, max) = (self.first_collapse, self.max_steps);
            return Err(format!("expected first_collapse at least 4 steps before max_steps = {max}, got {first}"));
        }
        if self.timeout_is_loss && self.game_type.has_teams() {
            return Err("expected a tie at the limit of steps where teams play: what one wins the other loses".into());
        }
        Ok(())
    }
}

/// An environment of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The id used by the reference.
    pub id: &'static str,
    pub rules: Rules,
}

const fn rules(game_type: GameType, fog: bool, collapse: bool) -> Rules {
    Rules {
        game_type,
        board_size: if matches!(game_type, GameType::OneVsOne) { 8 } else { 11 },
        view: if fog { 4 } else { 0 },
        blast_cap: if fog { 4 } else { 10 },
        first_collapse: if collapse { 500 } else { 0 },
        max_steps: 800,
        timeout_is_loss: false,
    }
}

const fn variant(id: &'static str, game_type: GameType, fog: bool, collapse: bool) -> Variant {
    Variant { id, rules: rules(game_type, fog, collapse) }
}

/// All ids registered by the reference; the "Fast" ones differ only in the reference's rendering.
pub const VARIANTS: [Variant; 12] = [
    variant("PommeFFACompetition-v0", GameType::Ffa, false, false),
    variant("PommeFFACompetitionFast-v0", GameType::Ffa, false, false),
    variant("PommeFFAFast-v0", GameType::Ffa, false, false),
    variant("PommeFFA-v1", GameType::Ffa, false, true),
    variant("PommeTeam-v0", GameType::Team, false, false),
    variant("PommeTeamFast-v0", GameType::Team, false, false),
    variant("PommeTeamCompetition-v0", GameType::Team, true, false),
    variant("PommeTeamCompetitionFast-v0", GameType::Team, true, false),
    variant("PommeTeamCompetition-v1", GameType::Team, true, true),
    variant("PommeRadio-v2", GameType::TeamRadio, true, false),
    variant("PommeRadioCompetition-v2", GameType::TeamRadio, true, false),
    variant("OneVsOne-v0", GameType::OneVsOne, false, false),
];

/// Returns the environment with this id.
pub fn find(id: &str) -> Option<&'static Variant> {
    VARIANTS.iter().find(|variant| variant.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_collapse_when_the_reference_says() {
        let rules = find("PommeFFA-v1").unwrap().rules;
        let steps: Vec<_> = (0..=800).filter_map(|step| rules.ring_at(step).map(|ring| (step, ring))).collect();
        assert_eq!(steps, [(500, 0), (575, 1), (650, 2), (725, 3)]);
        assert!((0..=800).all(|step| find("PommeFFAFast-v0").unwrap().rules.ring_at(step).is_none()));
    }

    #[test]
    fn the_rules_of_all_ids_are_playable() {
        assert!(VARIANTS.iter().all(|variant| variant.rules.check().is_ok()));
        assert_eq!(find("PommeTeam-v0").unwrap().rules.enemies(1), ([10, 12, 0], 2));
        assert_eq!(find("OneVsOne-v0").unwrap().rules.enemies(1), ([10, 0, 0], 1));
    }
}
