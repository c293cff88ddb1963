// Telegram's entities: ranges of a text, in UTF-16 units, that lie within each
// other or apart. https://core.telegram.org/bots/api#messageentity
import { element, link } from "./dom.js";
import { ago } from "./times.js";

// As many as Herald's renderer writes.
const elements = { bold: "strong", italic: "em", code: "code" };

/** The nodes of a text with its entities. */
export function entities(text, all = []) {
	const quotes = (e) => Number(e.type === "expandable_blockquote"); // which hold others of their length
	const ordered = [...all].sort((a, b) => a.offset - b.offset || b.length - a.length || quotes(b) - quotes(a));
	return nodes(text, ordered, 0, text.length);
}

function nodes(text, all, from, to) {
	const made = [];
	let at = from;
	for (const [n, e] of all.entries()) {
		const end = e.offset + e.length;
		if (e.offset < at || end > to) continue;
		made.push(text.slice(at, e.offset), shown(e, nodes(text, all.slice(n + 1), e.offset, end)));
		// A quote ends its line by itself.
		at = e.type === "expandable_blockquote" && text[end] === "\n" ? end + 1 : end;
	}
	made.push(text.slice(at, to));
	return made.filter((part) => part !== "");
}

function shown(entity, children) {
	switch (entity.type) {
	case "text_link":
		// Herald hides a link below a character that is not seen.
		return children.join("") === "\u200b" ? children[0] : link(entity.url, ...children);
	case "text_mention":
	case "mention":
		return element("span", { className: "mention" }, ...children);
	case "date_time":
		return ago(entity.unix_time);
	case "expandable_blockquote":
		return folded(children);
	}
	return element(elements[entity.type] ?? "span", {}, ...children);
}

/** A quote that shows its first three lines until it is opened. */
function folded(children) {
	const quote = element("blockquote", { className: "folded" }, ...children);
	const more = element("button", { type: "button", className: "unfold", "aria-label": "Show more", "aria-expanded": "false" }, "⌄");
	more.addEventListener("click", () => {
		const open = quote.classList.toggle("open");
		more.setAttribute("aria-expanded", String(open));
		more.textContent = open ? "⌃" : "⌄";
	});
	new ResizeObserver(() => {
		more.hidden = !quote.classList.contains("open") && quote.scrollHeight <= quote.clientHeight + 8; // less than a line
	}).observe(quote);
	return element("div", { className: "quote" }, quote, more);
}
