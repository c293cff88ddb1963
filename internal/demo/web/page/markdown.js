// As much of Discord's markup as Herald's renderer writes.
// https://discord.com/developers/docs/reference#message-formatting
import { element, link } from "./dom.js";
import { ago } from "./times.js";

const inline = new RegExp([
	/\\(?<escaped>[^\p{L}\p{N}\s])/,
	/`(?<code>[^`]+)`/,
	/\*\*(?<bold>(?:\\.|[^\\])+?)\*\*/,
	/\[(?<label>(?:\\.|[^\\\]])+)\]\((?<url>https?:\/\/[^\s)]+)\)/,
	/<t:(?<time>\d+)(?::\w)?>/,
	/<@!?(?<user>\d+)>/,
	/<#(?<channel>\d+)>/,
	/<\/(?<command>[^:>]+):\d+>/,
].map((one) => one.source).join("|"), "gu");

/** The nodes of one line. nameOf gives the name of a user or channel by its ID. */
function marked(line, nameOf) {
	const nodes = [];
	let from = 0;
	for (const found of line.matchAll(inline)) {
		nodes.push(line.slice(from, found.index), node(found.groups, nameOf));
		from = found.index + found[0].length;
	}
	nodes.push(line.slice(from));
	return nodes.filter((part) => part !== "");
}

function node(is, nameOf) {
	if (is.escaped) return is.escaped;
	if (is.code) return element("code", {}, is.code);
	if (is.bold) return element("strong", {}, ...marked(is.bold, nameOf));
	if (is.url) return link(is.url, ...marked(is.label, nameOf));
	if (is.time) return ago(Number(is.time));
	if (is.user) return element("span", { className: "mention" }, "@" + nameOf(is.user));
	if (is.command) return element("span", { className: "mention" }, "/" + is.command);
	return element("span", { className: "mention" }, "#" + nameOf(is.channel));
}

/** A text of many lines. A line that begins with "-# " is small print. */
export function markdown(text, nameOf) {
	return element("div", { className: "markdown" }, ...text.split("\n").map((line) => {
		const small = line.startsWith("-# ");
		return element("p", { className: small ? "small" : "" }, ...marked(small ? line.slice(3) : line, nameOf));
	}));
}
