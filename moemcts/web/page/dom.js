// Helpers for DOM and SVG elements, and number formatting.
export const SVG = "http://www.w3.org/2000/svg"

export const $ = id => document.getElementById(id)

export const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties)
    element.append(...children)
    return element
}
export const signed = value => {
    const digits = Math.abs(value).toFixed(2)
    return digits === "0.00" ? digits : (value > 0 ? "+" : "−") + digits
}

export function shape(name, attributes, parent) {
    const element = document.createElementNS(SVG, name)
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
    parent.append(element)
    return element
}
