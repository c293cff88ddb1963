package web

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
)

// policy lets the page load what is its own, and nothing else.
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

// guarded keeps out what a page of another site could send to this port: calls
// by a name of its own that it has made lead here (DNS rebinding), calls from
// another origin, and forms.
func guarded(port int, h http.Handler) http.Handler {
	hosts := []string{"127.0.0.1:" + strconv.Itoa(port), "localhost:" + strconv.Itoa(port)}
	sameOrigin := http.NewCrossOriginProtection().Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store")
		if !slices.Contains(hosts, r.Host) {
			http.Error(w, "this page is at "+hosts[0], http.StatusMisdirectedRequest)
			return
		}
		if r.Method == http.MethodPost {
			if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
				http.Error(w, "the Content-Type must be application/json", http.StatusUnsupportedMediaType)
				return
			}
		}
		sameOrigin.ServeHTTP(w, r)
	})
}
