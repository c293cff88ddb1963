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

// An update of discordgo that has one of these fails here, and says what of ours can go.
func TestLibraryStillLacks(t *testing.T) {
	chattest.StillLacks(t, discordgo.MessageAttachment{}, attachment{}, "description", "attachment")
	chattest.StillLacks(t, discordgo.Application{}, api.Application{}, "interactions_endpoint_url", "api.Application")
	chattest.StillLacks(t, discordgo.Application{}, api.Application{}, "bot", "as for interactions_endpoint_url")
	chattest.StillLacks(t, discordgo.Ready{}, nil, "resume_gateway_url", "the type of READY in gateway; see whether Session resumes there")
	if text, err := json.Marshal(discordgo.Activity{}); err != nil || !strings.Contains(string(text), `"created_at":"0001-`) {
		t.Errorf("an activity of discordgo is %s, %v: the one in gateway can go", text, err)
	}
	if open := reflect.TypeFor[func(*discordgo.Session) error](); reflect.TypeOf((*discordgo.Session).Open) != open {
		t.Error("Session.Open has parameters now: see whether it ends with a context")
	}
}
