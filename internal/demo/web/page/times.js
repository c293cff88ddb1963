// Times, as the reader's app shows them: in its language, and in the time zone of the browser.
import { element } from "./dom.js";

/** The units of ages, and their lengths in seconds. */
const units = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/** The language of the times, as a BCP 47 tag. */
let language = "en";

/** Makes an element with the age of a Unix time in seconds, such as "3 minutes ago". It is updated every second. */
export function ago(unix) {
	const time = element("time", { dateTime: new Date(unix * 1000).toISOString() });
	time.dataset.ago = unix;
	show(time);
	return time;
}

/** Makes an element with the time of day of a Unix time in seconds. If withDay is set, the day stands before it. */
export function clock(unix, withDay = false) {
	const time = element("time", { dateTime: new Date(unix * 1000).toISOString() });
	time.dataset.clock = unix;
	if (withDay) time.dataset.dated = "";
	show(time);
	return time;
}

/** Shows all times in a language, given as a BCP 47 tag. */
export function showTimesIn(tag) {
	language = tag;
	document.querySelectorAll("time").forEach(show);
}

/** Writes the text of an element that ago or clock has made. */
function show(time) {
	if (time.dataset.clock) showClock(time);
	else showAge(time);
}

function showClock(time) {
	const at = new Date(time.dataset.clock * 1000);
	const timeOfDay = at.toLocaleTimeString(language, { hour: "numeric", minute: "2-digit" });
	const withDay = "dated" in time.dataset;
	time.textContent = withDay ? `${dayOf(at)}${language === "en" ? " at" : ""} ${timeOfDay}` : timeOfDay;
}

/** The day of a Date: "Today", or a date such as "11/28/2026". */
function dayOf(at) {
	const isToday = at.toDateString() === new Date().toDateString();
	if (!isToday) return at.toLocaleDateString(language);
	const today = new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(0, "day");
	return today.charAt(0).toUpperCase() + today.slice(1);
}

function showAge(time) {
	const seconds = Math.round(time.dataset.ago - Date.now() / 1000);
	const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
	const format = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
	const age = format.format(Math.trunc(seconds / length), unit);
	if (time.textContent !== age) time.textContent = age;
	const at = new Date(time.dataset.ago * 1000);
	time.title = at.toLocaleString(language, { dateStyle: "long", timeStyle: "short" });
}

setInterval(() => document.querySelectorAll("time[data-ago]").forEach(show), 1000);
