package discordtest

import (
	"fmt"
	"slices"
	"testing"
)

func TestAWatcherSeesWhatPeopleSee(t *testing.T) {
	s := New()
	defer s.Close()
	var seen []string
	s.Watch(func(shown Shown) {
		if shown.Modal != nil {
			seen = append(seen, fmt.Sprint("a modal: ", shown.Modal["custom_id"]))
			return
		}
		m := shown.Message
		seen = append(seen, fmt.Sprintf("%s of %s for %q: %q %v", m.ID, shown.Interaction.ID, m.SeenBy, m.Content, shown.Loading))
	})
	callback := func(p *Pending, body string) {
		t.Helper()
		if status, _ := do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", body); status != 204 {
			t.Fatalf("%s: %d, %q", body, status, s.Problems())
		}
	}
	first, _ := s.create(Interaction{Command: "x", UserID: "5"})
	callback(first, `{"type":5,"data":{"flags":64,`+quiet+`}}`)
	do(t, s, "PATCH", "/webhooks/"+s.ApplicationID+"/"+first.Token+"/messages/@original", "", `{"content":"a",`+quiet+`}`)
	message := first.Answer().Message
	second, _ := s.create(Interaction{Button: "b", On: &message, UserID: "5"})
	callback(second, `{"type":7,"data":{"content":"b",`+quiet+`}}`)
	do(t, s, "POST", "/webhooks/"+s.ApplicationID+"/"+second.Token, "", `{"content":"c",`+quiet+`}`)
	third, _ := s.create(Interaction{Button: "b", On: &message, UserID: "5"})
	callback(third, modal("x", labelled("a", "")))
	want := []string{
		message.ID + " of " + first.ID + ` for "5": "" true`,
		message.ID + " of " + first.ID + ` for "5": "a" false`,
		message.ID + " of " + second.ID + ` for "5": "b" false`,
		second.followups[0] + " of " + second.ID + ` for "": "c" false`,
		"a modal: 1:x",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("%q\nwant %q", seen, want)
	}
	if s.Pending(third.ID) != third || s.Pending("0") != nil {
		t.Error("the interaction is not found by its ID")
	}
}

func TestAServerThatForgetsKeepsTheLast(t *testing.T) {
	s := New()
	defer s.Close()
	const most = 10
	s.Remember(most)
	var ids, shown []string
	for range 3 * most {
		p, _ := s.create(Interaction{Command: "x"})
		if status, _ := do(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", "", `{"type":4,"data":{"content":"x",`+quiet+`}}`); status != 204 {
			t.Fatal(status, s.Problems())
		}
		ids, shown = append(ids, p.ID), append(shown, p.Answer().Message.ID)
	}
	for _, id := range ids[:2*most] {
		if s.Pending(id) != nil {
			t.Fatalf("%d interactions are kept", len(s.interactions))
		}
	}
	var left []string
	for _, m := range s.Messages() {
		left = append(left, m.ID)
	}
	if s.Pending(ids[2*most]) == nil || !slices.Equal(left, shown[2*most:]) {
		t.Errorf("not the last are left, but %q of %q", left, shown)
	}
}
