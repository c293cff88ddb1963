package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
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

func TestSecretsOfStructsWithinStructsHoldTheKeysWithinURLs(t *testing.T) {
	const url = "https://userrrrr:passw%2Frd@rpc.example.org/v3/0123456789abcdef?apikey=fedcba9876543210"
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
