package ops_test

import (
	"testing"

	"herald/internal/config/configtest"
	"herald/internal/ops"
)

func TestSettingsRefuseOtherForms(t *testing.T) {
	configtest.Refuses(t, new(ops.Settings).Table(), "HTTP_ADDR", "host:port or off",
		configtest.Canary, "8080", "host:port", ":70000", "http://host:80")
}

func TestOffIsNoAddress(t *testing.T) {
	s := ops.Settings{Addr: "unchanged"}
	configtest.Fill(t, s.Table(), "HTTP_ADDR=off")
	if s.Addr != "" {
		t.Errorf("the address is %q", s.Addr)
	}
}
