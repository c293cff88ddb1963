package discord

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform/platformtest"
)

const (
	inGuild = `"guild_id":"7","channel_id":"8","context":0,"authorizing_integration_owners":{"0":"7"},"member":{"user":{"id":"5"},"permissions":"%d"}`
	inDM    = `"channel_id":"9","context":1,"user":{"id":"5"}`
)

func document(where, data string) []byte {
	kind := 2
	if strings.Contains(data, "component_type") {
		kind = 3
	}
	return fmt.Appendf(nil, `{"id":"1","application_id":"2","type":%d,"token":"t",%s,"data":%s}`, kind, where, data)
}

func TestParse(t *testing.T) {
	me, other := chat.User{Platform: "discord", ID: "5"}, &chat.User{Platform: "discord", ID: "6"}
	guild := fmt.Sprintf(inGuild, 0)
	named := func(pairs ...string) chat.Args {
		values := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = pairs[i+1]
		}
		return chat.Named(values)
	}
	tests := []struct {
		name, where, data string
		want              *chat.Request
	}{
		{"command in a guild", guild, `{"name":"price","type":1}`,
			&chat.Request{Command: "price", From: me, Community: "7", Chat: "8", Args: named()}},
		{"command in a private chat", inDM, `{"name":"price","type":1}`,
			&chat.Request{Command: "price", From: me, Chat: "9", Direct: true, Args: named()}},
		{"group chat is not direct", `"channel_id":"9","context":2,"user":{"id":"5"}`, `{"name":"price","type":1}`,
			&chat.Request{Command: "price", From: me, Chat: "9", Args: named()}},
		{"private chat that does not say what it is, as before contexts", `"channel_id":"9","user":{"id":"5"}`, `{"name":"price","type":1}`,
			&chat.Request{Command: "price", From: me, Chat: "9", Direct: true, Args: named()}},
		{"guild that does not say who brought the bot, as before there were two ways", `"guild_id":"7","channel_id":"8","member":{"user":{"id":"5"}}`, `{"name":"price"}`,
			&chat.Request{Command: "price", From: me, Community: "7", Chat: "8", Args: named()}},
		{"guild of others than the bot's", strings.Replace(fmt.Sprintf(inGuild, 8), `{"0":"7"}`, `{"1":"5"}`, 1), `{"name":"price","type":1}`,
			&chat.Request{Command: "price", From: me, Chat: "8", Args: named()}},
		{"the language of the user", guild + `,"locale":"es-419","guild_locale":"tr"`, `{"name":"price","type":1}`,
			&chat.Request{Command: "price", From: me, Community: "7", Chat: "8", Args: named(), Locale: "es-419"}},
		{"string options by name", guild, `{"name":"exists","type":1,"options":[{"name":"platform","type":3,"value":" EVM "},{"name":"uid","type":3,"value":"0x1"}]}`,
			&chat.Request{Command: "exists", From: me, Community: "7", Chat: "8", Args: named("platform", "EVM", "uid", "0x1")}},
		{"user option", guild, `{"name":"exists","type":1,"options":[{"name":"user","type":6,"value":"6"}]}`,
			&chat.Request{Command: "exists", From: me, Community: "7", Chat: "8", Args: named(), Target: other}},
		{"context menu", guild, `{"name":"Check registration","type":2,"target_id":"6"}`,
			&chat.Request{Command: "exists", From: me, Community: "7", Chat: "8", Args: named(), Target: other}},
		{"option of another kind", guild, `{"name":"price","type":1,"options":[{"name":"n","type":4,"value":3},{"name":"o","type":3,"value":{}}]}`,
			&chat.Request{Command: "price", From: me, Community: "7", Chat: "8", Args: named()}},
		{"button", guild + `,"message":{"flags":0}`, `{"component_type":2,"custom_id":"1 e 0 staked 0x1"}`,
			&chat.Request{Command: "staked", From: me, Community: "7", Chat: "8", Args: chat.Typed("0x1")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			i, forUs := decode(document(test.where, test.data))
			if !forUs {
				t.Fatal("not for us")
			}
			want := test.want
			want.ID, want.CanReplyEphemerally = "reference", true
			i.reference = "reference"
			got, _, err := parse(i, (&platformtest.Handler{}).Commands())
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, target %v, %v", got, got.Target, err)
			}
		})
	}
}

func TestParseIgnoresWhatIsNotForUs(t *testing.T) {
	for name, raw := range map[string]string{
		"from a bot":    `{"id":"1","type":2,"token":"t","user":{"id":"5","bot":true},"data":{"name":"price","type":1}}`,
		"from nobody":   `{"id":"1","type":2,"token":"t","data":{"name":"price","type":1}}`,
		"select menu":   `{"id":"1","type":3,"token":"t","user":{"id":"5"},"data":{"custom_id":"x","component_type":3}}`,
		"no name":       `{"id":"1","type":2,"token":"t","user":{"id":"5"},"data":{"type":1}}`,
		"ping":          `{"id":"1","type":1,"token":"t"}`,
		"without data":  `{"id":"1","type":2,"token":"t","user":{"id":"5"}}`,
		"without token": `{"id":"1","type":2,"user":{"id":"5"},"data":{"name":"price","type":1}}`,
		"forged ID":     `{"id":"../1","type":2,"token":"t","user":{"id":"5"},"data":{"name":"price","type":1}}`,
		"no JSON":       `{"id":`,
	} {
		if _, forUs := decode([]byte(raw)); forUs {
			t.Errorf("%s: taken for a command", name)
		}
	}
}

func TestModeratorsAreToldByTheirPermissions(t *testing.T) {
	for permissions, want := range map[string]bool{
		"0": false, "": false, "-1": false, "all": false, "99999999999999999999999999": false,
		fmt.Sprint(discordgo.PermissionManageMessages | discordgo.PermissionManageRoles | discordgo.PermissionManageChannels): false,
		fmt.Sprint(discordgo.PermissionAdministrator):             true,
		fmt.Sprint(discordgo.PermissionManageGuild):               true,
		fmt.Sprint(discordgo.PermissionModerateMembers):           true,
		fmt.Sprint(discordgo.PermissionKickMembers):               true,
		fmt.Sprint(int64(discordgo.PermissionBanMembers) | 1<<50): true,
	} {
		i, _ := decode(document(strings.Replace(inGuild, "%d", permissions, 1), `{"name":"exists","type":1}`))
		req, _, _ := parse(i, nil)
		equal(t, "a moderator by permissions "+permissions, req.Role == chat.Moderator, want)
	}
}

// A command about roles says that they wait.
func TestAMemberBeforeTheRulesIsToldByTheInteraction(t *testing.T) {
	const pending = `{"user":{"id":"1"},"roles":[],"permissions":"0","pending":%t}`
	for want, where := range map[bool]string{
		true:  `"guild_id":"7","channel_id":"8","member":` + fmt.Sprintf(pending, true),
		false: `"guild_id":"7","channel_id":"8","member":` + fmt.Sprintf(pending, false),
	} {
		i, forUs := decode(document(where, `{"name":"verify","type":1}`))
		req, _, err := parse(i, nil)
		equal(t, "for us", forUs, true)
		equal(t, "error", err, nil)
		equal(t, "pending", req.RulesPending, want)
	}
}

// Whoever brings the bot into a guild of their own can be anything there.
func TestNobodyModeratesWhereTheBotIsNoMember(t *testing.T) {
	for owners, want := range map[string]bool{
		`{"0":"7"}`: true, `{"0":"7","1":"5"}`: true,
		`{"1":"5"}`: false, `{"1":"7"}`: false, `{"0":"0"}`: false, `{"0":"77"}`: false, `{"0":""}`: false, `{}`: false,
		`null`: true, // as before a user could bring a bot along
	} {
		where := strings.Replace(fmt.Sprintf(inGuild, discordgo.PermissionAdministrator), `{"0":"7"}`, owners, 1)
		for _, data := range []string{`{"name":"exists","type":1}`, `{"component_type":2,"custom_id":"1 n 0 exists 6"}`} {
			i, _ := decode(document(where, data))
			req, _, err := parse(i, (&platformtest.Handler{}).Commands())
			equal(t, "a moderator if installed for "+owners, req.Role == chat.Moderator, want)
			equal(t, "the guild is a community", req.Community == "7", want)
			equal(t, "error", err, nil)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(document(fmt.Sprintf(inGuild, 8), `{"name":"exists","type":1,"options":[{"name":"user","type":6,"value":"6"}]}`))
	f.Add(document(inDM, `{"name":"Exists","type":2,"target_id":"6"}`))
	f.Add(document(inDM, `{"component_type":2,"custom_id":"1 e tlpwu8 staked 0x1"}`))
	f.Add([]byte(`{"id":"1","type":2,"token":"t","member":{"user":null},"data":{"options":[null]}}`))
	commands := (&platformtest.Handler{}).Commands()
	f.Fuzz(func(t *testing.T, raw []byte) {
		i, forUs := decode(raw)
		if !forUs {
			return
		}
		if req, _, err := parse(i, commands); err == nil && (req.From.ID == "" || req.Command == "") {
			t.Errorf("half a request: %+v", req)
		}
	})
}
