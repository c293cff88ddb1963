// One platform's chat: all that its people were shown. One person in one place sees
// what they would see there.

/** The chat in a section of the page. draw makes the element of an event. */
export class Chat {
	#log;
	#draw;
	#shown = new Map(); // event and element by ID, in order
	#untold = new Set(); // IDs of what may no longer hold
	#reader;

	constructor(section, draw) {
		this.#log = section.querySelector(".log");
		this.#draw = draw;
	}

	/**
	 * Shows an event, in place of the one with its ID if there is one. It gives
	 * whether that changed anything.
	 */
	put(event) {
		this.#untold.delete(event.id);
		const before = this.#shown.get(event.id);
		if (before && JSON.stringify(before.event) === JSON.stringify(event)) return false;
		const focused = before?.drawn.contains(document.activeElement) ? document.activeElement.textContent : null;
		const drawn = this.#draw(event);
		drawn.dataset.id = event.id;
		drawn.dataset.from = event.from;
		dress(event, drawn, this.#reader);
		this.#shown.set(event.id, { event, drawn });
		if (before) {
			before.drawn.replaceWith(drawn);
			const buttons = [...drawn.querySelectorAll("button.button")];
			if (focused !== null) (buttons.find((one) => one.textContent === focused) ?? buttons[0] ?? this.#log).focus();
			return true;
		}
		this.#log.firstElementChild.append(drawn);
		if (!drawn.hidden) this.#toEnd();
		return true;
	}

	/** Whether nobody has said anything, whoever sees it. */
	get empty() {
		return this.#shown.size === 0;
	}

	find(id) {
		return this.#shown.get(id)?.event;
	}

	remove(id) {
		this.#shown.get(id)?.drawn.remove();
		this.#shown.delete(id);
	}

	/** Begins to be told again all that holds. What that leaves out goes at the end. */
	retell() {
		this.#untold = new Set(this.#shown.keys());
	}

	retold() {
		this.#untold.forEach((id) => this.remove(id));
	}

	/** Shows what a reader sees: as is who they are, chat where they look. */
	showTo(reader) {
		this.#reader = reader;
		for (const { event, drawn } of this.#shown.values()) dress(event, drawn, reader);
		this.#toEnd();
	}

	#toEnd() {
		this.#log.scrollTop = 0; // which is the end of a log that grows upwards
	}
}

/** Shows an event as a reader sees it, if they do. */
function dress(event, drawn, reader) {
	drawn.hidden = event.chat !== reader.chat || Boolean(event.for) && event.for !== reader.as;
	drawn.classList.toggle("own", event.from === reader.as);
}
