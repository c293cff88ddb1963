package config

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestSecretDoesNotPrint(t *testing.T) {
	const value = "hunter2hunter2"
	secret := NewSecret(value)
	shapes := map[string]any{
		"value":            secret,
		"pointer":          &secret,
		"exported field":   struct{ S Secret }{secret},
		"unexported field": struct{ s Secret }{secret},
		"nested":           &struct{ s *struct{ s []Secret } }{&struct{ s []Secret }{[]Secret{secret}}},
		"map":              map[string]Secret{"k": secret},
		"config":           &Config{RedisURL: secret, Telegram: Telegram{Token: secret}},
		"error":            fmt.Errorf("broken: %v", secret),
	}
	for name, shape := range shapes {
		var out strings.Builder
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
			fmt.Fprintf(&out, verb, shape)
		}
		if encoded, err := json.Marshal(shape); err == nil {
			out.Write(encoded)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "s", shape)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "s", shape)
		out.Write(log.Bytes())
		for _, form := range []string{value, hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))), base64.StdEncoding.EncodeToString([]byte(value))} {
			if strings.Contains(out.String(), form) {
				t.Errorf("%s: printed %s: %s", name, form, out.String())
			}
		}
	}
	if secret.Reveal() != value || !secret.IsSet() || (Secret{}).IsSet() || NewSecret("").IsSet() {
		t.Error("Reveal or IsSet is wrong")
	}
	if got := fmt.Sprint(secret, Secret{}); got != "[secret] [unset]" {
		t.Errorf("printed %s", got)
	}
}
