// The page of a game: requests one round after the other from the server, displays them, and lets a person choose.
import {$, make} from "./dom.js"
import {drawOverlay} from "./overlay.js"
import {showPanels} from "./panels.js"
import {drawTimeline, playedIn, usePhaseColours} from "./timeline.js"

const state = {rounds: [], shown: 0, playing: true, busy: false, board: null, page: null, looked: null, wait: 450, isLost: false, leaving: null}
window.moemcts = state

const last = () => state.rounds[state.rounds.length - 1]
const sits = round => round.seats.some(seat => seat.agent === "you")

// Returns the server's response; errors have the HTTP status, or 0 if there is no response.
async function ask(path, body, signal) {
    let answer
    try {
        answer = await fetch(path, body && {
            method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body), signal,
        })
    } catch (error) {
        if (signal?.aborted) throw error
        throw Object.assign(new Error("No answer: the program has ended. Start `moemcts play --web` again: this game goes on by itself."), {status: 0})
    }
    const told = await answer.json().catch(error => {
        if (signal?.aborted) throw error
        return {error: `The program failed, and said nothing that could be read (${answer.status}).`}
    })
    if (!answer.ok) throw Object.assign(new Error(told.error), {status: answer.status})
    return told
}

function notice(text, bad = false) {
    $("notice").hidden = !text
    $("notice").textContent = text
    $("notice").className = bad ? "bad" : ""
}

async function attempt(work) {
    if (state.busy) return
    state.busy = true
    try {
        await work()
        if (!last()?.over) notice("")
    } catch (error) {
        if (error.name === "AbortError") notice("")
        else await complain(error)
    }
    state.busy = false
    await show(state.shown)
}

async function complain(error) {
    notice(error.message, true)
    if (error.status === 0 || (error.status === 404 && last())) lost()
    else if (!last()?.asked) state.playing = false
    // Another page may have changed this game.
    if (error.status === 409 && last()) await reload(`/api/tables/${last().id}/rounds`).catch(() => null)
}

// The server has ended, or was restarted and does not know this game: polls until it responds, then restores the game.
function lost() {
    clearTimeout(state.search)
    state.isLost = true
    const look = async () => {
        const now = last()
        try {
            if (!now) {
                await ask("/api/games")
                return location.reload()
            }
            const known = await ask(`/api/tables/${now.id}`).catch(error => { if (error.status !== 404) throw error })
            // A new game may have been started since.
            if (last() !== now) return
            if (!known) {
                const moves = state.rounds.slice(1).map(round => round.moves.map(move => move.action))
                const laid = await ask("/api/tables", {...now.made, moves})
                history.replaceState(null, "", "#" + laid.id)
                for (const round of state.rounds) Object.assign(round, {id: laid.id, revision: laid.revision})
                if (now.resigned) put(await ask(`/api/tables/${laid.id}/resign`, seen(laid)))
            }
            state.isLost = false
            notice("Connected again: the game goes on.")
            await show(state.rounds.length - 1)
            follow()
        } catch (error) {
            if (error.status) return notice(`The game cannot go on: ${error.message}`, true)
            state.search = setTimeout(look, 1000)
        }
    }
    state.search = setTimeout(look, 300)
}

// The version that this page has seen: another page may have taken back moves and played others.
const seen = round => ({step: round.step, revision: round.revision})

// Plays a round: the person's if there is an action, else the agents'.
async function advance(action) {
    const leaving = new AbortController()
    await attempt(async () => {
        const now = last()
        thinks(now)
        state.leaving = leaving
        try {
            add(await ask(`/api/tables/${now.id}/advance`, {...seen(now), action: action ?? null}, leaving.signal))
        } finally {
            state.leaving = null
        }
    })
    if (!leaving.signal.aborted) follow()
}

// Aborts the round in progress, which the server then stops; returns the round that it was to follow.
async function interrupt() {
    const from = state.leaving && last()
    state.leaving?.abort()
    clearTimeout(state.timer)
    while (state.busy) await new Promise(done => setTimeout(done, 30))
    // The round may have been completed just before.
    if (from) await reload(`/api/tables/${from.id}/rounds`).catch(() => null)
    return from
}

function add(round) {
    put(round)
    state.shown = state.rounds.length - 1
    if (round.over) notice(result(round))
}

// Replaces all rounds from this one on.
const put = round => { state.rounds = [...state.rounds.filter(one => one.step < round.step), round] }

// Loads all rounds again, after the board was flipped or the page was reloaded.
async function reload(path, body) {
    const shown = state.shown
    const told = await ask(path, body)
    state.rounds = told.rounds
    state.shown = body ? Math.min(shown, told.rounds.length - 1) : told.rounds.length - 1
}

// Displays who is thinking, and for how long.
function thinks(round) {
    const began = Date.now()
    const others = round.active.filter(player => round.asked ? player !== round.viewer : true)
    const movers = (others.length ? others : round.seats.map((_, player) => player).filter(player => player !== round.viewer))
    const who = movers.length === 1 ? `${round.seats[movers[0]].name} thinks` : "thinking"
    const tell = () => {
        const seconds = Math.floor((Date.now() - began) / 1000)
        if (state.busy) $("turn").textContent = `${who} …${seconds ? ` ${seconds} s` : ""}`
        else clearInterval(state.clock)
    }
    clearInterval(state.clock)
    document.body.classList.add("thinks")
    state.clock = setInterval(tell, 200)
}

// Returns the status line.
function turnOf(round, isLast) {
    if (!isLast) return "an earlier position"
    if (round.over) return round.resigned ? "resigned" : "over"
    if (round.asked) return "your move"
    const names = round.active.map(player => round.seats[player].name)
    return !names.length ? "chance" : names.length === 1 ? `${names[0]} to move` : "all move"
}

function follow() {
    clearTimeout(state.timer)
    const goesOn = () => last() && !last().over && !last().asked && state.playing && !state.isLost
    if (goesOn()) state.timer = setTimeout(() => goesOn() && advance(), state.wait)
}

function result(round) {
    if (round.resigned) return `You resigned: ${round.seats[1 - round.viewer].name} won.`
    if (round.seats.length === 1) return `The end: a return of ${round.scores[0]}.`
    const best = Math.max(...round.returns)
    const winners = round.seats.filter((_, player) => round.returns[player] === best).map(seat => seat.name)
    return best > Math.min(...round.returns) ? `${winners.join(" and ")} won.` : "A draw."
}

async function start(asked) {
    await interrupt()
    notice("The game is being set up …")
    await attempt(async () => {
        const round = await ask("/api/tables", asked)
        state.rounds = []
        state.playing = true
        state.isLost = false
        clearTimeout(state.search)
        state.looked = null
        $("buttons").replaceChildren()
        history.replaceState(null, "", "#" + round.id)
        add(round)
    })
    follow()
}

async function back() {
    const from = await interrupt(), now = last()
    // With simultaneous moves, only the choice that has not been played yet is taken back.
    if (!from?.asked || from.step !== now.step) await attempt(async () => {
        const round = await ask(`/api/tables/${now.id}/back`, seen(now))
        state.playing = sits(round)
        add(round)
    })
    follow()
}

async function resign() {
    await interrupt()
    await attempt(async () => {
        const now = last()
        add(await ask(`/api/tables/${now.id}/resign`, seen(now)))
    })
    follow()
}

// Flips the board, also while agents are thinking.
async function flip() {
    await reload(`/api/tables/${last().id}/turn`, {}).catch(complain)
    await show(state.shown)
}

// Display of the selected round.

async function show(index) {
    const round = state.rounds[index]
    if (!round) return
    state.shown = index
    const isLast = index === state.rounds.length - 1
    const open = isLast && round.asked && !state.busy ? round.actions : []
    $("title").textContent = `${round.game} · ply ${round.ply}`
    document.title = `${isLast && round.asked ? "● " : ""}${round.game} – moemcts`
    if (!state.busy) {
        $("turn").textContent = turnOf(round, isLast)
        document.body.classList.remove("thinks")
    }
    document.body.classList.toggle("yours", open.length > 0)
    await mount(round.page)
    // Another round may have been selected while the board's script was loading.
    if (state.rounds[state.shown] !== round) return show(state.shown)
    showBoard(round, open)
    drawOverlay($("overlay"), round, open, state.board, choose)
    showPanels(state.rounds, index, state.looked, look)
    showTimeline()
    const isPlayed = sits(round)
    showButtons(open, isPlayed && isLast && !round.over)
    $("pause").textContent = state.playing ? "pause" : "go on"
    $("pause").hidden = isPlayed && state.playing
    $("step").hidden = isPlayed
    $("pause").disabled = $("step").disabled = last().over
    $("back").disabled = !(last().step > 0)
    $("resign").hidden = !isPlayed || !round.zero_sum
    $("resign").disabled = last().over
    $("flip").hidden = !round.turns
    // If actions have keys, a text field would capture them. It stays while agents think, to keep what has been typed.
    $("typing").hidden = !isPlayed || !isLast || round.over || state.rounds.some(one => one.actions.some(action => action.key))
    $("names").replaceChildren(...open.map(one => make("option", {value: one.name})))
    document.body.dataset.step = round.step
    document.body.dataset.over = round.over
}

async function look(player) {
    state.looked = player
    await show(state.shown)
}

const showTimeline = () => drawTimeline($("lanes"), $("legend"), state.rounds, state.shown, show)

// Loads the game's own script for its board, if it has one.
async function mount(page) {
    if (state.page === page) return
    $("own").replaceChildren()
    state.page = page
    state.board = null
    if (!page) return
    try {
        const module = await import(`/board/${page}/board.js`)
        if (state.page === page) state.board = module.mount($("own"), choose)
    } catch (error) {
        state.page = null
        notice(`The board cannot be drawn: ${error.message}`, true)
    }
}

function showBoard(round, open) {
    const {width, height, svg, data} = round.drawing
    $("board").style.aspectRatio = width ? `${width} / ${height}` : ""
    $("board").style.setProperty("--ratio", width ? width / height : 1)
    for (const id of ["drawing", "overlay"]) $(id).setAttribute("viewBox", `0 0 ${width || 1} ${height || 1}`)
    $("drawing").innerHTML = svg
    // If there is a drawn board, the text is for screen readers.
    $("text").textContent = round.text
    $("text").className = width || round.page ? "heard" : ""
    $("played").textContent = round.moves.length ? playedIn(round) : ""
    $("own").hidden = !round.page
    state.board?.show(data, open, round.viewer)
}

// Lets the person choose among several actions with the same clicks.
function choose(actions) {
    if (actions.length === 1) return advance(actions[0])
    const named = last().actions.filter(one => actions.includes(one.action))
    $("choices").replaceChildren(...named.map(one => make("button", {
        textContent: state.board?.label?.(one.name) ?? one.name, title: one.name,
        onclick: () => { $("chooser").close("taken"); advance(one.action) },
    })))
    $("chooser").returnValue = ""
    $("chooser").showModal()
}

function showButtons(open, isPlaying) {
    // Buttons stay while agents think, to avoid layout shifts.
    if (isPlaying && !open.length) return $("buttons").querySelectorAll("button").forEach(one => { one.disabled = true })
    const buttons = open.filter(one => !one.spots.length && !state.board?.takes(one.action))
    const key = name => ({ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", " ": "space"})[name] ?? name
    $("buttons").replaceChildren(...buttons.map(one => make("button", {onclick: () => advance(one.action)},
        one.name, ...(one.key ? [make("kbd", {textContent: key(one.key)})] : []))))
}

// Dialog for a new game.

async function offer(game, seat = 0, agents = null) {
    $("play").disabled = true
    const offers = await ask(`/api/games/${encodeURIComponent(game)}`)
    const first = agents ?? offers.seats.map((_, player) => player === seat ? "you" : offers.default)
    // Another game may have been selected since.
    if ($("game").value !== game) return first
    const select = (chosen, player) => make("select", {id: `seat-${player}`}, ...["you", ...offers.agents].map(name =>
        make("option", {textContent: name, value: name, selected: name === chosen})))
    $("places").replaceChildren(...first.map((chosen, player) =>
        make("label", {}, offers.seats[player] + " ", select(chosen, player))))
    $("swap").textContent = first.length === 2 ? "swap sides" : "change places"
    $("swap").hidden = first.length < 2
    $("play").disabled = false
    return first
}

// Everybody moves one seat further.
$("swap").onclick = () => {
    const places = [...$("places").querySelectorAll("select")], chosen = places.map(select => select.value)
    places.forEach((select, player) => { select.value = chosen[(player + chosen.length - 1) % chosen.length] })
}

$("form").addEventListener("submit", event => {
    if (event.submitter?.value !== "ok") return
    const asked = {
        game: $("game").value,
        agents: [...$("places").querySelectorAll("select")].map(select => select.value),
        seed: Number($("seed").value) || 0,
    }
    if ($("simulations").value) asked.simulations = Number($("simulations").value)
    start(asked)
})
$("game").addEventListener("change", () => offer($("game").value).catch(error => notice(error.message, true)))
$("open").onclick = () => $("new").showModal()
$("cancel").onclick = () => $("new").close()
$("back").onclick = back
$("resign").onclick = resign
$("flip").onclick = flip
$("typing").addEventListener("submit", event => {
    event.preventDefault()
    const text = $("typed").value.trim()
    if (!text || state.busy || !last().asked) return
    $("typed").value = ""
    advance(text)
})
// If the dialog was cancelled, the piece is drawn where it was.
$("chooser").addEventListener("close", () => $("chooser").returnValue === "taken" || show(state.shown))
$("pause").onclick = () => { state.playing = !state.playing; show(state.shown); follow() }
$("step").onclick = () => { state.playing = false; advance() }
document.addEventListener("keydown", event => {
    // The key that leads to the text field is no part of a move.
    if (event.key === "/" && event.target === $("typed") && !event.target.value) return event.preventDefault()
    if (event.target.matches?.("input, select")) return event.key === "Escape" && event.target.blur()
    if ((event.key === " " || event.key === "Enter") && event.target.matches?.("button, a")) return
    if (document.querySelector("dialog[open]") || event.ctrlKey || event.metaKey || event.altKey) return
    const round = last()
    if (!round) return
    const action = round.asked && state.shown === state.rounds.length - 1 && round.actions.find(one => one.key === event.key)
    const click = id => $(id).disabled || $(id).hidden || $(id).click()
    if (action) advance(action.action)
    else if (event.key === "ArrowLeft") show(Math.max(0, state.shown - 1))
    else if (event.key === "ArrowRight") show(Math.min(state.rounds.length - 1, state.shown + 1))
    else if (event.key === "Home") show(0)
    else if (event.key === "End") show(state.rounds.length - 1)
    else if (event.key === "/" && !$("typing").hidden) $("typed").focus()
    else if (event.key === "f") click("flip")
    else if (event.key === "u") click("back")
    else if (event.key === "p") click("pause")
    else if (event.key === "n") click("step")
    else if (event.key === "g") click("open")
    else return
    event.preventDefault()
})

// A clicked button loses focus, so that it does not capture the keys of actions.
document.addEventListener("click", event => event.detail && event.target.closest?.("button")?.blur())
window.addEventListener("resize", () => state.rounds.length && showTimeline())
// The hash names another game.
window.addEventListener("hashchange", () => location.reload())

async function begin() {
    try {
        const told = await ask("/api/games")
        usePhaseColours(told.phase_colours, told.phase_inks)
        $("game").replaceChildren(...told.games.map(game =>
            make("option", {value: game.name, textContent: game.name, title: game.summary, selected: game.name === told.game})))
        const agents = await offer(told.game, told.seat)
        $("seed").value = told.seed
        const levels = $("simulations"), level = told.simulations ?? ""
        if (![...levels.options].some(one => one.value === String(level)))
            levels.append(make("option", {value: level, textContent: `${level} simulations`}))
        levels.value = level
        const known = location.hash.slice(1)
        const round = known && await ask(`/api/tables/${encodeURIComponent(known)}`).catch(() => null)
        if (round) {
            if (told.games.some(game => game.name === round.game)) {
                $("game").value = round.game
                await offer(round.game, told.seat, round.made.agents)
            }
            await reload(`/api/tables/${round.id}/rounds`)
            if (round.over) notice(result(round))
            await show(state.shown)
            follow()
        } else await start({game: told.game, agents, seed: told.seed, ...(told.simulations ? {simulations: told.simulations} : {})})
    } catch (error) {
        await complain(error)
    }
}

begin()
