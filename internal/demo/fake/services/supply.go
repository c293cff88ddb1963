package services

import (
	"fmt"
	"io"
	"net/http"

	"herald/internal/core"
)

// supplyHost answers with the total supply as text, and with the circulating supply as JSON. Real hosts use both forms.
type supplyHost struct{ core.Supply }

func (s supplyHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /total-supply":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s.Total.String())
	case "GET /circulating-supply":
		writeJSON(w, http.StatusOK, fmt.Sprintf(`{"result":%q}`, s.Circulating))
	default:
		http.NotFound(w, r)
	}
}
