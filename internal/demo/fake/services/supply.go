package services

import (
	"fmt"
	"io"
	"net/http"

	"herald/internal/core"
)

// supplyHost answers its two questions in two forms, as such hosts do: bare
// text and JSON.
type supplyHost struct{ core.Supply }

func (s supplyHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	switch r.URL.Path {
	case "/total-supply":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s.Total.String())
	case "/circulating-supply":
		writeJSON(w, http.StatusOK, fmt.Sprintf(`{"result":%q}`, s.Circulating))
	default:
		http.NotFound(w, r)
	}
}
