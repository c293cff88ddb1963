// What opens over the page and is closed again: alerts, modals and short notes.
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

/**
 * Discord's modal, which stays open until it is sent. submit is called with the
 * values of its inputs by their custom IDs, and promises null if that failed.
 */
export function modalDialog(modal, submit) {
	const dialog = opened("discord", modal.title);
	const form = element("form", { method: "dialog" }, ...modal.components.map(labelled),
		element("div", { className: "row" },
			element("button", { type: "button", className: "button secondary", value: "cancel" }, "Cancel"),
			element("button", { className: "button primary" }, "Submit")));
	form.querySelector("[value=cancel]").addEventListener("click", () => dialog.close());
	form.addEventListener("submit", async (event) => {
		event.preventDefault();
		if (await submit(Object.fromEntries(new FormData(form)))) dialog.close();
	});
	dialog.append(form);
	dialog.showModal();
}

// A text input in its label, https://discord.com/developers/docs/components/reference#text-input
function labelled({ label, component: input }) {
	return element("label", {}, label, element("input", {
		name: input.custom_id, placeholder: input.placeholder ?? "", value: input.value ?? "", required: input.required ?? true,
		minLength: input.min_length ?? 0, maxLength: input.max_length ?? 4000,
	}));
}

/** An empty dialog with a heading, which leaves the page once it is closed. */
function opened(side, heading) {
	const title = element("h2", { id: `dialog-${side}` }, heading);
	const dialog = element("dialog", { className: side, "aria-labelledby": title.id }, title);
	dialog.addEventListener("close", () => dialog.remove());
	document.body.append(dialog);
	return dialog;
}
