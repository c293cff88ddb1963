// Short notes and alerts over the page.
import { element } from "./dom.js";

/** Shows a short note for 8 seconds. "" removes the note. */
export function toast(text) {
	const note = document.getElementById("toast");
	if (note.textContent !== text) note.textContent = text; // A screen reader reads every assignment aloud.
	clearTimeout(toast.timer);
	toast.timer = setTimeout(() => { note.textContent = ""; }, 8000);
}

/** Shows the alert with which Telegram's app answers a press. */
export function alertDialog(text) {
	const title = element("h2", { id: "dialog-telegram" }, "Telegram says");
	const button = element("button", { className: "button", autofocus: true }, "OK");
	const dialog = element("dialog", { className: "telegram", "aria-labelledby": title.id },
		title,
		element("p", { className: "text" }, text),
		element("form", { method: "dialog", className: "row" }, button));
	dialog.addEventListener("close", () => dialog.remove());
	document.body.append(dialog);
	dialog.showModal();
}
