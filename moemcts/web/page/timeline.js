// The timeline of the game: values, phases and experts, with one column per round and one lane per player.
import {shape, SVG} from "./dom.js"

const [LEFT, CURVE, LANE, GAP] = [76, 64, 17, 4]

// Same colours as in report plots; provided by the server.
let colours = ["#888888"]
let inks = ["white"]
export const usePhaseColours = (given, onThem) => { [colours, inks] = [given, onThem] }
export const phaseColour = phase => colours[phase % colours.length]
const phaseInk = phase => inks[phase % inks.length]

export function drawTimeline(element, legend, rounds, shown, show) {
    const seats = rounds[0].seats
    const room = element.clientWidth - LEFT - 8
    const step = Math.max(5, Math.min(26, room / Math.max(rounds.length, 24)))
    const lanes = CURVE + 10
    const height = lanes + seats.length * (LANE + GAP) + 14
    const svg = document.createElementNS(SVG, "svg")
    svg.setAttribute("width", Math.max(LEFT + rounds.length * step + 8, element.clientWidth - 2))
    svg.setAttribute("height", height)
    const end = LEFT + rounds.length * step

    for (const value of [-1, 0, 1]) {
        const y = CURVE / 2 - value * (CURVE / 2 - 4)
        shape("line", {x1: LEFT, x2: Math.max(end, element.clientWidth - 8), y1: y, y2: y, style: "stroke:var(--rule)", "stroke-dasharray": value ? "2 4" : "none"}, svg)
        shape("text", {x: LEFT - 8, y: y + 3.5, "text-anchor": "end"}, svg).textContent = value > 0 ? "+1" : value
    }
    drawCurves(svg, rounds, step)
    seats.forEach((seat, player) => {
        const y = lanes + player * (LANE + GAP)
        shape("text", {x: LEFT - 8, y: y + LANE - 5, "text-anchor": "end"}, svg).textContent = seat.name.slice(0, 12)
    })
    const names = new Map()
    rounds.forEach((round, index) => {
        const x = LEFT + index * step
        for (const move of round.moves) {
            if (!move.gate) continue
            move.gate.names.forEach((name, phase) => names.set(name, phase))
            drawCell(svg, move, x, lanes + move.player * (LANE + GAP), step)
        }
        if (index === shown) shape("rect", {x, y: 0, width: step, height: height - 12, fill: "#1f7a8c22", rx: 3}, svg)
        const hit = shape("rect", {x, y: 0, width: step, height, fill: "transparent", class: "ply"}, svg)
        hit.addEventListener("click", () => show(index))
        shape("title", {}, hit).textContent = playedIn(round)
        if (index % Math.max(1, Math.ceil(40 / step)) === 0 && index)
            shape("text", {x: x + step / 2, y: height - 2, "text-anchor": "middle"}, svg).textContent = round.ply
    })
    const kept = element.scrollLeft, isAtEnd = shown === rounds.length - 1
    element.replaceChildren(svg)
    element.scrollLeft = isAtEnd ? element.scrollWidth : kept
    legend.replaceChildren(...(names.size < 2 ? [] : [...names]).map(([name, phase]) => {
        const entry = document.createElement("span"), box = document.createElement("i")
        box.style.background = phaseColour(phase)
        entry.append(box, name)
        return entry
    }))
}

// Returns the moves of a round as text, for tooltips and screen readers.
export function playedIn(round) {
    const moves = round.moves.map(move => [
        round.seats[move.player]?.name ?? "chance", move.name,
        move.value == null ? "" : `(${move.value > 0 ? "+" : ""}${move.value.toFixed(2)})`, move.phase ?? "",
    ].filter(Boolean).join(" "))
    return [`ply ${round.ply}`, ...moves].join("\n")
}

// Draws the gate weights, stacked, and the index of the expert if there is one.
function drawCell(svg, move, x, y, step) {
    let top = y
    move.gate.weights.forEach((weight, phase) => {
        const height = LANE * weight
        if (height < .2) return
        shape("rect", {x: x + .5, y: top, width: step - 1, height, fill: phaseColour(phase), opacity: move.expert == null ? .45 : 1, rx: 2}, svg)
        top += height
    })
    if (move.expert == null || step < 11 || move.gate.names.length < 2) return
    const label = shape("text", {x: x + step / 2, y: y + LANE - 5, "text-anchor": "middle", style: `fill:${phaseInk(move.expert)};font-weight:700`}, svg)
    label.textContent = move.expert
}

// Draws one curve for the first player in zero-sum games of two, else one for each player.
function drawCurves(svg, rounds, step) {
    const y = value => CURVE / 2 - value * (CURVE / 2 - 4)
    const one = rounds[0].zero_sum
    const curves = one ? [[]] : rounds[0].seats.map(() => [])
    rounds.forEach((round, index) => {
        const x = LEFT + (index + .5) * step
        for (const move of round.moves)
            if (move.value != null) {
                const value = one && move.player === 1 ? -move.value : move.value
                curves[one ? 0 : move.player].push([x, y(value)])
            }
        if (round.over) curves.forEach((curve, player) => curve.push([x, y(round.returns[player])]))
    })
    curves.forEach((points, player) => {
        if (!points.length) return
        const colour = one ? "var(--ink)" : rounds[0].seats[player].colour
        if (one && points.length > 1) {
            const area = [[points[0][0], y(0)], ...points, [points[points.length - 1][0], y(0)]]
            shape("polygon", {points: area.map(point => point.join()).join(" "), style: "fill:var(--ink);opacity:.08"}, svg)
        }
        shape("polyline", {points: points.map(point => point.join()).join(" "), style: `fill:none;stroke:${colour}`, "stroke-width": 1.6}, svg)
        const [cx, cy] = points[points.length - 1]
        shape("circle", {cx, cy, r: 2.6, style: `fill:${colour}`}, svg)
    })
}
