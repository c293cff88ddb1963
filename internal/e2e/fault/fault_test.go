package fault

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fault has a name of its own and ends as it begins, at the same port; a service
// that closes ends the calls that hang.
func TestAServiceFailsUntilItIsMended(t *testing.T) {
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answered := func(target Target) bool {
		resp, err := client.Get(s.At(target).URL())
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	}
	for _, target := range Targets {
		names := map[string]bool{}
		for _, f := range Of(target) {
			s.At(target).SetFault(f)
			if names[f.Name] || f.refuse && answered(target) {
				t.Errorf("%s: %q is there twice, or answers although nothing listens", target, f.Name)
			}
			names[f.Name] = true
		}
		s.At(target).SetFault(Fault{})
		if !answered(target) {
			t.Errorf("%s does not answer after its faults", target)
		}
	}
	s.Chain.SetFault(Hang())
	hung, before := make(chan bool), s.Chain.Requests()
	go func() { hung <- answered(Chain) }()
	for s.Chain.Requests() == before && t.Context().Err() == nil {
		continue
	}
	if err := s.Close(); err != nil || <-hung {
		t.Errorf("the call that hung was answered: %v", err)
	}
}
