// What opens over the page and is closed again: alerts and short notes.
import { element } from "./dom.js";

/** A short note that goes by itself. */
export function toast(text) {
	const note = document.getElementById("toast");
	if (note.textContent !== text) note.textContent = text; // which is read out once
	clearTimeout(toast.timer);
	toast.timer = setTimeout(() => { note.textContent = ""; }, 8000);
}

/** Telegram's alert after a press. */
export function alertDialog(text) {
	const dialog = opened("telegram", "Telegram says");
	dialog.append(element("p", { className: "text" }, text),
		element("form", { method: "dialog", className: "row" }, element("button", { className: "button", autofocus: true }, "OK")));
	dialog.showModal();
}

/** An empty dialog with a heading, which leaves the page once it is closed. */
function opened(side, heading) {
	const title = element("h2", { id: `dialog-${side}` }, heading);
	const dialog = element("dialog", { className: side, "aria-labelledby": title.id }, title);
	dialog.addEventListener("close", () => dialog.remove());
	document.body.append(dialog);
	return dialog;
}
