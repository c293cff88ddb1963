package secret

import (
	"bytes"
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

func options(secrets ...string) *slog.HandlerOptions {
	return &slog.HandlerOptions{ReplaceAttr: NewRedactor(secrets).ReplaceAttr}
}

func TestLogHidesSecretsEverywhere(t *testing.T) {
	const secret = "very-secret"
	var out bytes.Buffer
	for _, handler := range []slog.Handler{
		slog.NewTextHandler(&out, options(secret)), slog.NewJSONHandler(&out, options(secret)),
	} {
		out.Reset()
		log := slog.New(handler).With("with", secret).WithGroup("group").With("within", errors.New(secret))
		log.Info("message "+secret,
			"string", "a "+secret,
			"error", fmt.Errorf("wrapped: %w", errors.New(secret)),
			"stringer", &stringer{secret},
			"struct", struct{ Field string }{secret},
			"map", map[string]any{"k": []string{secret}},
			"valuer", valuer{secret},
			"nil", nil, "nothing", (*stringer)(nil), "n", 1,
			slog.Group("nested", slog.Group("deeper", slog.Any("error", errors.New(secret)))),
			secret, 1,
		)
		if strings.Contains(out.String(), secret) {
			t.Errorf("the secret is in %s", out.String())
		}
		if got := strings.Count(out.String(), Mark); got != 11 || strings.Contains(out.String(), "PANIC") || !strings.Contains(out.String(), "<nil>") {
			t.Errorf("%d marks in %s", got, out.String())
		}
	}
}

func TestLogBoundsText(t *testing.T) {
	const secret = "very-secret"
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, options(secret)))
	log.Info("m", "long", strings.Repeat("é", 10000), "edge", strings.Repeat("x", maxLogged-5)+secret)
	var line struct{ Long, Edge string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if len(line.Long) > maxLogged+len("…") || len(line.Long) < maxLogged-4 || !utf8.ValidString(line.Long) || !strings.HasSuffix(line.Long, "é…") {
		t.Errorf("%d bytes are logged, ending in %q", len(line.Long), line.Long[len(line.Long)-8:])
	}
	if !strings.HasSuffix(line.Edge, "x[reda…") {
		t.Errorf("logged …%s", line.Edge[len(line.Edge)-16:])
	}
}
