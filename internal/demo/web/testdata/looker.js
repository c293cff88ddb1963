// Functions for the browser's tests, which read and use the page. A test loads this file into the page as a script.

/** The name of the person that the user of the page acts as. */
const person = () => document.querySelector("[name=as]:checked").value;

/** The visible messages on a side, the oldest first. */
const messages = (side) => [...document.querySelectorAll(`#${side} article`)].filter((message) => !message.hidden);

/** The text of the last visible message on a side. */
const lastText = (side) => messages(side).at(-1)?.innerText ?? "";

/** Whether a message on each side contains the text. */
const isShown = (text) => ["telegram", "discord"].every((side) =>
	[...document.querySelectorAll(`#${side} article`)].some((message) => message.textContent.includes(text)));

/** Returns a promise of whether condition() becomes true within some milliseconds. */
const becomesTrue = (condition, milliseconds) => new Promise((resolve) => {
	const end = performance.now() + milliseconds;
	const check = () => {
		if (condition()) resolve(true);
		else if (performance.now() > end) resolve(false);
		else setTimeout(check, 20);
	};
	check();
});

// Questions and answers.

/** The ID of the person's last message on a side. The number of messages would not do, because old ones are removed. */
const lastQuestion = (side) => messages(side).findLast((message) => message.dataset.from === person())?.dataset.id;

/** The last questions before the test asked the current one, by side. */
let questionsBefore = {};

/** When the test asked the current question, as a time of performance.now. */
let questionTime = 0;

/** Prepares for the next question. A test calls it before it asks. */
function beginQuestion() {
	questionTime = performance.now();
	questionsBefore = { telegram: lastQuestion("telegram"), discord: lastQuestion("discord") };
	return true;
}

/** The text of the bot's messages on a side since the current question, or null if there is no complete answer yet. */
function answer(side) {
	const all = messages(side);
	const messagesSince = all.slice(all.findLastIndex((message) => message.dataset.from !== "bot") + 1);
	const isAsked = lastQuestion(side) !== questionsBefore[side];
	const isThinking = messagesSince.some((message) => message.querySelector(".thinking"));
	if (!isAsked || messagesSince.length === 0 || isThinking) return null;
	return messagesSince.map((message) => message.innerText).join("\n");
}

// Requests to join a group.

/** What moderators see of the requests to join the group with a requirement. */
const joinRequests = (required) => document.getElementById(`join-${required}`).textContent;

const lastOnTelegram = () => [...document.querySelectorAll("#telegram article")].at(-1);

/** The last message on Telegram before the current request. */
let lastBeforeRequest;

/** Makes a request to join a group, by the button with index n of the group. */
function requestJoin(required, n) {
	lastBeforeRequest = lastOnTelegram();
	document.getElementById(`join-${required}`).parentElement.querySelectorAll("button")[n].click();
	return true;
}

/** Whether the bot has answered the current request, at least with a question. */
function isRequestAnswered() {
	const last = lastOnTelegram();
	return last !== lastBeforeRequest && !last.innerText.includes("Letting you in");
}

// Buttons.

/** Presses the first button below the last message on Telegram that contains the text and has buttons. */
function pressBelow(text) {
	const hasButton = (message) => message.querySelector("[data-press]");
	const message = messages("telegram").findLast((one) => one.innerText.includes(text) && hasButton(one));
	message.querySelector("[data-press]").click();
}

/** Presses, on both sides, the last button with a label that begins with the text. */
function pressLabel(text) {
	for (const side of ["telegram", "discord"]) {
		const buttons = messages(side).flatMap((message) => [...message.querySelectorAll("[data-press]")]);
		buttons.findLast((button) => button.innerText.startsWith(text)).click();
	}
	return true;
}

// Markup.

/** Returns the HTML of the nodes that make({markdown, entities}) returns. Its argument has functions of the page. */
async function htmlOf(make) {
	const container = document.createElement("div");
	container.append(...make({ ...await import("/markdown.js"), ...await import("/entities.js") }));
	return container.innerHTML;
}

// Pictures.

/** Whether the browser has a font that draws emoji in color: then red and green differ in some pixel. */
function hasEmoji() {
	const canvas = new OffscreenCanvas(20, 20).getContext("2d");
	canvas.font = "16px sans-serif";
	canvas.fillText("✅", 0, 16);
	const { data } = canvas.getImageData(0, 0, 20, 20); // red, green, blue and alpha of each pixel
	return data.some((red, n) => n % 4 === 0 && red !== data[n + 1]);
}

/**
 * Shows only the messages of one side, including those that the person does not see, in columns of a width in pixels.
 * It returns the number of screens that they need. showScreen shows one of them.
 */
function showColumns(side, width) {
	const log = `#${side} .log`;
	const sheet = new CSSStyleSheet();
	sheet.replaceSync(`
		header, footer, #sides, #toast, section:not(#${side}), section > :not(.log), .reply { display: none !important; }
		body, main, #${side} { display: block; height: 100dvh; max-width: none; padding: 0; border: 0; border-radius: 0; }
		${log} { display: block; height: 100dvh; overflow: auto hidden; scrollbar-width: none; }
		${log} > div { display: block; height: 100dvh; padding: 0; columns: ${width}px; column-gap: 0; column-fill: auto; }
		article { break-inside: avoid; }
		#telegram article { margin: 0; border: solid transparent; border-width: 8px 12px; }
		#telegram article.own { margin-left: auto; }`);
	document.adoptedStyleSheets = [sheet];
	for (const message of document.querySelectorAll("article")) {
		message.hidden = false;
		message.classList.toggle("own", message.dataset.from !== "bot");
	}
	const { scrollWidth, clientWidth } = document.querySelector(log);
	return Math.ceil(scrollWidth / clientWidth);
}

/** Whether the browser has painted the screen that showScreen shows. */
let isPainted = true;

/** Shows the screen with index n, after showColumns. */
function showScreen(side, n) {
	const log = document.querySelector(`#${side} .log`);
	log.scrollLeft = n * log.clientWidth;
	isPainted = false;
	requestAnimationFrame(() => requestAnimationFrame(() => { isPainted = true; }));
	return true;
}
