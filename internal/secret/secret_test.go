package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSecretDoesNotPrint(t *testing.T) {
	const value = "hunter2hunter2"
	secret := New(value)
	for name, shape := range map[string]any{
		"value":            secret,
		"unexported field": struct{ s Value }{secret},
		"nested":           &struct{ s *struct{ s []Value } }{&struct{ s []Value }{[]Value{secret}}},
	} {
		var out strings.Builder
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
			fmt.Fprintf(&out, verb, shape)
		}
		if encoded, err := json.Marshal(shape); err == nil {
			out.Write(encoded)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "s", shape)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "s", shape)
		for _, form := range []string{value, hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))), base64.StdEncoding.EncodeToString([]byte(value))} {
			if strings.Contains(out.String(), form) {
				t.Errorf("%s: printed %s: %s", name, form, out.String())
			}
		}
	}
	if secret.Reveal() != value || !secret.IsSet() || (Value{}).IsSet() || New("").IsSet() {
		t.Error("Reveal or IsSet is wrong")
	}
	if got := fmt.Sprint(secret, Value{}); got != Mark+" "+Mark {
		t.Errorf("printed %s", got)
	}
}

func TestSecretsIncludeKeysInURLs(t *testing.T) {
	const url = "https://userrrrr:passw%2Frd@rpc.example.org/v3/mainnet/0123456789abcdef?apikey=fedcba9876543210"
	type Inner struct{ URL Value }
	got := Of(struct {
		Name      string
		Key, None Value
		Inner
		Other Inner
	}{"a name", New("a key"), Value{}, Inner{New(url)}, Inner{New("a token")}})
	slices.Sort(got)
	want := []string{"0123456789abcdef", "a key", "a token", "fedcba9876543210", url, "passw/rd", "userrrrr"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestStringFindsEverySpelling(t *testing.T) {
	const secret = `123:a+b/c d"é&<token>`
	encoded, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRedactor([]string{"", "short", secret})
	for _, text := range []string{secret, url.PathEscape(secret), url.QueryEscape(secret), strconv.Quote(secret), string(encoded)} {
		if got := strings.Trim(r.String("before "+text+" after"), `"`); strings.Replace(got, `"`+Mark+`"`, Mark, 1) != "before "+Mark+" after" {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestStringLeavesTheRest(t *testing.T) {
	r := NewRedactor([]string{"", "short", "six666", "longer-secret", "longer-secret-still"})
	const discord, quoted = "https://discord.com/api/v9/interactions/123/", "u=https%3A%2F%2Fdiscord.com%2Fapi%2Fwebhooks%2F45%2F"
	for text, want := range map[string]string{
		"a short message":                          "a short message",
		"a six666 message":                         "a " + Mark + " message",
		"longer-secret-still here":                 Mark + " here",
		"x longer-secret":                          "x " + Mark,
		"/webhooks/12/":                            "/webhooks/12/",
		"see /interactions and /webhooks":          "see /interactions and /webhooks",
		discord + "aW50ZXJhY3Rpb24_x-y.z/callback": discord + Mark + "/callback",
		`"/webhooks/45/aW50ZXI/messages/@x": EOF`:  `"/webhooks/45/` + Mark + `/messages/@x": EOF`,
		quoted + "aW50ZXI%2Fmessages":              quoted + Mark + "%2Fmessages",
	} {
		if got := r.String(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func FuzzString(f *testing.F) {
	f.Add("secret", "before ", " after")
	f.Add("[redacted]", "", "")
	f.Add("\xff\x00\xfe%2F\"\\<", "a", "b")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		if len(secret) < minSecret || strings.Contains(Mark, secret) {
			return
		}
		r := NewRedactor([]string{secret})
		for _, spelling := range encodings(secret) {
			if got := r.String(before + spelling + after); !strings.Contains(got, Mark) || r.String(spelling) != Mark {
				t.Errorf("%q becomes %q", spelling, got)
			}
		}
	})
}

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
