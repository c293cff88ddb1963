package discord

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
)

const (
	inGuild = `"guild_id":"7","channel_id":"8","context":0,"member":{"user":{"id":"5"},"permissions":"%d"}`
	inDM    = `"channel_id":"9","context":1,"user":{"id":"5"}`
)

func document(where, data string) []byte {
	return fmt.Appendf(nil, `{"id":"1","application_id":"2","type":2,"token":"t",%s,"data":%s}`, where, data)
}

func TestParse(t *testing.T) {
	me := chat.User{Platform: "discord", ID: "5"}
	guild := fmt.Sprintf(inGuild, 0)
	tests := []struct {
		name, where, data string
		want              chat.Request
	}{
		{"command in a guild", guild, `{"name":"price","type":1}`,
			chat.Request{Command: "price", From: me, Community: "7", Chat: "8"}},
		{"command in a private chat", inDM, `{"name":"price","type":1}`,
			chat.Request{Command: "price", From: me, Chat: "9", Direct: true}},
		{"group chat is not direct", `"channel_id":"9","context":2,"user":{"id":"5"}`, `{"name":"price","type":1}`,
			chat.Request{Command: "price", From: me, Chat: "9"}},
		{"string options by name", guild, `{"name":"exists","type":1,"options":[{"name":"platform","type":3,"value":" EVM "},{"name":"uid","type":3,"value":"0x1"}]}`,
			chat.Request{Command: "exists", From: me, Community: "7", Chat: "8", Args: chat.Named(map[string]string{"platform": "EVM", "uid": "0x1"})}},
		{"user option", guild, `{"name":"exists","type":1,"options":[{"name":"user","type":6,"value":"6"}]}`,
			chat.Request{Command: "exists", From: me, Community: "7", Chat: "8", Target: &chat.User{Platform: "discord", ID: "6"}}},
		{"context menu", guild, `{"name":"Exists","type":2,"target_id":"6"}`,
			chat.Request{Command: "exists", From: me, Community: "7", Chat: "8", Target: &chat.User{Platform: "discord", ID: "6"}}},
		{"option of another kind", guild, `{"name":"price","type":1,"options":[{"name":"n","type":4,"value":3},{"name":"o","type":3,"value":{}}]}`,
			chat.Request{Command: "price", From: me, Community: "7", Chat: "8"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			i, err := decode(document(test.where, test.data))
			if err != nil || !i.forUs() {
				t.Fatalf("not for us: %v", err)
			}
			want := test.want
			want.ID = "reference"
			if want.Args.Len() == 0 {
				want.Args = chat.Named(map[string]string{})
			}
			if got := parse(i, "reference"); !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, target %v", got, got.Target)
			}
		})
	}
}

func TestParsePassesOverWhatIsNotForUs(t *testing.T) {
	for name, raw := range map[string]string{
		"from a bot":    `{"id":"1","type":2,"token":"t","user":{"id":"5","bot":true},"data":{"name":"price","type":1}}`,
		"from nobody":   `{"id":"1","type":2,"token":"t","data":{"name":"price","type":1}}`,
		"member only":   `{"id":"1","type":2,"token":"t","member":{},"data":{"name":"price","type":1}}`,
		"component":     `{"id":"1","type":3,"token":"t","user":{"id":"5"},"data":{"custom_id":"x","component_type":2}}`,
		"message menu":  `{"id":"1","type":2,"token":"t","user":{"id":"5"},"data":{"name":"price","type":3}}`,
		"no name":       `{"id":"1","type":2,"token":"t","user":{"id":"5"},"data":{"type":1}}`,
		"ping":          `{"id":"1","type":1,"token":"t"}`,
		"without data":  `{"id":"1","type":2,"token":"t","user":{"id":"5"}}`,
		"unknown type":  `{"id":"1","type":99,"token":"t","user":{"id":"5"}}`,
		"without token": `{"id":"1","type":2,"user":{"id":"5"},"data":{"name":"price","type":1}}`,
		"forged ID":     `{"id":"../1","type":2,"token":"t","user":{"id":"5"},"data":{"name":"price","type":1}}`,
		"no JSON":       `{"id":`,
	} {
		t.Run(name, func(t *testing.T) {
			if i, err := decode([]byte(raw)); err == nil && i.forUs() {
				t.Error("taken for a command")
			}
		})
	}
}

func TestModeratorsAreToldByTheirPermissions(t *testing.T) {
	for permissions, want := range map[int64]bool{
		0:                                      false,
		discordgo.PermissionManageMessages:     false,
		discordgo.PermissionManageRoles:        false,
		discordgo.PermissionManageChannels:     false,
		discordgo.PermissionAdministrator:      true,
		discordgo.PermissionManageGuild:        true,
		discordgo.PermissionModerateMembers:    true,
		discordgo.PermissionKickMembers:        true,
		discordgo.PermissionBanMembers:         true,
		discordgo.PermissionBanMembers | 1<<50: true,
	} {
		i, err := decode(document(fmt.Sprintf(inGuild, permissions), `{"name":"exists","type":1}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := parse(i, "").Role == chat.Moderator; got != want {
			t.Errorf("permissions %b: %v", permissions, got)
		}
	}
	for _, malformed := range []string{"", "-1", "all", "99999999999999999999999999"} {
		if moderates(malformed) {
			t.Errorf("permissions %q make a moderator", malformed)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(document(fmt.Sprintf(inGuild, 8), `{"name":"exists","type":1,"options":[{"name":"user","type":6,"value":"6"}]}`))
	f.Add(document(inDM, `{"name":"Exists","type":2,"target_id":"6"}`))
	f.Add([]byte(`{"id":"1","type":2,"token":"t","member":{"user":null},"data":{"options":[null]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		i, err := decode(raw)
		if err != nil || !i.forUs() {
			return
		}
		if req := parse(i, "reference"); req.ID != "reference" || req.From.ID == "" || req.Command == "" {
			t.Errorf("half a request: %+v", req)
		}
	})
}
