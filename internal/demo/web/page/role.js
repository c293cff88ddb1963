// "Try a role": steps that are taken in order, from a saved address to a role that comes
// with a stake and goes with it.
import { element } from "./dom.js";

const sides = ["telegram", "discord"];

/** The newest button on a side that saves an address. */
const saving = (side) => [...document.querySelectorAll(`#${side} article:not([hidden]) [data-press*=" save "]`)].at(-1);

/**
 * The row of steps. A member whose wallet stakes takes them. say(text) says something as
 * the member, setStaked(on) moves the stake, and later() has six hours pass. Each promises
 * null where it failed.
 */
export class Role {
	#member;
	#steps;
	#next = 0;
	#pressed = false;
	#stakers = { telegram: [], discord: [] };

	constructor(member, wallet, { say, setStaked, later }) {
		this.#member = member;
		this.#steps = [
			{ label: `/verify ${wallet.slice(0, 6)}…`, note: "a wallet that stakes", act: () => say(`/verify ${wallet}`),
				done: () => sides.every((side) => saving(side) || this.#has(side)) },
			{ label: "save", note: "with the button below both cards", act: () => sides.map((side) => this.#has(side) || saving(side)?.click()),
				done: () => sides.every((side) => this.#has(side)) },
			{ label: "no stake", note: "the wallet stakes nothing any more", act: () => setStaked(false) },
			{ label: "6 hours later", note: "the bot finds no stake, and waits for the next check", act: later },
			{ label: "6 hours later", note: "the role goes, and /verify says why", act: async () => await later() && say("/verify"),
				done: () => !sides.some((side) => this.#has(side)) },
		].map((step, n) => ({ ...step, button: this.#button(step, n) }));
		const again = document.getElementById("again");
		again.before(...this.#steps.map(({ button }) => button));
		again.addEventListener("click", async () => {
			if (await setStaked(true) && await say("/forget")) this.#show(0);
		});
		this.#show(0);
	}

	#button({ act, note }, n) {
		const button = element("button", { type: "button", title: note });
		button.addEventListener("click", async () => {
			this.#pressed = Boolean(await act());
			this.check();
		});
		return button;
	}

	#has(side) {
		return this.#stakers[side].includes(this.#member);
	}

	/** Notes who has the role on a side. */
	put(side, names) {
		this.#stakers[side] = names;
		this.check();
	}

	/** Ticks the step that was pressed, if it is done. It is called after each event. */
	check() {
		const step = this.#steps[this.#next];
		if (!this.#pressed || !(step.done?.() ?? true)) return;
		const focused = step.button === document.activeElement;
		this.#show(this.#next + 1);
		if (focused) (this.#steps[this.#next]?.button ?? document.getElementById("again")).focus();
	}

	/** Has a step be the next one. */
	#show(next) {
		this.#next = next;
		this.#pressed = false;
		this.#steps.forEach(({ button, label }, n) => {
			button.textContent = `${n < next ? "✓" : String.fromCodePoint(0x2460 + n)} ${label}`;
			button.disabled = n !== next;
			button.classList.toggle("next", n === next);
			button.classList.toggle("done", n < next);
		});
	}
}
