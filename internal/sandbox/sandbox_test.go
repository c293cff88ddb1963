package sandbox_test

import (
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"herald/internal/core"
	"herald/internal/sandbox"
	"herald/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	s, err := sandbox.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestWorldIsPossible(t *testing.T) {
	w := start(t).World
	if len(w.Pools) != 21 {
		t.Errorf("%d pools, want 21", len(w.Pools))
	}
	if !w.Supply.Circulating.LessThan(w.Supply.Total) {
		t.Error("more tokens circulate than exist")
	}
	for i, login := range w.Logins {
		if age := time.Since(login.At); age < 0 || age > 30*24*time.Hour {
			t.Errorf("login %d is %v old, outside of the past 30 days", i, age)
		}
		if i > 0 && login.At.After(w.Logins[i-1].At) {
			t.Errorf("login %d is newer than the one before it", i)
		}
	}
	for _, person := range []sandbox.Person{w.Registered, w.Newcomer, w.Unregistered} {
		for _, account := range person.Accounts {
			if _, err := core.NewIdentity(account.Platform, account.UID); err != nil {
				t.Errorf("%s account: %v", account.Platform, err)
			}
		}
		if person.UID("Telegram") == "" || person.UID("Discord") == "" {
			t.Error("a person lacks an account on a chat platform")
		}
	}
}

func TestSecretsDifferFromStartToStart(t *testing.T) {
	a, b := start(t), start(t)
	if a.SecretKey == b.SecretKey || a.PriceKey == b.PriceKey {
		t.Error("two sandboxes share a secret")
	}
}

func TestCloseFreesThePort(t *testing.T) {
	s, err := sandbox.Start()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sandboxtest.Send(t.Context(), http.MethodGet, s.Supply.URL()+"/total-supply", nil, ""); err == nil {
		t.Error("the supply host still answers")
	}
}
