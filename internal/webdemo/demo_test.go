package webdemo_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"regexp"
	"testing"

	"herald/internal/app"
)

// startDemo runs `bot demo --web` until it is told to stop or the test ends, and
// gives the address of its page.
func startDemo(t *testing.T) (url string, stop func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	printed, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := app.DemoWeb(ctx, out, os.Stderr)
		out.CloseWithError(io.EOF)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the demo ends with %v", err)
		}
	})
	lines := bufio.NewScanner(printed)
	for lines.Scan() {
		if url := regexp.MustCompile(`http://\S+`).FindString(lines.Text()); url != "" {
			go func() { _, _ = io.Copy(io.Discard, printed) }()
			return url, stop
		}
	}
	t.Fatal("the demo prints no address")
	return "", stop
}
