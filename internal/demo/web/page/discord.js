// Messages, as Discord's app shows them.
// https://discord.com/developers/docs/resources/message#message-object
import { element, link, picture, simulated } from "./dom.js";
import { markdown } from "./markdown.js";
import { clock } from "./times.js";

/** Makes the element of an event. actions has what the page does for it: press and nameOf. */
export function discordMessage(event, actions) {
	switch (event.kind) {
	case "asked":
		return asked(event, actions);
	case "thinking":
		return botMessage(event, element("p", { className: "thinking" }, "Herald is thinking…"));
	}
	const message = event.message;
	return botMessage(event,
		message.content ? markdown(message.content, actions.nameOf) : null,
		...(message.embeds ?? []).map((embed) => embedElement(embed, message.attachments ?? [], actions)),
		...(message.components ?? []).map((row) => buttonRow(event, row, actions)));
}

/** A text that a person has sent, or the command that they have used, which Discord shows above the answer. */
function asked(event, actions) {
	const { command, options = [], target, text } = event.message;
	const author = actions.nameOf(event.from);
	const name = element("strong", {}, author);
	if (!command) return element("article", { className: "said", "aria-label": author }, name, " ", text);
	return element("article", { className: "asked", "aria-label": author },
		name,
		" used ",
		element("span", { className: "command" }, target ? command : "/" + command),
		target ? ` on ${actions.nameOf(target)}` : null,
		...options.map(({ name, value, person }) =>
			element("span", { className: "option" }, ` ${name}: ${person ? actions.nameOf(person) : value}`)));
}

/** The flag of an ephemeral message, which only one person sees. */
// https://discord.com/developers/docs/resources/message#message-object-message-flags
const ephemeral = 1 << 6;

/** A message of the bot with this content. */
function botMessage(event, ...content) {
	const sent = event.message?.timestamp;
	const isEphemeral = event.message?.flags & ephemeral;
	return element("article", { className: isEphemeral ? "message ephemeral" : "message", "aria-label": "Herald" },
		element("div", { className: "avatar", "aria-hidden": "true" }, "H"),
		element("div", { className: "body" },
			element("p", { className: "sender" },
				"Herald",
				element("span", { className: "tag" }, "APP"),
				sent ? clock(unixTime(sent)) : null,
				simulated()),
			...content,
			isEphemeral ? element("p", { className: "alone" }, "Only you can see this") : null));
}

const unixTime = (timestamp) => Date.parse(timestamp) / 1000;

function embedElement(embed, files, actions) {
	const file = files.find(({ filename }) => embed.image?.url.endsWith("/" + filename));
	const made = element("div", { className: embed.image ? "embed pictured" : "embed" },
		embed.description ? markdown(embed.description, actions.nameOf) : null,
		embed.image ? picture(embed.image.url, file?.description ?? "") : null,
		embedFoot(embed));
	if (embed.color) made.style.borderInlineStartColor = "#" + embed.color.toString(16).padStart(6, "0");
	return made;
}

/** The small print below an embed: its footer, its time, or both with a dot between them. */
function embedFoot({ footer, timestamp }) {
	if (!footer && !timestamp) return null;
	return element("p", { className: "foot" },
		footer?.text ?? "",
		footer && timestamp ? " • " : "",
		timestamp ? clock(unixTime(timestamp), true) : null);
}

/** The classes of styles of buttons. Other styles look like the default. */
// https://discord.com/developers/docs/components/reference#button-button-styles
const styleClasses = { 1: "primary", 3: "success" };

function buttonRow(event, row, actions) {
	return element("div", { className: "row", role: "group", "aria-label": "Buttons" },
		...row.components.map((button) => button.url ? linkButton(button) : pressButton(event, button, actions)));
}

function linkButton({ url, label }) {
	const made = link(url, label, " ↗");
	made.classList.add("button");
	return made;
}

function pressButton(event, button, actions) {
	const className = `button ${styleClasses[button.style] ?? ""}`;
	const made = element("button", { type: "button", className }, button.label);
	made.dataset.press = button.custom_id;
	made.addEventListener("click", () => actions.press(event, button.custom_id));
	return made;
}
