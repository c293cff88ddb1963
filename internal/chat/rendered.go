package chat

import "sync"

// Rendered caches what adapters make of one Reply that many people get, such as the current price. It is safe for
// concurrent use.
type Rendered struct {
	made sync.Map // what RenderOnce returned, by renderedFor
}

// renderedFor is the key of a rendering in a Rendered. Discord's command IDs are not part of it, so a Reply that links
// commands must not have a Rendered.
type renderedFor struct {
	platform Platform
	language Language
}

// RenderOnce returns what render makes of r for a platform. If r.Rendered is set, RenderOnce caches the result there,
// and returns it to all later callers with the same platform and language. Callers share the result and must not change
// it.
func RenderOnce[T any](p Platform, r *Reply, render func(*Reply) T) T {
	if r.Rendered == nil {
		return render(r)
	}
	key := renderedFor{p, r.Language}
	cached, isCached := r.Rendered.made.Load(key)
	if isCached {
		return cached.(T)
	}
	made := render(r)
	r.Rendered.made.Store(key, made)
	return made
}
