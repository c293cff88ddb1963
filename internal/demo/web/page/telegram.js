// A message as Telegram shows it, from the Bot API's own JSON.
// https://core.telegram.org/bots/api#message
import { element, picture, simulated, webAddress } from "./dom.js";
import { entities } from "./entities.js";
import { clock } from "./times.js";

/**
 * The element of an event. act has what can be done with it, press, open, copy
 * and reply, and find, nameOf and opensBot.
 */
export function telegramMessage(event, act) {
	const message = event.message;
	const bot = event.from === "bot";
	const name = bot ? "Herald" : act.nameOf(event.from);
	const photo = message.photo?.at(-1);
	const text = entities(message.text ?? message.caption ?? "", message.entities ?? message.caption_entities);
	return element("article", { className: photo ? "message pictured" : "message", "aria-label": name },
		element("div", { className: "bubble" },
			element("p", { className: "sender" }, name, bot ? element("span", { className: "tag" }, "bot") : null),
			quote(event, act),
			photo ? picture(photo.url, "Chart") : null,
			element("div", { className: "text" }, ...text, element("span", { className: "foot" },
				bot ? simulated() : null,
				event.for && event.chat === "group" ? element("span", { className: "alone" }, "Only you see this ") : null,
				message.edit_date ? "edited " : null, clock(message.date), replyButton(event, act))),
		),
		keyboard(event, act));
}

function quote(event, act) {
	const quoted = event.replyTo ? act.find(event.replyTo) : null;
	if (!quoted) return null;
	const said = quoted.message.text ?? quoted.message.caption ?? "";
	return element("blockquote", { className: "quoted" },
		element("strong", {}, quoted.from === "bot" ? "Herald" : act.nameOf(quoted.from)), element("span", {}, said.trim().split("\n")[0]));
}

function replyButton(event, act) {
	const button = element("button", { type: "button", className: "reply", title: "Reply", "aria-label": "Reply" }, "↩");
	button.addEventListener("click", () => act.reply(event));
	return button;
}

function keyboard(event, act) {
	const rows = event.message.reply_markup?.inline_keyboard;
	if (!rows) return null;
	return element("div", { className: "keyboard", role: "group", "aria-label": "Buttons" },
		...rows.map((row) => element("div", { className: "row" }, ...row.map((button) => styled(key(event, button, act), button)))));
}

// https://core.telegram.org/bots/api#inlinekeyboardbutton
function styled(made, button) {
	if (button.style) made.classList.add(button.style);
	return made;
}

function key(event, button, act) {
	if (button.url) {
		if (act.opensBot(button.url)) return pushed(button.text, () => act.open(button.url));
		const made = element("a", { className: "button", href: webAddress(button.url) ?? "#", target: "_blank", rel: "noopener noreferrer" }, button.text, " ↗");
		return made;
	}
	if (button.copy_text) return pushed(button.text, () => act.copy(button.copy_text.text));
	return pushed(button.text, () => act.press(event, button.callback_data), button.callback_data);
}

function pushed(text, does, data = "") {
	const made = element("button", { type: "button", className: "button" }, text);
	if (data) made.dataset.press = data;
	made.addEventListener("click", does);
	return made;
}
