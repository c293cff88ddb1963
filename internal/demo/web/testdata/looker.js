// How the browser's tests look at the page. What is hidden from the one who asks
// is not there for them.

/** The messages that are shown on a side, the oldest first. */
const messages = (side) => [...document.querySelectorAll(`#${side} article`)].filter((one) => !one.hidden);

/** The ID of the last of them that is from who asks. The oldest go in time, so that counting would not do. */
const asked = (side) => messages(side).findLast((one) => one.dataset.from === person())?.dataset.id;

const person = () => document.querySelector("[name=as]:checked").value;

let before = {};
let begun = 0;

/** Notes what was asked last, before something is asked. */
function begin() {
	begun = performance.now();
	before = { telegram: asked("telegram"), discord: asked("discord") };
	return true;
}

/** What the bot says on a side since something was asked there; null while that is to come. */
function answer(side) {
	const all = messages(side);
	const since = all.slice(all.findLastIndex((one) => one.dataset.from !== "bot") + 1);
	if (asked(side) === before[side] || since.length === 0 || since.some((one) => one.querySelector(".thinking"))) return null;
	return since.map((one) => one.innerText).join("\n");
}

/** What the last message on a side says. */
const last = (side) => messages(side).at(-1)?.innerText ?? "";

/** What moderators see of the requests to join a group. */
const join = (required) => document.getElementById(`join-${required}`).textContent;

const newest = () => [...document.querySelectorAll("#telegram article")].at(-1);

let newestBefore;

/** Presses the button of a person, the first or a later one, who asks to join a group. */
function askToJoin(required, n) {
	newestBefore = newest();
	document.getElementById(`join-${required}`).parentElement.querySelectorAll("button")[n].click();
	return true;
}

/** Whether the bot has told that person what becomes of it. */
const toldJoin = () => newest() !== newestBefore && !newest().innerText.includes('Letting you in');

/** Promises whether something holds before so many milliseconds have passed. */
const holds = (look, within) => new Promise((resolve) => {
	const end = performance.now() + within;
	const again = () => {
		if (look()) resolve(true);
		else if (performance.now() > end) resolve(false);
		else setTimeout(again, 20);
	};
	again();
});

/** Presses the first button below the last message on Telegram that says this and has one. */
const refresh = (said) => messages("telegram").findLast((one) => one.innerText.includes(said) && one.querySelector("[data-press]"))
	.querySelector("[data-press]").click();

/** Presses, on both sides, the newest button whose label begins so. */
function press(label) {
	for (const side of ["telegram", "discord"]) {
		const buttons = messages(side).flatMap((one) => [...one.querySelectorAll("[data-press]")]);
		buttons.findLast((one) => one.innerText.startsWith(label)).click();
	}
	return true;
}

/** Whether a message on each side says this. */
const said = (text) => ["telegram", "discord"].every((side) =>
	[...document.querySelectorAll(`#${side} article`)].some((one) => one.textContent.includes(text)));

/** Promises the HTML of nodes that draw makes of the page's modules. */
async function drawn(draw) {
	const made = document.createElement("div");
	made.append(...draw({ ...await import("/markdown.js"), ...await import("/entities.js") }));
	return made.innerHTML;
}

/** Whether a font draws emoji in colour. */
function hasEmoji() {
	const canvas = new OffscreenCanvas(20, 20).getContext("2d");
	canvas.font = "16px sans-serif";
	canvas.fillText("✅", 0, 16);
	const { data } = canvas.getImageData(0, 0, 20, 20);
	return data.some((_, n) => n % 4 === 0 && data[n] !== data[n + 1]);
}

/** Lays all messages of a side out in columns, whoever sees them, and gives how many pages of the window that makes. */
function columns(side, width) {
	const sheet = new CSSStyleSheet();
	sheet.replaceSync(`
		header, footer, #sides, #toast, section:not(#${side}), section > :not(.log), .reply { display: none !important; }
		body, main, #${side} { display: block; height: 100dvh; max-width: none; padding: 0; border: 0; border-radius: 0; }
		#${side} .log { display: block; height: 100dvh; overflow: auto hidden; scrollbar-width: none; }
		#${side} .log > div { display: block; height: 100dvh; padding: 0; columns: ${width}px; column-gap: 0; column-fill: auto; }
		article { break-inside: avoid; }
		#telegram article { margin: 0; border: solid transparent; border-width: 8px 12px; }
		#telegram article.own { margin-left: auto; }`);
	document.adoptedStyleSheets = [sheet];
	for (const one of document.querySelectorAll("article")) {
		one.hidden = false;
		one.classList.toggle("own", one.dataset.from !== "bot");
	}
	const log = document.querySelector(`#${side} .log`);
	return Math.ceil(log.scrollWidth / log.clientWidth);
}

// painted tells whether the page turned to is on the screen.
let painted = true;

/** Shows a page of them, from 0 on. */
function turnTo(side, page) {
	const log = document.querySelector(`#${side} .log`);
	log.scrollLeft = page * log.clientWidth;
	painted = false;
	requestAnimationFrame(() => requestAnimationFrame(() => (painted = true)));
	return true;
}
