package redact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"
)

type valuer struct{ text string }

func (v valuer) LogValue() slog.Value { return slog.GroupValue(slog.String("inner", v.text)) }

type stringer struct{ text string }

func (s *stringer) String() string { return s.text }

func TestHandlerHidesSecretsEverywhere(t *testing.T) {
	const secret = "very-secret"
	var out bytes.Buffer
	for _, next := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		out.Reset()
		log := slog.New(New([]string{secret}).Handler(next))
		log = log.With("with", secret).WithGroup("group").With("within", errors.New(secret))
		log.Info("message "+secret,
			"string", "a "+secret,
			"error", fmt.Errorf("wrapped: %w", errors.New(secret)),
			"stringer", &stringer{secret},
			"struct", struct{ Field string }{secret},
			"map", map[string]any{"k": []string{secret}},
			"bytes", []byte(secret),
			"raw", json.RawMessage(`"`+secret+`"`),
			"valuer", valuer{secret},
			slog.Group("nested", slog.Group("deeper", slog.Any("error", errors.New(secret)))),
			secret, 1,
		)
		if strings.Contains(out.String(), secret) {
			t.Errorf("the secret is in %s", out.String())
		}
		if got := strings.Count(out.String(), Mark); got != 13 {
			t.Errorf("%d marks in %s", got, out.String())
		}
	}
}

func TestHandlerKeepsWhatIsNoText(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(New([]string{"very-secret"}).Handler(slog.NewJSONHandler(&out, nil)))
	var nothing *stringer
	log.Info("m", slog.Attr{}, "n", 1, "b", true, "nil", nil, "nothing", nothing)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["n"] != 1.0 || line["b"] != true || line["msg"] != "m" || line["nil"] != "<nil>" || len(line) != 7 {
		t.Errorf("logged %s", out.String())
	}
}

func TestHandlerAsksTheNextForItsLevel(t *testing.T) {
	h := New(nil).Handler(slog.NewTextHandler(&bytes.Buffer{}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if h.Enabled(context.Background(), slog.LevelInfo) || !h.Enabled(context.Background(), slog.LevelWarn) {
		t.Error("the level is not that of the next handler")
	}
}

func TestHandlerBoundsText(t *testing.T) {
	const secret = "very-secret"
	var out bytes.Buffer
	log := slog.New(New([]string{secret}).Handler(slog.NewJSONHandler(&out, nil)))
	log.Info("m", "long", strings.Repeat("é", 10000), "edge", strings.Repeat("x", longest-5)+secret)
	var line struct{ Long, Edge string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if len(line.Long) > longest || len(line.Long) < longest-4 || !utf8.ValidString(line.Long) || !strings.HasSuffix(line.Long, "é…") {
		t.Errorf("%d bytes are logged, ending in %q", len(line.Long), line.Long[len(line.Long)-8:])
	}
	if strings.Contains(line.Edge, "very") {
		t.Error("the cut left the start of a secret")
	}
}
