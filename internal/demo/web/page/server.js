// Calls the server of this page. ../protocol.go describes the calls.

// The demo has a new address at every start, so reloading the page would not help.
const stoppedText =
	"The demo has stopped. Start it again with “bot demo --web” and open the address that it prints.";

/**
 * Calls onEvent with each event of the server. While the server is unavailable, it calls showProblem with a text, and
 * with "" when the server is available again. A hidden tab closes its connection, because a browser has only six for
 * all tabs.
 */
export function listen(onEvent, showProblem) {
	let source;
	const connect = () => {
		source?.close();
		if (document.hidden) return;
		source = new EventSource("/events");
		source.addEventListener("message", (message) => onEvent(JSON.parse(message.data)));
		source.addEventListener("open", () => showProblem(""));
		source.addEventListener("error", () => showProblem(stoppedText));
	};
	document.addEventListener("visibilitychange", connect);
	connect();
}

/** Makes a GET call, and returns the decoded response. If the call fails, it throws an Error with the reason. */
export function get(path) {
	return responseOf(fetch(path));
}

/** Makes a POST call, and returns the decoded response. If the call fails, it throws an Error with the reason. */
export function post(path, body) {
	const headers = { "Content-Type": "application/json" };
	return responseOf(fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function responseOf(call) {
	let response, text;
	try {
		response = await call;
		text = await response.text();
	} catch {
		throw new Error(stoppedText);
	}
	if (!response.ok) throw new Error(text.trim() || response.statusText);
	return text === "" ? null : JSON.parse(text);
}
