// The page: events of the program become messages, and what is done with them
// goes back to it.
import { Chat } from "./chat.js";
import { Composer } from "./composer.js";
import { alertDialog, toast } from "./dialogs.js";
import { discordMessage } from "./discord.js";
import { element } from "./dom.js";
import { Joins } from "./joins.js";
import { Role } from "./role.js";
import { get, listen, post } from "./server.js";
import { telegramMessage } from "./telegram.js";
import { tellTimesIn } from "./times.js";

const $ = (id) => document.getElementById(id);

const state = await get("/state");
const reader = { as: state.people[0].name, chat: state.chats[0], language: state.languages[0] };
const noMenu = { telegram: [], discord: [] };
let menu = noMenu;
let typing; // the timer that ends it
let begun = false; // to tell what was not there before this page

/** "member" as it stands at the beginning of a line: "Member". */
const titled = (word) => word.charAt(0).toUpperCase() + word.slice(1);

/** The name of a person or the channel by an ID in the state, or a person's name there. What is neither stays. */
function nameOf(id) {
	const person = state.people.find((one) => [one.name, one.telegram, one.discord].includes(id));
	if (person) return titled(person.name);
	return id === state.channel ? "general" : id;
}

/** Fills a group of radio buttons. chosen is called with the one that is picked. */
function choice(id, values, chosen) {
	$(id).append(...values.map((value, n) => {
		const input = element("input", { type: "radio", name: id, value, checked: n === 0 });
		input.addEventListener("change", () => chosen(value));
		return element("label", {}, input, titled(value));
	}));
}

function select(id, value) {
	$(id).querySelector(`[value="${value}"]`).click();
}

/** Looks as somebody else, somewhere else or in another language. */
async function look(changes) {
	Object.assign(reader, changes);
	composer.reply(null);
	$("chat").querySelector(`[value="${reader.chat}"]`).parentElement.classList.remove("new");
	telegram.showTo(reader);
	discord.showTo(reader);
	tellTimesIn(reader.language);
	await refreshMenu();
}

async function refreshMenu() {
	const query = String(new URLSearchParams(reader));
	const answered = await tried(get("/menu?" + query)) ?? noMenu;
	if (query !== String(new URLSearchParams(reader))) return; // somebody else looks already
	menu = answered;
	showTelegramPlace(false);
	$("discord").querySelector(".place").replaceChildren(...(reader.chat === "group" ? [element("span", {}, "# general"), ...members()] : [alone()]));
	composer.refresh();
}

const alone = () => `Herald and ${titled(reader.as)}`;

/** Says who is in the chat on Telegram, or that the bot is typing there. */
function showTelegramPlace(typing) {
	const people = state.people.map(({ name }) => titled(name)).join(", ");
	$("telegram").querySelector(".place").textContent = typing ? "Herald is typing…" : reader.chat === "group" ? people : alone();
}

/** The people in the channel, each with what can be done with them. */
function members() {
	if (menu.discord.length === 0) return [];
	return state.people.map(({ name }) => element("details", { className: "member", name: "member", "aria-label": titled(name) },
		element("summary", {}, titled(name)),
		...menu.discord.map((entry) => {
			const button = element("button", { type: "button", className: "button" }, entry.label);
			button.addEventListener("click", () => {
				button.closest("details").open = false;
				send({ side: "discord", kind: "pick", text: entry.name, target: name });
			});
			return button;
		})));
}

/** What a call to the server gives, or null where it failed, which is said. */
async function tried(call) {
	try {
		return await call;
	} catch (err) {
		toast(err.message);
		return null;
	}
}

/** Does something as the reader. It gives the result, or null where that failed. */
async function send(act) {
	const result = await tried(post("/act", { ...reader, oldApp: $("old-app").checked, ...act }));
	if (result?.hint) toast(`Discord: ${result.hint}`);
	return result;
}

const botLink = `https://t.me/${state.botName}`;

/** What the messages of either side can have done. */
const act = {
	nameOf,
	opensBot: (url) => url === botLink || url.startsWith(botLink + "?"),
	/** Opens the private chat with the bot by a link, as Telegram does. */
	open(url) {
		select("chat", "private");
		const start = new URL(url).searchParams.get("start");
		if (start !== null) send({ side: "telegram", kind: "say", text: `/start ${start}`.trim(), chat: "private" });
	},
	copy(text) {
		navigator.clipboard.writeText(text).then(() => toast("Copied"), () => toast("The browser does not allow copying"));
	},
	reply(event) {
		const said = event.message.text ?? event.message.caption ?? "";
		composer.reply(event, `To ${event.from === "bot" ? "Herald" : nameOf(event.from)} on Telegram: ${said.trim()}`,
			event.message.reply_markup?.input_field_placeholder);
	},
};

const telegram = new Chat($("telegram"), (event) => telegramMessage(event, {
	...act, find: (id) => telegram.find(id),
	press: (event, button) => send({ side: "telegram", kind: "press", message: event.id, button, chat: event.chat }),
}));
const discord = new Chat($("discord"), (event) => discordMessage(event, {
	...act, press: (event, button) => send({ side: "discord", kind: "press", message: event.id, button, chat: event.chat }),
}));
const chats = { telegram, discord };

const composer = new Composer(suggestions, (text, replyTo) => {
	if (replyTo) return send({ side: "telegram", kind: "say", text, message: replyTo.id });
	return send({ side: "both", kind: "say", text });
});

const joins = new Joins(state.joinChats, state.people, nameOf, (as, target) => {
	select("as", as);
	select("chat", "private"); // where the bot writes to them
	send({ side: "telegram", kind: "join", target });
});

/** What could be written next in place of the last word of a text. */
function suggestions(text) {
	const last = text.match(/\S*$/)[0];
	if (/^\/\w*$/.test(text)) {
		return menu.telegram.map(({ command, description }) => ({ value: "/" + command, note: description })).filter(({ value }) => value.startsWith(text));
	}
	if (last.startsWith("0")) return wallets.filter(({ value }) => value.startsWith(last));
	if (!last.startsWith("@")) return [];
	return state.people.map(({ name }) => ({ value: "@" + name, note: "" })).filter(({ value }) => value.startsWith(last));
}

/** The wallets of the examples, for whoever is asked for one. */
const wallets = state.examples.filter(({ text }) => text.startsWith("/staked ")).map(({ text, note }) => ({ value: text.split(" ")[1], note }));

/** What each kind of event does. */
const happens = {
	reset() {
		telegram.retell();
		discord.retell();
	},
	live() {
		if (!begun && telegram.empty && discord.empty) send({ side: "both", kind: "say", text: state.examples[0].text });
		begun = true;
		telegram.retold();
		discord.retold();
		get("/state").then(showState, () => {}); // another tab may have switched one
		refreshMenu();
	},
	gone: (event) => chats[event.side].remove(event.id),
	alert({ message, for: person }) {
		if (person !== reader.as) return;
		if (message.url) act.open(message.url);
		if (message.show_alert) alertDialog(message.text);
		else if (message.text) toast(message.text);
	},
	typing(event) {
		if (event.chat !== reader.chat || event.for && event.for !== reader.as) return;
		showTelegramPlace(true);
		clearTimeout(typing);
		typing = setTimeout(() => showTelegramPlace(false), 5000);
	},
	menu: refreshMenu,
	message: show,
	asked: show,
	thinking: show,
	join: (event) => joins.put(event),
	badges({ side, message }) {
		$(`badges-${side}`).textContent = message.map(nameOf).join(", ") || "nobody";
		role.put(side, message);
	},
};

function show(event) {
	const changed = chats[event.side].put(event);
	role.check();
	if (event.side === "telegram") showTelegramPlace(false);
	if (!changed || !begun || event.from !== "bot" || event.for && event.for !== reader.as) return;
	if (event.chat !== reader.chat) $("chat").querySelector(`[value="${event.chat}"]`).parentElement.classList.add("new");
	else if (event.message?.reply_markup?.force_reply) act.reply(event);
}

const faultID = (name) => "fault-" + name.replaceAll(" ", "-");

/** Shows what goes wrong, and the chat's language. */
function showState({ faults, chatLanguage }) {
	$("chat-language").value = chatLanguage;
	for (const { name, on } of faults) $(faultID(name)).checked = on;
}

/** Turns a fault on or off. It gives null where that failed. */
async function setFault(name, on) {
	const now = await tried(post("/faults", { [name]: on }));
	if (now) showState(now);
	return now;
}

/** Has six hours pass. It gives null where that failed. */
async function later() {
	const passed = await tried(post("/later", {}));
	if (passed) toast("Six hours have passed");
	return passed;
}

choice("as", state.people.map(({ name }) => name), (as) => look({ as }));
choice("chat", state.chats, (chat) => look({ chat }));

const languageName = (lang) => titled(new Intl.DisplayNames([lang], { type: "language" }).of(lang));
for (const id of ["language", "chat-language"]) {
	$(id).append(...state.languages.map((value) => element("option", { value, lang: value }, languageName(value))));
}
$("language").addEventListener("change", (event) => look({ language: event.target.value }));
$("chat-language").value = state.chatLanguage;
$("chat-language").addEventListener("change", (event) => tried(post("/language", { language: event.target.value })));

$("faults").append(...state.faults.map(({ name, note, on }) => {
	const picked = element("input", { type: "checkbox", id: faultID(name), checked: on });
	picked.addEventListener("change", async () => {
		if (!await setFault(name, picked.checked)) picked.checked = !picked.checked;
	});
	return element("label", { title: note }, picked, titled(name));
}));

$("later").addEventListener("click", async () => {
	$("later").disabled = true;
	await later();
	$("later").disabled = false;
});

const role = new Role(state.people[0].name, wallets[0].value, {
	say(text) {
		select("as", state.people[0].name);
		select("chat", "group");
		return send({ side: "both", kind: "say", text });
	},
	setStaked: (on) => setFault("unstaked", !on),
	later,
});

$("examples").append(...state.examples.map(({ text, note }) => {
	const short = text.replace(/(0x\w{4})\w+(\w{4})/, "$1…$2");
	const button = element("button", { type: "button", title: text }, short, " ", element("span", {}, note));
	button.addEventListener("click", () => send({ side: "both", kind: "say", text }));
	return button;
}));

$("theme").value = localStorage.getItem("theme") ?? "";
const dress = () => { document.documentElement.dataset.theme = $("theme").value; };
$("theme").addEventListener("change", () => {
	localStorage.setItem("theme", $("theme").value);
	dress();
});
dress();

// On a narrow or a low screen the chats need the room.
const large = matchMedia("(min-width: 761px) and (min-height: 801px)");
const unfold = () => { $("more").open = large.matches; };
large.addEventListener("change", unfold);
unfold();

$("text").dataset.placeholder = $("text").placeholder;
await look({});
listen((event) => happens[event.kind]?.(event), toast);
