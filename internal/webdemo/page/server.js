// The program behind this page: what it shows comes as events, and what is done
// here goes to it. Its protocol is that of package webdemo.

/**
 * Calls onEvent with each event, and onLost while the program is not there. A tab
 * that is hidden leaves its connection to others: a browser has six for all of them.
 */
export function listen(onEvent, onLost) {
	let source;
	const follow = () => {
		source?.close();
		if (document.hidden) return;
		source = new EventSource("/events");
		source.addEventListener("message", (m) => onEvent(JSON.parse(m.data)));
		source.addEventListener("error", onLost);
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
	const response = await call;
	const text = await response.text();
	if (!response.ok) throw new Error(text.trim() || response.statusText);
	return text === "" ? null : JSON.parse(text);
}
