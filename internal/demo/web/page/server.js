// The program behind this page: what it shows comes as events, and what is done
// here goes to it. Its protocol is that of internal/demo/web/protocol.go.

// Each start has an address of its own, so that reloading the page would not do.
const stopped = "The demo has stopped. Start it again with “bot demo --web” and open the address that it prints.";

/**
 * Calls onEvent with each event, and say with what is wrong while none can come,
 * or "" when they come again. A tab that is hidden leaves its connection to others: a browser has six for all of them.
 */
export function listen(onEvent, say) {
	let source;
	const follow = () => {
		source?.close();
		if (document.hidden) return;
		source = new EventSource("/events");
		source.addEventListener("message", (m) => onEvent(JSON.parse(m.data)));
		source.addEventListener("open", () => say(""));
		source.addEventListener("error", () => say(stopped));
	};
	document.addEventListener("visibilitychange", follow);
	follow();
}

/** Asks for something. It throws an Error with what was wrong. */
export function get(path) {
	return answer(fetch(path));
}

/** Sends something and gives what it is answered by. It throws an Error with what was wrong. */
export function post(path, body) {
	return answer(fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }));
}

async function answer(call) {
	let response, text;
	try {
		response = await call;
		text = await response.text();
	} catch {
		throw new Error(stopped);
	}
	if (!response.ok) throw new Error(text.trim() || response.statusText);
	return text === "" ? null : JSON.parse(text);
}
