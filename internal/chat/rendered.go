package chat

import "sync"

// Rendered keeps what adapters make of one Reply that many people get, such as the current
// price. It is safe for concurrent use.
type Rendered struct {
	kept sync.Map // by renderedFor
}

// renderedFor is all that a rendering depends on besides the Reply, and what an adapter learns
// once, such as Discord's command IDs: a Reply that links commands must not be Rendered.
type renderedFor struct {
	platform Platform
	language Language
}

// RenderOnce returns what render makes of r for a platform. If r is Rendered, RenderOnce keeps
// the result, and returns it to all later callers with the same platform and language. Callers
// share the result and must not change it.
func RenderOnce[T any](p Platform, r *Reply, render func(*Reply) T) T {
	if r.Rendered == nil {
		return render(r)
	}
	key := renderedFor{p, r.Language}
	if kept, ok := r.Rendered.kept.Load(key); ok {
		return kept.(T)
	}
	made := render(r)
	r.Rendered.kept.Store(key, made)
	return made
}
