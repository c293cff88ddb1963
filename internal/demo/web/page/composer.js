// The input line for both chats, with suggestions. It is a combobox as in
// https://www.w3.org/WAI/ARIA/apg/patterns/combobox/.
import { element } from "./dom.js";

/**
 * The input line. suggest(text) returns what the last word of a text could become, as a list of {value, note}.
 * send(text, replyTo) sends a text. replyTo is the event that it replies to, or null. If send promises null, it has
 * failed, and the user can edit the text again.
 */
export class Composer {
	#input = document.getElementById("text");
	#list = document.getElementById("suggestions");
	#replying = document.getElementById("replying");
	#suggest;
	#suggestions = [];
	#send;
	#replyTo = null;

	constructor(suggest, send) {
		this.#suggest = suggest;
		this.#send = send;
		this.#input.addEventListener("input", () => this.refresh());
		this.#input.addEventListener("keydown", (event) => this.#handleKey(event));
		this.#input.addEventListener("blur", () => this.#show([]));
		this.#replying.querySelector("button").addEventListener("click", () => {
			this.reply(null);
			this.#input.focus();
		});
		document.getElementById("composer").addEventListener("submit", (event) => {
			event.preventDefault();
			this.#submit();
		});
	}

	/** Makes the next text a reply to an event, which quoted describes. If event is null, it is not a reply. */
	reply(event, quoted = "", placeholder = "") {
		this.#replyTo = event;
		this.#replying.hidden = event === null;
		this.#replying.firstElementChild.textContent = quoted;
		this.#input.placeholder = placeholder || this.#input.dataset.placeholder;
		if (event) this.#input.focus();
	}

	/** Updates the suggestions if the user is writing. */
	refresh() {
		if (document.activeElement !== this.#input) return;
		const text = this.#input.value;
		this.#show(text === "" ? [] : this.#suggest(text));
	}

	async #submit() {
		const text = this.#input.value.trim();
		if (text === "") return;
		const replyTo = this.#replyTo;
		const quoted = this.#replying.firstElementChild.textContent;
		const placeholder = this.#input.placeholder;
		this.#show([]);
		if (replyTo) this.reply(null);
		this.#input.value = "";
		const sent = await this.#send(text, replyTo);
		const isWritingMore = this.#input.value !== "";
		if (sent || isWritingMore) return;
		this.#input.value = text;
		if (replyTo) this.reply(replyTo, quoted, placeholder);
	}

	/** Shows suggestions. If they have not changed, the selection remains. */
	#show(suggestions) {
		const areSame = JSON.stringify(suggestions) === JSON.stringify(this.#suggestions);
		this.#suggestions = suggestions;
		if (areSame) return;
		this.#list.replaceChildren(...suggestions.map((suggestion, n) => this.#option(suggestion, n)));
		this.#list.hidden = suggestions.length === 0;
		this.#input.setAttribute("aria-expanded", String(suggestions.length > 0));
		this.#select(null);
	}

	#option({ value, note }, n) {
		const option = element("li", { role: "option", id: `suggestion-${n}`, "aria-selected": "false" },
			element("strong", {}, value),
			element("span", {}, note));
		// By the time of a click, the input has lost the focus, and the list is empty.
		option.addEventListener("pointerdown", (event) => {
			event.preventDefault();
			this.#accept(option);
		});
		return option;
	}

	get #selected() {
		return this.#list.querySelector("[aria-selected=true]");
	}

	#select(option) {
		this.#selected?.setAttribute("aria-selected", "false");
		option?.setAttribute("aria-selected", "true");
		option?.scrollIntoView({ block: "nearest" });
		if (option) this.#input.setAttribute("aria-activedescendant", option.id);
		else this.#input.removeAttribute("aria-activedescendant");
	}

	#handleKey(event) {
		const selected = this.#selected;
		switch (event.key) {
		case "ArrowDown":
			this.#select(selected?.nextElementSibling ?? this.#list.firstElementChild);
			break;
		case "ArrowUp":
			this.#select(selected?.previousElementSibling ?? this.#list.lastElementChild);
			break;
		case "Enter":
		case "Tab":
			if (!selected) return;
			this.#accept(selected);
			break;
		case "Escape":
			if (this.#list.hidden) this.reply(null);
			else this.#show([]);
			break;
		default:
			return;
		}
		event.preventDefault();
	}

	/** Replaces the last word by a suggestion. */
	#accept(option) {
		const { value } = this.#suggestions[[...this.#list.children].indexOf(option)];
		this.#show([]);
		this.#input.value = this.#input.value.replace(/\S*$/, "") + value + " ";
		this.#input.focus();
		this.refresh();
	}
}
