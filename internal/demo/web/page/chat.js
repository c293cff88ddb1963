// The chats of one platform. The page has the messages of all people in all chats, and shows those that the reader
// sees.

/** The messages in a section of the page. draw(event) makes the element of a message. */
export class Chat {
	#log;
	#draw;
	#messages = new Map(); // {event, drawn} by the message's ID, in order
	#notReplayed = new Set(); // IDs of the messages that were there before the replay and have not been repeated yet
	#reader;

	constructor(section, draw) {
		this.#log = section.querySelector(".log");
		this.#draw = draw;
	}

	/** Adds the message of an event, or replaces the one with its ID. It returns whether that is a change. */
	put(event) {
		this.#notReplayed.delete(event.id);
		const old = this.#messages.get(event.id);
		if (old && JSON.stringify(old.event) === JSON.stringify(event)) return false;
		const drawn = this.#draw(event);
		drawn.dataset.id = event.id;
		drawn.dataset.from = event.from;
		dressFor(this.#reader, event, drawn);
		this.#messages.set(event.id, { event, drawn });
		if (old) {
			this.#replace(old.drawn, drawn);
		} else {
			this.#log.firstElementChild.append(drawn);
			if (!drawn.hidden) this.#scrollToEnd();
		}
		return true;
	}

	/** Replaces a message by its new state. If one of its buttons had the focus, the same button has it afterwards. */
	#replace(old, drawn) {
		const focusedLabel = old.contains(document.activeElement) ? document.activeElement.textContent : null;
		old.replaceWith(drawn);
		if (focusedLabel === null) return;
		const buttons = [...drawn.querySelectorAll("button.button")];
		const sameButton = buttons.find(({ textContent }) => textContent === focusedLabel);
		(sameButton ?? buttons[0] ?? this.#log).focus();
	}

	/** Whether there are no messages of any person. */
	get isEmpty() {
		return this.#messages.size === 0;
	}

	/** The event of the message with this ID, or undefined. */
	find(id) {
		return this.#messages.get(id)?.event;
	}

	remove(id) {
		this.#messages.get(id)?.drawn.remove();
		this.#messages.delete(id);
	}

	/** Expects that the server repeats all messages that still exist. */
	beginReplay() {
		this.#notReplayed = new Set(this.#messages.keys());
	}

	/** Removes the messages that were not repeated. */
	endReplay() {
		this.#notReplayed.forEach((id) => this.remove(id));
	}

	/** Shows what a reader sees: the messages in reader.chat that the person reader.as can read. */
	showTo(reader) {
		this.#reader = reader;
		for (const { event, drawn } of this.#messages.values()) dressFor(reader, event, drawn);
		this.#scrollToEnd();
	}

	#scrollToEnd() {
		this.#log.scrollTop = 0; // The log grows upwards.
	}
}

/** Hides the message of an event if the reader does not see it, and marks the reader's own messages. */
function dressFor(reader, event, drawn) {
	const isForOther = Boolean(event.for) && event.for !== reader.as;
	drawn.hidden = event.chat !== reader.chat || isForOther;
	drawn.classList.toggle("own", event.from === reader.as);
}
