// The page. It shows the server's events as messages, and sends the user's actions to the server. See ../protocol.go.
import { Chat } from "./chat.js";
import { Composer } from "./composer.js";
import { alertDialog, toast } from "./dialogs.js";
import { discordMessage } from "./discord.js";
import { element } from "./dom.js";
import { Joins } from "./joins.js";
import { Role } from "./role.js";
import { get, listen, post } from "./server.js";
import { telegramMessage } from "./telegram.js";
import { showTimesIn } from "./times.js";

const $ = (id) => document.getElementById(id);

/** A State of the protocol: the people, chats, languages, faults and examples. */
const state = await get("/state");

/** The person that the user of the page acts as, the chat that is shown, and the language of the person's apps. */
const reader = { as: state.people[0].name, chat: state.chats[0], language: state.languages[0] };

/** The answer to GET /menu for the reader. */
let menu = { telegram: [], discord: [] };

/** The timer that ends "Herald is typing…". */
let typingTimer;

/** Whether the page has shown all earlier events, so that the next events are new. */
let isLive = false;

const capitalized = (word) => word.charAt(0).toUpperCase() + word.slice(1);

/** The name of the person or channel with this ID or name. An unknown ID is returned as it is. */
function nameOf(id) {
	const person = state.people.find(({ name, telegram, discord }) => [name, telegram, discord].includes(id));
	if (person) return capitalized(person.name);
	return id === state.channel ? "general" : id;
}

/** Adds a radio button for each value, and picks the first one. onPick(value) is called when the user picks one. */
function addRadioButtons(id, values, onPick) {
	$(id).append(...values.map((value, n) => {
		const input = element("input", { type: "radio", name: id, value, checked: n === 0 });
		input.addEventListener("change", () => onPick(value));
		return element("label", {}, input, capitalized(value));
	}));
}

/** Picks a radio button, as the user can. */
function pick(id, value) {
	$(id).querySelector(`[value="${value}"]`).click();
}

/** Changes members of the reader, and shows what that reader sees. */
async function changeReader(changes) {
	Object.assign(reader, changes);
	composer.reply(null);
	markChat(reader.chat, false);
	telegram.showTo(reader);
	discord.showTo(reader);
	showTimesIn(reader.language);
	await refreshMenu();
}

/** Marks a chat in the list of chats if it has new messages, or removes the mark. */
function markChat(chat, hasNew) {
	$("chat").querySelector(`[value="${chat}"]`).parentElement.classList.toggle("new", hasNew);
}

/** Fetches the menu, and shows who is in the chats. */
async function refreshMenu() {
	const query = String(new URLSearchParams(reader));
	const fetched = await orToast(get("/menu?" + query));
	const readerHasChanged = query !== String(new URLSearchParams(reader));
	if (readerHasChanged) return; // Another refreshMenu is fetching the new reader's menu.
	menu = fetched ?? { telegram: [], discord: [] };
	showTelegramPeople();
	showDiscordPeople();
	composer.refresh();
}

const isGroup = () => reader.chat === "group";
const namesInPrivate = () => `Herald and ${capitalized(reader.as)}`;

function showTelegramPeople() {
	const everyone = state.people.map(({ name }) => capitalized(name)).join(", ");
	$("telegram").querySelector(".place").textContent = isGroup() ? everyone : namesInPrivate();
}

function showTyping() {
	$("telegram").querySelector(".place").textContent = "Herald is typing…";
	clearTimeout(typingTimer);
	typingTimer = setTimeout(showTelegramPeople, 5000);
}

function showDiscordPeople() {
	const shown = isGroup() ? [element("span", {}, "# general"), ...members()] : [namesInPrivate()];
	$("discord").querySelector(".place").replaceChildren(...shown);
}

/** The people in Discord's channel, each with a context menu. It is empty if the reader may not use any entry. */
function members() {
	if (menu.discord.length === 0) return [];
	return state.people.map(({ name }) => {
		const properties = { className: "member", name: "member", "aria-label": capitalized(name) };
		const entries = menu.discord.map((entry) => menuEntry(entry, name));
		return element("details", properties, element("summary", {}, capitalized(name)), ...entries);
	});
}

/** A button that picks an entry in the context menu of the person target. */
function menuEntry(entry, target) {
	const button = element("button", { type: "button", className: "button" }, entry.label);
	button.addEventListener("click", () => {
		button.closest("details").open = false;
		send({ side: "discord", kind: "pick", text: entry.name, target });
	});
	return button;
}

/** The result of a call to the server. If the call fails, the page shows the error, and the result is null. */
async function orToast(call) {
	try {
		return await call;
	} catch (err) {
		toast(err.message);
		return null;
	}
}

/** Sends an Act of the reader, and returns its Result, or null if the call fails. */
async function send(act) {
	const result = await orToast(post("/act", { ...reader, oldApp: $("old-app").checked, ...act }));
	if (result?.hint) toast(`Discord: ${result.hint}`);
	return result;
}

const botLink = `https://t.me/${state.botName}`;

/** What messages can do with the page. */
const actions = {
	nameOf,
	opensBot: (url) => url === botLink || url.startsWith(botLink + "?"),
	/** Opens the private chat with the bot by a link, as Telegram does. */
	open(url) {
		pick("chat", "private");
		const start = new URL(url).searchParams.get("start");
		if (start !== null) send({ side: "telegram", kind: "say", text: `/start ${start}`.trim(), chat: "private" });
	},
	copy(text) {
		navigator.clipboard.writeText(text).then(
			() => toast("Copied"),
			() => toast("The browser does not allow copying"));
	},
	/** Makes the next text a reply to a message on Telegram. */
	reply(event) {
		const text = event.message.text ?? event.message.caption ?? "";
		const author = event.from === "bot" ? "Herald" : nameOf(event.from);
		const placeholder = event.message.reply_markup?.input_field_placeholder;
		composer.reply(event, `To ${author} on Telegram: ${text.trim()}`, placeholder);
	},
};

/** Presses a button under the message of an event. */
function press(event, button) {
	send({ side: event.side, kind: "press", message: event.id, button, chat: event.chat });
}

const telegram = new Chat($("telegram"), (event) =>
	telegramMessage(event, { ...actions, press, find: (id) => telegram.find(id) }));
const discord = new Chat($("discord"), (event) => discordMessage(event, { ...actions, press }));
const chats = { telegram, discord };

const composer = new Composer(suggestions, (text, replyTo) => {
	if (replyTo) return send({ side: "telegram", kind: "say", text, message: replyTo.id });
	return send({ side: "both", kind: "say", text });
});

const joins = new Joins(state.joinChats, state.people, nameOf, (as, required) => {
	pick("as", as);
	pick("chat", "private"); // The bot writes to the person there.
	send({ side: "telegram", kind: "join", target: required });
});

/** The wallets in the examples. */
const wallets = state.examples
	.filter(({ text }) => text.startsWith("/staked "))
	.map(({ text, note }) => ({ value: text.split(" ")[1], note }));

/** What the last word of a text could become: commands for "/pri", people for "@", and wallets for "0". */
function suggestions(text) {
	const lastWord = text.match(/\S*$/)[0];
	const isCommand = /^\/\w*$/.test(text);
	let all = [];
	if (isCommand) all = menu.telegram.map(({ command, description }) => ({ value: "/" + command, note: description }));
	else if (lastWord.startsWith("0")) all = wallets;
	else if (lastWord.startsWith("@")) all = state.people.map(({ name }) => ({ value: "@" + name, note: "" }));
	return all.filter(({ value }) => value.startsWith(lastWord));
}

/** The handlers of events, by their kind. */
const handlers = {
	reset() {
		telegram.beginReplay();
		discord.beginReplay();
	},
	live() {
		const isUnused = !isLive && telegram.isEmpty && discord.isEmpty;
		if (isUnused) send({ side: "both", kind: "say", text: state.examples[0].text });
		isLive = true;
		telegram.endReplay();
		discord.endReplay();
		get("/state").then(showState, () => {}); // Another tab may have changed it.
		refreshMenu();
	},
	gone: (event) => chats[event.side].remove(event.id),
	alert({ message, for: person }) {
		if (person !== reader.as) return;
		if (message.url) actions.open(message.url);
		if (message.show_alert) alertDialog(message.text);
		else if (message.text) toast(message.text);
	},
	typing(event) {
		if (event.chat === reader.chat && isForReader(event)) showTyping();
	},
	menu: refreshMenu,
	message: showMessage,
	asked: showMessage,
	thinking: showMessage,
	join: (event) => joins.show(event),
	badges({ side, message: names }) {
		$(`badges-${side}`).textContent = names.map(nameOf).join(", ") || "nobody";
		role.setHolders(side, names);
	},
};

const isForReader = (event) => !event.for || event.for === reader.as;

/** Shows a new or changed message. If it is a new one of the bot, it asks for a reply, or marks its chat. */
function showMessage(event) {
	const hasChanged = chats[event.side].put(event);
	role.check();
	if (event.side === "telegram") showTelegramPeople(); // The bot has stopped typing.
	const isNews = isLive && hasChanged && event.from === "bot" && isForReader(event);
	if (!isNews) return;
	if (event.chat !== reader.chat) markChat(event.chat, true);
	else if (event.message?.reply_markup?.force_reply) actions.reply(event);
}

const faultID = (name) => "fault-" + name.replaceAll(" ", "-");

/** Shows which faults are on, and the language of public answers. */
function showState({ faults, chatLanguage }) {
	$("chat-language").value = chatLanguage;
	for (const { name, on } of faults) $(faultID(name)).checked = on;
}

/** Turns a fault on or off. It returns null if the call fails. */
async function setFault(name, on) {
	const newState = await orToast(post("/faults", { [name]: on }));
	if (newState) showState(newState);
	return newState;
}

/** Lets six hours pass. It returns null if the call fails. */
async function later() {
	const passed = await orToast(post("/later", {}));
	if (passed) toast("Six hours have passed");
	return passed;
}

// The controls.

addRadioButtons("as", state.people.map(({ name }) => name), (as) => changeReader({ as }));
addRadioButtons("chat", state.chats, (chat) => changeReader({ chat }));

const languageName = (tag) => capitalized(new Intl.DisplayNames([tag], { type: "language" }).of(tag));
for (const id of ["language", "chat-language"]) {
	$(id).append(...state.languages.map((tag) => element("option", { value: tag, lang: tag }, languageName(tag))));
}
$("language").addEventListener("change", (event) => changeReader({ language: event.target.value }));
$("chat-language").value = state.chatLanguage;
$("chat-language").addEventListener("change", (event) => orToast(post("/language", { language: event.target.value })));

$("faults").append(...state.faults.map(({ name, note, on }) => {
	const box = element("input", { type: "checkbox", id: faultID(name), checked: on });
	box.addEventListener("change", async () => {
		if (!await setFault(name, box.checked)) box.checked = !box.checked;
	});
	return element("label", { title: note }, box, capitalized(name));
}));

$("later").addEventListener("click", async () => {
	$("later").disabled = true;
	await later();
	$("later").disabled = false;
});

const role = new Role(state.people[0].name, wallets[0].value, {
	say(text) {
		pick("as", state.people[0].name);
		pick("chat", "group");
		return send({ side: "both", kind: "say", text });
	},
	setStaked: (isStaked) => setFault("unstaked", !isStaked),
	later,
});

$("examples").append(...state.examples.map(({ text, note }) => {
	const short = text.replace(/(0x\w{4})\w+(\w{4})/, "$1…$2");
	const button = element("button", { type: "button", title: text }, short, " ", element("span", {}, note));
	button.addEventListener("click", () => send({ side: "both", kind: "say", text }));
	return button;
}));

$("theme").value = localStorage.getItem("theme") ?? "";
const applyTheme = () => { document.documentElement.dataset.theme = $("theme").value; };
$("theme").addEventListener("change", () => {
	localStorage.setItem("theme", $("theme").value);
	applyTheme();
});
applyTheme();

// "Faults and more" is open on a large screen. On any other, the chats need the room.
const largeScreen = matchMedia("(min-width: 761px) and (min-height: 801px)");
const openOnLargeScreen = () => { $("more").open = largeScreen.matches; };
largeScreen.addEventListener("change", openOnLargeScreen);
openOnLargeScreen();

$("text").dataset.placeholder = $("text").placeholder;
await changeReader({});
listen((event) => handlers[event.kind]?.(event), toast);
