package e2e

import (
	"flag"
	"os"
	"runtime/debug"
	"sync"
	"testing"

	"herald/internal/e2e/e2etest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests mostly wait, so more of them run at once than there are processors.
	_ = flag.Set("test.parallel", "8")
	debug.SetGCPercent(400) // The heap is small, and collections would take a quarter of the tests' time.
	code := m.Run()
	if dir, err := programs(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// binary returns the path of the built bot. The first call builds it.
func binary(t *testing.T) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return e2etest.BuildBot(t, dir)
}

// programs returns the folder of the built bot, which TestMain removes.
var programs = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "herald-e2e") })
