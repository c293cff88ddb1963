// Messages, as Telegram's app shows them.
// https://core.telegram.org/bots/api#message
import { element, picture, simulated, webAddress } from "./dom.js";
import { entities } from "./entities.js";
import { clock } from "./times.js";

/**
 * Makes the element of an event's message. actions has what the page does for it: press, open, copy, reply, find,
 * nameOf and opensBot.
 */
export function telegramMessage(event, actions) {
	const message = event.message;
	const author = authorOf(event, actions);
	const photo = message.photo?.at(-1);
	const text = entities(textOf(message), message.entities ?? message.caption_entities);
	const botTag = isFromBot(event) ? element("span", { className: "tag" }, "bot") : null;
	return element("article", { className: photo ? "message pictured" : "message", "aria-label": author },
		element("div", { className: "bubble" },
			element("p", { className: "sender" }, author, botTag),
			quote(event, actions),
			photo ? picture(photo.url, "Chart") : null,
			element("div", { className: "text" }, ...text, foot(event, actions)),
		),
		keyboard(event, actions));
}

const isFromBot = (event) => event.from === "bot";
const authorOf = (event, actions) => isFromBot(event) ? "Herald" : actions.nameOf(event.from);
const textOf = (message) => message.text ?? message.caption ?? "";

/** The message that this one answers. */
function quote(event, actions) {
	const quoted = event.replyTo ? actions.find(event.replyTo) : null;
	if (!quoted) return null;
	const firstLine = textOf(quoted.message).trim().split("\n")[0];
	return element("blockquote", { className: "quoted" },
		element("strong", {}, authorOf(quoted, actions)),
		element("span", {}, firstLine));
}

/** The small print at the end of the text. */
function foot(event, actions) {
	const isEphemeral = event.for && event.chat === "group";
	return element("span", { className: "foot" },
		isFromBot(event) ? simulated() : null,
		isEphemeral ? element("span", { className: "alone" }, "Only you see this ") : null,
		event.message.edit_date ? "edited " : null,
		clock(event.message.date),
		replyButton(event, actions));
}

function replyButton(event, actions) {
	const properties = { type: "button", className: "reply", title: "Reply", "aria-label": "Reply" };
	const button = element("button", properties, "↩");
	button.addEventListener("click", () => actions.reply(event));
	return button;
}

/** The rows of buttons below a message. */
function keyboard(event, actions) {
	const rows = event.message.reply_markup?.inline_keyboard;
	if (!rows) return null;
	const keys = (row) => row.map((button) => styledKey(event, button, actions));
	return element("div", { className: "keyboard", role: "group", "aria-label": "Buttons" },
		...rows.map((row) => element("div", { className: "row" }, ...keys(row))));
}

// https://core.telegram.org/bots/api#inlinekeyboardbutton
function styledKey(event, button, actions) {
	const made = key(event, button, actions);
	if (button.style) made.classList.add(button.style);
	return made;
}

function key(event, button, actions) {
	if (button.url && actions.opensBot(button.url)) return buttonKey(button.text, () => actions.open(button.url));
	if (button.url) return linkKey(button);
	if (button.copy_text) return buttonKey(button.text, () => actions.copy(button.copy_text.text));
	const made = buttonKey(button.text, () => actions.press(event, button.callback_data));
	if (button.callback_data) made.dataset.press = button.callback_data;
	return made;
}

function linkKey({ text, url }) {
	const properties = { className: "button", target: "_blank", rel: "noopener noreferrer" };
	return element("a", { ...properties, href: webAddress(url) ?? "#" }, text, " ↗");
}

function buttonKey(text, onClick) {
	const made = element("button", { type: "button", className: "button" }, text);
	made.addEventListener("click", onClick);
	return made;
}
