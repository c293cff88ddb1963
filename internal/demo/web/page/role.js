// "Try a role": buttons for the steps of a member who saves an address, is given a role for the stake, and loses the
// role when the stake is gone.
import { element } from "./dom.js";

const sides = ["telegram", "discord"];

/** The latest visible button on a side that saves an address. */
function saveButton(side) {
	return [...document.querySelectorAll(`#${side} article:not([hidden]) [data-press*=" save "]`)].at(-1);
}

/**
 * The buttons. member is the person that takes the steps, and wallet one of their wallets, which stakes.
 *
 * say(text) sends a text of the member, setStaked(isStaked) removes or restores the stake, and later() lets six hours
 * pass. Each promises null if it fails.
 */
export class Role {
	#member;
	#steps; // {label, act, isDone, button} of each; a step without isDone is done once act succeeds
	#next = 0; // the index of the next step
	#hasActed = false; // whether act of the next step has succeeded
	#holders = { telegram: [], discord: [] }; // the names of the people with the role

	constructor(member, wallet, { say, setStaked, later }) {
		this.#member = member;
		this.#steps = [
			{
				label: `/verify ${wallet.slice(0, 6)}…`,
				note: "a wallet that stakes",
				act: () => say(`/verify ${wallet}`),
				isDone: () => sides.every((side) => saveButton(side) || this.#hasRole(side)),
			},
			{
				label: "save",
				note: "with the button below both cards",
				act: () => sides.map((side) => this.#hasRole(side) || saveButton(side)?.click()),
				isDone: () => sides.every((side) => this.#hasRole(side)),
			},
			{
				label: "no stake",
				note: "the wallet stakes nothing any more",
				act: () => setStaked(false),
			},
			{
				label: "6 hours later",
				note: "the bot finds no stake, and waits for the next check",
				act: later,
			},
			{
				label: "6 hours later",
				note: "the role goes, and /verify says why",
				act: async () => await later() && say("/verify"),
				isDone: () => !sides.some((side) => this.#hasRole(side)),
			},
		].map((step) => ({ ...step, button: this.#button(step) }));
		const again = document.getElementById("again");
		again.before(...this.#steps.map(({ button }) => button));
		again.addEventListener("click", async () => {
			if (await setStaked(true) && await say("/forget")) this.#setNext(0);
		});
		this.#setNext(0);
	}

	#button({ act, note }) {
		const button = element("button", { type: "button", title: note });
		button.addEventListener("click", async () => {
			this.#hasActed = Boolean(await act());
			this.check();
		});
		return button;
	}

	#hasRole(side) {
		return this.#holders[side].includes(this.#member);
	}

	/** Sets the names of the people that have the role on a side. */
	setHolders(side, names) {
		this.#holders[side] = names;
		this.check();
	}

	/** Goes on to the following step if the current one is done. The page calls it after every message. */
	check() {
		const step = this.#steps[this.#next];
		if (!this.#hasActed) return;
		if (step.isDone && !step.isDone()) return;
		const hadFocus = step.button === document.activeElement;
		this.#setNext(this.#next + 1);
		const following = this.#steps[this.#next]?.button ?? document.getElementById("again");
		if (hadFocus) following.focus();
	}

	/** Makes the step with this index the next one. */
	#setNext(next) {
		this.#next = next;
		this.#hasActed = false;
		this.#steps.forEach(({ button, label }, n) => {
			const number = String.fromCodePoint(0x2460 + n); // ① for 0
			button.textContent = `${n < next ? "✓" : number} ${label}`;
			button.disabled = n !== next;
			button.classList.toggle("next", n === next);
			button.classList.toggle("done", n < next);
		});
	}
}
