// The input line for both chats, with suggestions for what to write next: a combobox after https://www.w3.org/WAI/ARIA/apg/patterns/combobox/.
import { element } from "./dom.js";

/**
 * A composer. suggest(text) gives what could come in place of the last word, a list
 * of {value, note}. send(text, replyTo) is called with what was written, and the event
 * that it replies to. Where it promises null, it failed, and the text comes back.
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
		this.#input.addEventListener("keydown", (event) => this.#key(event));
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

	get text() {
		return this.#input.value;
	}

	/** Replies to an event with what is sent next, or to none with null. */
	reply(event, quoted = "", placeholder = "") {
		this.#replyTo = event;
		this.#replying.hidden = event === null;
		this.#replying.firstElementChild.textContent = quoted;
		this.#input.placeholder = placeholder || this.#input.dataset.placeholder;
		if (event) this.#input.focus();
	}

	/** Writes a text as if it had been typed. */
	write(text) {
		this.#input.value = text;
		this.#input.focus();
		this.refresh();
	}

	/** Asks again what could be written next, while somebody writes. */
	refresh() {
		if (document.activeElement !== this.#input) return;
		this.#show(this.text === "" ? [] : this.#suggest(this.text));
	}

	async #submit() {
		const text = this.text.trim();
		if (text === "") return;
		const reply = [this.#replyTo, this.#replying.firstElementChild.textContent, this.#input.placeholder];
		this.#show([]);
		if (reply[0]) this.reply(null);
		this.#input.value = "";
		if (await this.#send(text, reply[0]) || this.text !== "") return;
		this.#input.value = text;
		if (reply[0]) this.reply(...reply);
	}

	#show(suggestions) {
		const same = JSON.stringify(suggestions) === JSON.stringify(this.#suggestions);
		this.#suggestions = suggestions;
		if (same) return; // and what is selected stays so
		this.#list.replaceChildren(...suggestions.map(({ value, note }, n) => {
			const option = element("li", { role: "option", id: `suggestion-${n}`, "aria-selected": "false" },
				element("strong", {}, value), element("span", {}, note));
			// Before the input loses the focus, and the list with it.
			option.addEventListener("pointerdown", (event) => {
				event.preventDefault();
				this.#take(option);
			});
			return option;
		}));
		this.#list.hidden = suggestions.length === 0;
		this.#input.setAttribute("aria-expanded", String(suggestions.length > 0));
		this.#select(null);
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

	#key(event) {
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
			this.#take(selected);
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

	#take(option) {
		const { value } = this.#suggestions[[...this.#list.children].indexOf(option)];
		this.#show([]);
		this.write(this.text.replace(/\S*$/, "") + value + " ");
	}
}
