// The chess family's board: draws a FEN with cm-chessboard and turns what is dragged into actions.
import {Chessboard, COLOR, INPUT_EVENT_TYPE} from "./cm-chessboard/src/Chessboard.js"

const here = new URL(".", import.meta.url).pathname

export function mount(element, play) {
    const sheet = document.createElement("link")
    sheet.rel = "stylesheet"
    sheet.href = here + "cm-chessboard/assets/chessboard.css"
    document.head.append(sheet)
    const square = document.createElement("div")
    square.className = "chess-board"
    element.append(square)
    const board = new Chessboard(square, {
        assetsUrl: here + "cm-chessboard/assets/",
        style: {cssClass: "default", showCoordinates: true, pieces: {file: "pieces/standard.svg"}, animationDuration: 220},
    })
    let moves = []

    function chosen(event) {
        if (event.type === INPUT_EVENT_TYPE.moveInputStarted)
            return moves.some(move => move.from === event.squareFrom)
        if (event.type === INPUT_EVENT_TYPE.validateMoveInput) {
            const found = moves.filter(move => move.from === event.squareFrom && move.to === event.squareTo)
            if (found.length) play(found.map(move => move.action))
            return found.length > 0
        }
        return undefined
    }

    return {
        // What a promotion is called where several are made with the same squares.
        label: name => ({q: "♛ queen", r: "♜ rook", b: "♝ bishop", n: "♞ knight", k: "♚ king"})[name[4]] ?? (name.length === 4 ? "no promotion" : name),
        // Whether a move is made on the board itself.
        takes: action => moves.some(move => move.action === action),
        show(data, actions) {
            moves = actions.filter(one => data.moves[one.action])
                .map(one => ({action: one.action, from: data.moves[one.action][0], to: data.moves[one.action][1]}))
            board.disableMoveInput()
            const orientation = data.flipped ? COLOR.black : COLOR.white
            if (board.getOrientation() !== orientation) board.setOrientation(orientation)
            board.setPosition(data.placement, true)
            if (moves.length) board.enableMoveInput(chosen)
        },
    }
}
