// Groups on Telegram that people ask to join: who asks, and what moderators see of it.
import { element } from "./dom.js";

const states = { open: "open", approved: "let in by the bot" };

/** The panel of the groups, which a button opens. ask(person, required) has a person ask to join a group. */
export class Joins {
	#panel = document.getElementById("joins");
	#nameOf;

	constructor(groups, people, nameOf, ask) {
		this.#nameOf = nameOf;
		this.#panel.append(...groups.map(({ required, title, note }) => element("div", {},
			element("p", {}, element("strong", {}, title), " ", note),
			element("div", { className: "row", role: "group", "aria-label": `Join ${title} as` }, people.map(({ name }) => {
				const button = element("button", { type: "button", className: "button" }, nameOf(name));
				button.addEventListener("click", () => ask(name, required));
				return button;
			})),
			element("p", {}, "Moderators see"),
			element("ul", { id: `join-${required}`, "aria-label": `Requests to join ${title}`, "aria-live": "polite" }))));
		const opener = document.getElementById("joining");
		opener.addEventListener("click", () => {
			this.#panel.hidden = !this.#panel.hidden;
			opener.setAttribute("aria-expanded", String(!this.#panel.hidden));
		});
	}

	/** Shows an event of the kind "join" in place of the person's earlier one. */
	put({ id, from, message }) {
		document.getElementById(id)?.remove();
		const said = states[message.state];
		if (said) document.getElementById(`join-${message.required}`).prepend(element("li", { id }, `${this.#nameOf(from)}: ${said}`));
	}
}
