// The overlay of the board: the last move, visits of the search, and clickable areas.
import {shape} from "./dom.js"

const rectangle = ([x, y, width, height], more, parent) => shape("rect", {x, y, width, height, rx: .08, ...more}, parent)
const middle = ([x, y, width, height]) => [x + width / 2, y + height / 2]

export function drawOverlay(overlay, round, open, board, choose) {
    overlay.replaceChildren()
    const moves = round.moves.filter(move => move.spots?.length)
    for (const move of moves) for (const spot of move.spots) {
        const marked = move.spots.length > 1 ? {fill: "#f2c14e55"} : {fill: "none", stroke: "#f2a900", "stroke-width": .06}
        rectangle(spot, marked, overlay)
    }
    for (const move of moves) drawVisits(overlay, move)
    drawChoices(overlay, open.filter(one => one.spots.length && !board?.takes(one.action)), choose)
}

function drawVisits(overlay, move) {
    const shown = (move.actions ?? []).filter(one => one.spots?.length && one.share >= .04).slice(0, 5)
    for (const one of shown.reverse()) {
        const chosen = one.action === move.action
        const colour = chosen ? "#1f7a8c" : "#5a6770"
        const opacity = chosen ? .85 : .3 + .4 * one.share
        const [x, y] = middle(one.spots[one.spots.length - 1])
        if (one.spots.length > 1) arrow(overlay, middle(one.spots[0]), [x, y], .05 + .12 * one.share, colour, opacity)
        // A ring, to leave the piece that was placed there visible.
        else if (chosen) shape("circle", {cx: x, cy: y, r: .36 + .06 * one.share, fill: "none", stroke: colour, "stroke-width": .05}, overlay)
        else shape("circle", {cx: x, cy: y, r: .12 + .14 * one.share, fill: colour, opacity}, overlay)
        if (one.visits == null) continue
        const label = shape("text", {x: x + .26, y: y - .3}, overlay)
        label.textContent = one.visits
        const width = .13 * String(one.visits).length + .12
        label.before(shape("rect", {x: x + .26 - width / 2, y: y - .42, width, height: .24, rx: .08, fill: colour, opacity: .92}, overlay))
    }
}

function arrow(overlay, [x0, y0], [x1, y1], width, stroke, opacity) {
    const length = Math.hypot(x1 - x0, y1 - y0) || 1
    const [dx, dy] = [(x1 - x0) / length, (y1 - y0) / length]
    const head = Math.min(.34, .2 + width)
    const [bx, by] = [x1 - dx * head, y1 - dy * head]
    const group = shape("g", {opacity}, overlay)
    shape("line", {x1: x0 + dx * .15, y1: y0 + dy * .15, x2: bx, y2: by, stroke, "stroke-width": width}, group)
    const side = head * .55
    shape("polygon", {points: `${x1},${y1} ${bx - dy * side},${by + dx * side} ${bx + dy * side},${by - dx * side}`, fill: stroke}, group)
}

// An action with one spot is made by a click; with two, by a click on the first and then on the second.
function drawChoices(overlay, choices, choose) {
    const layer = shape("g", {}, overlay)
    const groups = (list, place) => {
        const found = new Map()
        for (const one of list) {
            const key = JSON.stringify(one.spots[place])
            found.set(key, [...(found.get(key) ?? []), one])
        }
        return found
    }
    const reset = picked => {
        layer.replaceChildren()
        for (const [key, list] of groups(choices, 0)) {
            const spot = rectangle(JSON.parse(key), {class: "spot" + (key === picked ? " picked" : "")}, layer)
            spot.dataset.actions = list.map(one => one.action).join(" ")
            spot.dataset.name = list[0].name
            const single = list.filter(one => one.spots.length === 1)
            spot.addEventListener("click", () => {
                if (single.length) choose(single.map(one => one.action))
                else reset(key === picked ? null : key)
            })
        }
        if (!picked) return
        const begun = choices.filter(one => one.spots.length > 1 && JSON.stringify(one.spots[0]) === picked)
        for (const [key, list] of groups(begun, 1)) {
            const [cx, cy] = middle(JSON.parse(key))
            const target = shape("circle", {cx, cy, r: .2, class: "target"}, layer)
            target.addEventListener("click", () => choose(list.map(one => one.action)))
        }
    }
    reset(null)
}
