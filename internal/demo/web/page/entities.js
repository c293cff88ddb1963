// Telegram's entities: the parts of a text with a style or a meaning. An entity can contain others. Offsets and
// lengths are in UTF-16 code units, as in JavaScript.
// https://core.telegram.org/bots/api#messageentity
import { element, link } from "./dom.js";
import { ago } from "./times.js";

/** Returns the nodes that show a text with its entities. */
export function entities(text, all = []) {
	const ordered = [...all].sort((a, b) => a.offset - b.offset || b.length - a.length || isQuote(b) - isQuote(a));
	return nodes(text, ordered, 0, text.length);
}

/** Whether the entity is a quote. A quote contains other entities of the same length. */
const isQuote = (entity) => entity.type === "expandable_blockquote";

/** Returns the nodes of the text from begin to end. An entity in ordered stands before those that it contains. */
function nodes(text, ordered, begin, end) {
	const made = [];
	let position = begin;
	for (const [n, entity] of ordered.entries()) {
		const entityEnd = entity.offset + entity.length;
		if (entity.offset < position || entityEnd > end) continue;
		made.push(text.slice(position, entity.offset));
		made.push(entityNode(entity, nodes(text, ordered.slice(n + 1), entity.offset, entityEnd)));
		// A quote is a block, so the newline after it would make an empty line.
		const skipsNewline = isQuote(entity) && text[entityEnd] === "\n";
		position = skipsNewline ? entityEnd + 1 : entityEnd;
	}
	made.push(text.slice(position, end));
	return made.filter((node) => node !== "");
}

/** The elements of the styles that the bot uses. */
const styleElements = { bold: "strong", italic: "em", code: "code" };

/** Returns the node that shows an entity with this content. */
function entityNode(entity, content) {
	switch (entity.type) {
	case "text_link": {
		// A question of the bot begins with an invisible character, whose link only the bot reads.
		const isInvisible = content.join("") === "\u200b";
		return isInvisible ? content[0] : link(entity.url, ...content);
	}
	case "text_mention":
	case "mention":
		return element("span", { className: "mention" }, ...content);
	case "date_time":
		return ago(entity.unix_time);
	case "expandable_blockquote":
		return foldedQuote(content);
	}
	return element(styleElements[entity.type] ?? "span", {}, ...content);
}

/** Makes a quote that shows its first three lines until the user opens it. */
function foldedQuote(content) {
	const quote = element("blockquote", { className: "folded" }, ...content);
	const properties = { type: "button", className: "unfold", "aria-label": "Show more", "aria-expanded": "false" };
	const more = element("button", properties, "⌄");
	more.addEventListener("click", () => {
		const isOpen = quote.classList.toggle("open");
		more.setAttribute("aria-expanded", String(isOpen));
		more.textContent = isOpen ? "⌃" : "⌄";
	});
	new ResizeObserver(() => {
		const isCut = quote.scrollHeight > quote.clientHeight + 8; // 8 pixels are less than a line.
		more.hidden = !isCut && !quote.classList.contains("open");
	}).observe(quote);
	return element("div", { className: "quote" }, quote, more);
}
