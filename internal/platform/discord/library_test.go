package discord

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat/chattest"
	"herald/internal/platform/discord/api"
)

// An update of discordgo that has one of these fails here, and says what of ours can go. A type
// of ours that is given has the member, so that a row cannot be misspelt, or outlive its use.
func TestLibraryStillLacks(t *testing.T) {
	for _, row := range []struct {
		library, ours reflect.Type
		lacks, canGo  string
	}{
		{reflect.TypeFor[discordgo.MessageAttachment](), reflect.TypeFor[attachment](), "description", "attachment"},
		{reflect.TypeFor[discordgo.Application](), reflect.TypeFor[api.Application](), "interactions_endpoint_url", "api.Application"},
		{reflect.TypeFor[discordgo.Application](), reflect.TypeFor[api.Application](), "bot", "as for interactions_endpoint_url"},
		{reflect.TypeFor[discordgo.Ready](), nil, "resume_gateway_url", "the type of READY in gateway; see whether Session resumes there"},
	} {
		if chattest.HasMember(row.library, row.lacks) {
			t.Errorf("%v has %s now: what can go is %s", row.library, row.lacks, row.canGo)
		}
		if row.ours != nil && !chattest.HasMember(row.ours, row.lacks) {
			t.Errorf("%v has no %s", row.ours, row.lacks)
		}
	}
	if text, err := json.Marshal(discordgo.Activity{}); err != nil || !strings.Contains(string(text), `"created_at":"0001-`) {
		t.Errorf("an activity of discordgo is %s, %v: the one in gateway can go", text, err)
	}
	if open := reflect.TypeFor[func(*discordgo.Session) error](); reflect.TypeOf((*discordgo.Session).Open) != open {
		t.Error("Session.Open has parameters now: see whether it ends with a context")
	}
}
