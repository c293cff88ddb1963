// The parts of Discord's Markdown that the bot uses.
// https://discord.com/developers/docs/reference#message-formatting
import { element, link } from "./dom.js";
import { ago } from "./times.js";

/** Matches one marked part of a line. The name of the group that has matched is the kind of the part. */
const markedPart = new RegExp([
	/\\(?<escaped>[^\p{L}\p{N}\s])/,
	/`(?<code>[^`]+)`/,
	/\*\*(?<bold>(?:\\.|[^\\])+?)\*\*/,
	/\[(?<label>(?:\\.|[^\\\]])+)\]\((?<url>https?:\/\/[^\s)]+)\)/,
	/<t:(?<time>\d+)(?::\w)?>/,
	/<@!?(?<user>\d+)>/,
	/<#(?<channel>\d+)>/,
	/<\/(?<command>[^:>]+):\d+>/,
].map(({ source }) => source).join("|"), "gu");

/** Makes the element that shows a text. nameOf returns the name of the user or channel with an ID. */
export function markdown(text, nameOf) {
	return element("div", { className: "markdown" }, ...text.split("\n").map((line) => paragraph(line, nameOf)));
}

/** Makes the element of a line. A line that begins with "-# " is small print. */
function paragraph(line, nameOf) {
	const isSmall = line.startsWith("-# ");
	return element("p", { className: isSmall ? "small" : "" }, ...nodes(isSmall ? line.slice(3) : line, nameOf));
}

/** Returns the nodes that show a text without newlines. */
function nodes(text, nameOf) {
	const made = [];
	let position = 0;
	for (const match of text.matchAll(markedPart)) {
		made.push(text.slice(position, match.index), partNode(match.groups, nameOf));
		position = match.index + match[0].length;
	}
	made.push(text.slice(position));
	return made.filter((node) => node !== "");
}

/** Returns the node that shows a marked part. */
function partNode(part, nameOf) {
	if (part.escaped) return part.escaped;
	if (part.code) return element("code", {}, part.code);
	if (part.bold) return element("strong", {}, ...nodes(part.bold, nameOf));
	if (part.url) return link(part.url, ...nodes(part.label, nameOf));
	if (part.time) return ago(Number(part.time));
	if (part.user) return mention("@" + nameOf(part.user));
	if (part.command) return mention("/" + part.command);
	return mention("#" + nameOf(part.channel));
}

const mention = (text) => element("span", { className: "mention" }, text);
