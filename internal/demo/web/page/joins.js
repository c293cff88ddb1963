// The panel "Join as…": the groups on Telegram that people can request to join, and their requests.
import { element } from "./dom.js";

/** The texts for the states of a request. A request in another state is not shown. */
const stateTexts = { open: "open", approved: "let in by the bot" };

/**
 * The panel. groups are the JoinChats of the State. requestJoin(person, required) makes a person's request to join
 * the group with this requirement.
 */
export class Joins {
	#panel = document.getElementById("joins");
	#nameOf;

	constructor(groups, people, nameOf, requestJoin) {
		this.#nameOf = nameOf;
		this.#panel.append(...groups.map((group) => this.#groupElement(group, people, requestJoin)));
		const opener = document.getElementById("joining");
		opener.addEventListener("click", () => {
			this.#panel.hidden = !this.#panel.hidden;
			opener.setAttribute("aria-expanded", String(!this.#panel.hidden));
		});
	}

	#groupElement({ required, title, note }, people, requestJoin) {
		const buttons = people.map(({ name }) => {
			const button = element("button", { type: "button", className: "button" }, this.#nameOf(name));
			button.addEventListener("click", () => requestJoin(name, required));
			return button;
		});
		const list = { id: `join-${required}`, "aria-label": `Requests to join ${title}`, "aria-live": "polite" };
		return element("div", {},
			element("p", {}, element("strong", {}, title), " ", note),
			element("div", { className: "row", role: "group", "aria-label": `Join ${title} as` }, buttons),
			element("p", {}, "Moderators see"),
			element("ul", list));
	}

	/** Shows the request of an event of the kind "join", in place of the person's previous one. */
	show({ id, from, message }) {
		document.getElementById(id)?.remove();
		const text = stateTexts[message.state];
		if (!text) return;
		const item = element("li", { id }, `${this.#nameOf(from)}: ${text}`);
		document.getElementById(`join-${message.required}`).prepend(item);
	}
}
