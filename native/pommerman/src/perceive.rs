//! The state as known to a player, from which a search without hidden information starts.

use crate::geometry::{bit, has, iter};
use crate::state::{Agent, State};

impl State {
    /// Returns a state that `player` cannot distinguish from this one, without hidden information.
    ///
    /// Always: there are no items under wood or flames, so that a search finds none there. Blast strength, ammo and
    /// kick of the others stay: on a fully visible board they can be inferred by counting pick-ups and bombs. In fog,
    /// as an approximation: cells out of sight become passages without items, flames or others' bombs; living players
    /// out of sight are placed in the fog as far away as possible; the others have the attributes that players start
    /// with. The player's own bombs stay even out of its sight.
    pub fn perceived(&self, player: usize) -> Self {
        let mut perceived = self.clone();
        perceived.hidden = [0; 3];
        if self.rules.view == 0 {
            return perceived;
        }
        let geometry = self.geometry();
        let own = self.agents[player];
        let visible = geometry.window(own.cell, self.rules.view);
        perceived.rigid &= visible;
        perceived.wood &= visible;
        perceived.items = perceived.items.map(|cells| cells & visible);
        perceived.flames = perceived.flames.map(|cells| cells & visible);
        perceived.retain_bombs(|bomb| has(visible, bomb.cell) || bomb.owner as usize == player);
        let mut occupied = 0;
        for other in 0..perceived.num_players() {
            if other == player {
                continue;
            }
            let agent = &mut perceived.agents[other];
            let fresh = Agent { ammo: 1, blast: 2, can_kick: false, ..*agent };
            *agent = match (agent.alive, has(visible, agent.cell)) {
                (false, _) => Agent { cell: 0, ..fresh },
                (true, true) => fresh,
                (true, false) => {
                    let hidden = iter(geometry.full & !visible & !occupied);
                    let cell = hidden.max_by_key(|&cell| geometry.distance(cell, own.cell)).unwrap_or(agent.cell);
                    occupied |= bit(cell);
                    Agent { cell, ..fresh }
                }
            };
        }
        perceived
    }
}
