// Panels beside the board: the expected result, seats, the gate, and the search.
import {$, make, signed} from "./dom.js"
import {phaseColour} from "./timeline.js"

// Shows the selected round; `looked` is the player whose view is shown, and `look` selects one.
export function showPanels(rounds, index, looked, look) {
    showBar(rounds, index)
    showSeats(rounds, index, looked, look)
    showGate(rounds[index], looked)
    showThought(rounds[index], looked)
}

// Returns the last value that a player expected, up to a round.
function belief(rounds, player, index) {
    for (let i = index; i >= 0; i--)
        for (const move of rounds[i].moves)
            if (move.player === player && move.value != null) return move.value
    return null
}

function showBar(rounds, index) {
    const round = rounds[index]
    $("bar").hidden = !round.zero_sum
    if (!round.zero_sum) return
    let value = 0
    search: for (let i = index; i >= 0; i--)
        for (const move of rounds[i].moves)
            if (move.value != null) { value = move.player === 0 ? move.value : -move.value; break search }
    if (round.over) value = round.returns[0]
    const below = round.side
    const share = (1 + (below === 0 ? value : -value)) / 2
    $("fill").style.height = `${100 * share}%`
    $("fill").style.background = round.seats[below].colour
    $("bar").style.background = round.seats[1 - below].colour
    $("score").textContent = Math.abs(value).toFixed(2)
    $("score").className = share >= .5 ? "low" : "high"
    $("score").style.color = (share >= .5 ? below : 1 - below) === 0 ? "#26313a" : "#f4f1ea"
    $("bar").title = $("bar").ariaLabel = `expected result for ${round.seats[0].name}: ${signed(value)}`
}

function showSeats(rounds, index, looked, look) {
    const round = rounds[index]
    const moved = round.moves.map(move => move.player)
    $("seats").replaceChildren(...round.seats.map((seat, player) => {
        const value = round.over ? round.returns[player] : belief(rounds, player, index)
        const chip = make("i", {className: "chip"})
        chip.style.background = seat.colour
        const isLooked = looked === player
        const moves = !round.over && round.active.includes(player) && (round.zero_sum || moved.includes(player))
        const choose = async () => {
            await look(isLooked ? null : player)
            $("seats").children[player].focus()
        }
        return make("button", {title: seat.title, onclick: choose, ariaPressed: isLooked, className: "seat" + (isLooked ? " looked" : "") + (moves ? " moves" : "")},
            chip, make("div", {}, make("b", {textContent: seat.name + " "}), make("span", {textContent: seat.agent})),
            make("output", {textContent: value == null ? "" : signed(value), title: "expected result"}))
    }))
}

// Returns the gate output to show: for the selected player or the viewer, else for whoever is to move or has moved.
function gateOf(round, looked) {
    const told = Object.values(round.phases)
    return round.phases[looked ?? round.viewer] ?? told[0] ?? round.moves.find(move => move.gate)?.gate
}

function showGate(round, looked) {
    const gate = gateOf(round, looked)
    // A gate with a single phase decides nothing.
    $("gate").hidden = !gate || gate.names.length < 2
    if ($("gate").hidden) return
    const settings = Object.entries(gate.parameters).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    $("gate-name").textContent = [gate.gate, ...settings].join(", ").slice(0, 80)
    const top = Math.max(...gate.weights)
    $("weights").replaceChildren(...gate.names.map((name, phase) => {
        const fill = make("i")
        fill.style.width = `${100 * gate.weights[phase]}%`
        fill.style.background = phaseColour(phase)
        return make("div", {className: "weight" + (gate.weights[phase] === top ? " top" : "")},
            make("span", {textContent: name}), make("div", {className: "track"}, fill),
            make("em", {textContent: gate.weights[phase].toFixed(2)}))
    }))
    $("features").replaceChildren(...Object.entries(gate.features).map(([name, value]) =>
        make("div", {}, make("dt", {textContent: name}), make("dd", {textContent: value}))))
}

function showThought(round, looked) {
    const thoughtful = round.moves.filter(move => move.actions?.length)
    const move = thoughtful.find(one => one.player === (looked ?? round.viewer)) ?? thoughtful[0]
    $("thought").hidden = !move
    if (!move) return
    const seat = round.seats[move.player]
    $("who").textContent = `before ${move.name}, by ${seat.name}`
    const expert = move.expert == null || move.gate?.names.length < 2 ? "" : `expert ${move.expert}${move.phase ? ` (${move.phase})` : ""} answered · `
    const simulations = move.simulations ? [`${move.simulations} simulations`, move.nodes && `${move.nodes} nodes`, move.depth && `depth ${move.depth}`]
        .filter(Boolean).join(" · ") : "no search"
    $("numbers").textContent = expert + simulations
    const searched = move.actions[0].visits != null
    const head = make("tr", {}, ...["action", "", searched ? "visits" : "share", ...(searched ? ["value", "prior"] : [])]
        .map(text => make("th", {textContent: text})))
    $("actions").replaceChildren(head, ...move.actions.slice(0, 7).map(one => {
        const fill = make("i")
        fill.style.width = `${100 * one.share}%`
        return make("tr", {className: one.action === move.action ? "chosen" : ""},
            make("td", {textContent: one.name}),
            make("td", {className: "share"}, make("div", {className: "track"}, fill)),
            make("td", {textContent: searched ? one.visits : one.share.toFixed(2)}),
            ...(searched ? [
                make("td", {textContent: one.value == null ? "" : signed(one.value) + (one.proven ? "!" : "")}),
                make("td", {textContent: one.prior.toFixed(2)}),
            ] : []))
    }))
    $("line").replaceChildren(...(move.line.length ? [make("b", {textContent: move.line[0]}), " " + move.line.slice(1).join(" ")] : []))
}
