// Makes elements without parsing markup. The texts of messages are always shown as plain text.

/**
 * Makes an element with properties and children. A key of properties that is not a property of the element becomes an
 * attribute. A child is a node, a text or a list of them. null and "" are omitted.
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

/** Returns the URL if it is an http or https URL, and otherwise null. No other URL becomes a link. */
export function webAddress(url) {
	const isWeb = URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol);
	return isWeb ? url : null;
}

/** Makes a link that opens in a new tab. If url is not a web address, it makes plain text. */
export function link(url, ...children) {
	const href = webAddress(url);
	if (href === null) return element("span", {}, ...children);
	return element("a", { href, target: "_blank", rel: "noopener noreferrer" }, ...children);
}

/** Makes the mark that every message of the bot has. */
export function simulated() {
	return element("span", { className: "simulated" }, "(simulated) ");
}

/** Makes a picture. url is its path on this server. */
export function picture(url, alt) {
	return element("img", { className: "picture", src: new URL(url, location.origin).pathname, alt });
}
