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

// printed returns a value in every form in which it can be printed and logged.
func printed(value any) string {
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
		fmt.Fprintf(&out, verb, value)
	}
	if encoded, err := json.Marshal(value); err == nil {
		out.Write(encoded)
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "s", value)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "s", value)
	return out.String()
}

func TestSecretDoesNotPrint(t *testing.T) {
	const text = "hunter2hunter2"
	secret := New(text)
	type field struct{ s Value }
	type list struct{ s []Value }
	for name, value := range map[string]any{
		"value":            secret,
		"unexported field": field{secret},
		"nested":           &struct{ s *list }{&list{[]Value{secret}}},
	} {
		out := printed(value)
		for _, form := range []string{
			text,
			hex.EncodeToString([]byte(text)),
			strings.ToUpper(hex.EncodeToString([]byte(text))),
			base64.StdEncoding.EncodeToString([]byte(text)),
		} {
			if strings.Contains(out, form) {
				t.Errorf("%s: printed %s: %s", name, form, out)
			}
		}
	}
}

func TestSecretPrintsAMark(t *testing.T) {
	if got := fmt.Sprint(New("hunter2hunter2"), Value{}); got != Mark+" "+Mark {
		t.Errorf("printed %s", got)
	}
}

func TestSecretCanBeRevealed(t *testing.T) {
	secret := New("hunter2")
	if secret.Reveal() != "hunter2" || !secret.IsSet() {
		t.Errorf("Reveal returns %q, IsSet %t", secret.Reveal(), secret.IsSet())
	}
	if (Value{}).IsSet() || New("").IsSet() {
		t.Error("an empty secret is set")
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
	want := []string{
		"0123456789abcdef",
		"a key",
		"a token",
		"fedcba9876543210",
		url,
		"passw/rd",
		"userrrrr",
	}
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
	for _, text := range []string{
		secret,
		url.PathEscape(secret),
		url.QueryEscape(secret),
		strconv.Quote(secret),
		string(encoded),
	} {
		got := r.String("before " + text + " after")
		got = strings.Replace(got, `"`+Mark+`"`, Mark, 1) // Some spellings are quoted.
		if want := "before " + Mark + " after"; got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

func TestStringRedactsSecretsAndDiscordTokensOnly(t *testing.T) {
	r := NewRedactor([]string{"", "short", "six666", "longer-secret", "longer-secret-still"})
	const (
		discord = "https://discord.com/api/v9/interactions/123/"
		quoted  = "u=https%3A%2F%2Fdiscord.com%2Fapi%2Fwebhooks%2F45%2F"
	)
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
			if got := r.String(before + spelling + after); !strings.Contains(got, Mark) {
				t.Errorf("%q becomes %q within a text", spelling, got)
			}
			if got := r.String(spelling); got != Mark {
				t.Errorf("%q becomes %q", spelling, got)
			}
		}
	})
}

// valuer is logged as a group.
type valuer struct{ text string }

func (v valuer) LogValue() slog.Value { return slog.GroupValue(slog.String("inner", v.text)) }

// stringer panics if it is nil.
type stringer struct{ text string }

func (s *stringer) String() string { return s.text }

// options returns the options of a slog.Handler that redacts these secrets.
func options(secrets ...string) *slog.HandlerOptions {
	return &slog.HandlerOptions{ReplaceAttr: NewRedactor(secrets).ReplaceAttr}
}

func TestLogHidesSecretsEverywhere(t *testing.T) {
	const secret = "very-secret"
	var out bytes.Buffer
	for _, handler := range []slog.Handler{
		slog.NewTextHandler(&out, options(secret)),
		slog.NewJSONHandler(&out, options(secret)),
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
			"nil", nil,
			"nothing", (*stringer)(nil),
			"n", 1,
			slog.Group("nested", slog.Group("deeper", slog.Any("error", errors.New(secret)))),
			secret, 1,
		)
		if strings.Contains(out.String(), secret) {
			t.Errorf("the secret is in %s", out.String())
		}
		if got := strings.Count(out.String(), Mark); got != 11 {
			t.Errorf("%d marks, want 11, in %s", got, out.String())
		}
		if strings.Contains(out.String(), "PANIC") || !strings.Contains(out.String(), "<nil>") {
			t.Errorf("a nil value is not logged as <nil>: %s", out.String())
		}
	}
}

// logLong logs a value as JSON, and returns how it was logged.
func logLong(t *testing.T, value, secret string) string {
	t.Helper()
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, options(secret))).Info("m", "value", value)
	var line struct{ Value string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	return line.Value
}

func TestLogCutsLongText(t *testing.T) {
	got := logLong(t, strings.Repeat("é", 10000), "very-secret")
	if len(got) > maxLogged+len("…") || len(got) < maxLogged-4 {
		t.Errorf("%d bytes are logged, want about %d", len(got), maxLogged)
	}
	if !utf8.ValidString(got) || !strings.HasSuffix(got, "é…") {
		t.Errorf("the text ends in %q", got[len(got)-8:])
	}
}

func TestLogRedactsBeforeItCuts(t *testing.T) {
	const secret = "very-secret"
	got := logLong(t, strings.Repeat("x", maxLogged-5)+secret, secret)
	if !strings.HasSuffix(got, "x[reda…") {
		t.Errorf("logged …%s", got[len(got)-16:])
	}
}
