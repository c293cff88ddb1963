// A message as Discord shows it, from Discord's own JSON.
// https://discord.com/developers/docs/resources/message#message-object
import { element, link, picture, simulated } from "./dom.js";
import { markdown } from "./markdown.js";
import { clock } from "./times.js";

// Of the styles of buttons, https://discord.com/developers/docs/components/reference#button-button-styles
const styles = { 1: "primary", 3: "success" };

/** The element of an event of any kind. act has what can be done with it, press, and nameOf. */
export function discordMessage(event, act) {
	switch (event.kind) {
	case "asked":
		return asked(event, act);
	case "thinking":
		return post(event, act, element("p", { className: "thinking" }, "Herald is thinking…"));
	}
	const message = event.message;
	return post(event, act,
		message.content ? markdown(message.content, act.nameOf) : null,
		...(message.embeds ?? []).map((embed) => embedded(embed, message.attachments ?? [], act)),
		...(message.components ?? []).map((row) => components(event, row, act)));
}

// https://discord.com/developers/docs/resources/message#message-object-message-flags
const ephemeral = 1 << 6;

function post(event, act, ...content) {
	const sent = event.message?.timestamp;
	const alone = event.message?.flags & ephemeral;
	return element("article", { className: alone ? "message ephemeral" : "message", "aria-label": "Herald" },
		element("div", { className: "avatar", "aria-hidden": "true" }, "H"),
		element("div", { className: "body" },
			element("p", { className: "sender" }, "Herald", element("span", { className: "tag" }, "APP"), sent ? clock(Date.parse(sent) / 1000) : null, simulated()),
			...content,
			alone ? element("p", { className: "alone" }, "Only you can see this") : null));
}

/** What somebody used, which Discord shows above the answer. */
function asked(event, act) {
	const { command, options = [], target, text } = event.message;
	const name = element("strong", {}, act.nameOf(event.from));
	if (!command) return element("article", { className: "said", "aria-label": act.nameOf(event.from) }, name, " ", text);
	return element("article", { className: "asked", "aria-label": act.nameOf(event.from) }, name, " used ",
		element("span", { className: "command" }, target ? command : "/" + command),
		target ? ` on ${act.nameOf(target)}` : null,
		...options.map((option) => element("span", { className: "option" }, ` ${option.name}: ${option.person ? act.nameOf(option.person) : option.value}`)));
}

function embedded(embed, files, act) {
	const file = files.find(({ filename }) => embed.image?.url.endsWith("/" + filename));
	const made = element("div", { className: embed.image ? "embed pictured" : "embed" },
		embed.description ? markdown(embed.description, act.nameOf) : null,
		embed.image ? picture(embed.image.url, file?.description ?? "") : null,
		embed.footer || embed.timestamp ? element("p", { className: "foot" }, embed.footer?.text ?? "",
			embed.footer && embed.timestamp ? " • " : "", embed.timestamp ? clock(Date.parse(embed.timestamp) / 1000, true) : null) : null);
	if (embed.color) made.style.borderInlineStartColor = "#" + embed.color.toString(16).padStart(6, "0");
	return made;
}

function components(event, row, act) {
	return element("div", { className: "row", role: "group", "aria-label": "Buttons" }, ...row.components.map((button) => {
		if (button.url) {
			const made = link(button.url, button.label, " ↗");
			made.classList.add("button");
			return made;
		}
		const made = element("button", { type: "button", className: `button ${styles[button.style] ?? ""}` }, button.label);
		made.dataset.press = button.custom_id;
		made.addEventListener("click", () => act.press(event, button.custom_id));
		return made;
	}));
}
