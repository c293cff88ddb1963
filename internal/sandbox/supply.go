package sandbox

import (
	"fmt"
	"io"
	"net/http"

	"herald/internal/core"
)

// supplyHost answers its two questions in two forms, as such hosts do: bare
// text and JSON.
type supplyHost struct {
	world core.Supply
	// What it answers, as whole bodies.
	total       string
	circulating string
}

func newSupplyHost(w World) supplyHost {
	return supplyHost{
		world:       w.Supply,
		total:       w.Supply.Total.String(),
		circulating: fmt.Sprintf(`{"result":%q}`, w.Supply.Circulating),
	}
}

func (s supplyHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	switch r.URL.Path {
	case "/total-supply":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s.total)
	case "/circulating-supply":
		writeJSON(w, http.StatusOK, s.circulating)
	default:
		http.NotFound(w, r)
	}
}
