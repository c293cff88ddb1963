// Times as the reader's app tells them: how long ago, in its language and its
// time zone. They go on by themselves.
import { element } from "./dom.js";

const units = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

let language = "en";

/** How long ago a Unix time in seconds was. */
export function ago(unix) {
	const made = element("time", { dateTime: new Date(unix * 1000).toISOString() });
	made.dataset.ago = unix;
	tell(made);
	return made;
}

/** The time of day of a Unix time in seconds, with its day if that is asked for. */
export function clock(unix, dated = false) {
	const made = element("time", { dateTime: new Date(unix * 1000).toISOString() });
	made.dataset.clock = unix;
	if (dated) made.dataset.dated = "";
	tell(made);
	return made;
}

/** Has all times told in a language, a BCP 47 tag. */
export function tellTimesIn(tag) {
	language = tag;
	document.querySelectorAll("time").forEach(tell);
}

function tell(time) {
	if (time.dataset.clock) {
		const at = new Date(time.dataset.clock * 1000);
		const told = at.toLocaleTimeString(language, { hour: "numeric", minute: "2-digit" });
		const today = at.toDateString() === new Date().toDateString();
		const day = today ? new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(0, "day") : at.toLocaleDateString(language);
		time.textContent = "dated" in time.dataset ? `${day.charAt(0).toUpperCase()}${day.slice(1)}${language === "en" ? " at" : ""} ${told}` : told;
		return;
	}
	const seconds = Math.round(time.dataset.ago - Date.now() / 1000);
	const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
	const told = new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(Math.trunc(seconds / length), unit);
	if (time.textContent !== told) time.textContent = told;
	time.title = new Date(time.dataset.ago * 1000).toLocaleString(language, { dateStyle: "long", timeStyle: "short" });
}

setInterval(() => document.querySelectorAll("time[data-ago]").forEach(tell), 1000);
