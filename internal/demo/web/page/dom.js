// Elements, made without markup: what a message says is text and nothing else.

/**
 * An element with its properties, or attributes where it has no such property,
 * and its children: nodes and texts. null and "" are left out.
 */
export function element(name, properties = {}, ...children) {
	const made = document.createElement(name);
	for (const [key, value] of Object.entries(properties)) {
		if (key in made) made[key] = value;
		else made.setAttribute(key, value);
	}
	made.append(...children.flat().filter((child) => child !== null && child !== ""));
	return made;
}

/** The address if it is http or https, else null. Nothing else becomes a link. */
export function webAddress(url) {
	return URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol) ? url : null;
}

/** A link that opens in a tab of its own, or plain text where url is no web address. */
export function link(url, ...children) {
	const href = webAddress(url);
	return element(href ? "a" : "span", href ? { href, target: "_blank", rel: "noopener noreferrer" } : {}, ...children);
}

/** What marks each message of the bot's. */
export function simulated() {
	return element("span", { className: "simulated" }, "(simulated) ");
}

/** A picture from this server. */
export function picture(url, alt) {
	return element("img", { className: "picture", src: new URL(url, location.origin).pathname, alt });
}
