package discord

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform/platformtest"
)

// The fields of an interaction that say where it comes from. The %d stands for the permissions of the member.
const (
	inGuild = `"guild_id":"7","channel_id":"8","context":0,"authorizing_integration_owners":{"0":"7"},` +
		`"member":{"user":{"id":"5"},"permissions":"%d"}`
	inDM = `"channel_id":"9","context":1,"user":{"id":"5"}`
)

// interactionJSON returns an interaction. It is a press if data has a component_type, and otherwise a command.
func interactionJSON(where, data string) []byte {
	kind := 2
	if strings.Contains(data, "component_type") {
		kind = 3
	}
	const format = `{"id":"1","application_id":"2","type":%d,"token":"t",%s,"data":%s}`
	return fmt.Appendf(nil, format, kind, where, data)
}

// named returns the arguments of a command. The pairs are names and values in turn.
func named(pairs ...string) chat.Args {
	values := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		values[pair[0]] = pair[1]
	}
	return chat.Named(values)
}

// parsed returns the Request of an interaction. It checks and then clears the fields that are the same in all tests. It
// ends the test if the interaction is not for us.
func parsed(t *testing.T, where, data string) *chat.Request {
	t.Helper()
	i, forUs := decode(interactionJSON(where, data))
	if !forUs {
		t.Fatal("not for us")
	}
	i.reference = "reference"
	req, _, err := parse(i, (&platformtest.Handler{}).Commands())
	equal(t, "error", err, nil)
	equal(t, "ID", req.ID, "reference")
	equal(t, "can be answered ephemerally", req.CanReplyEphemerally, true)
	req.ID = ""
	req.CanReplyEphemerally = false
	return req
}

func TestARequestSaysWhereItsInteractionComesFrom(t *testing.T) {
	me := chat.User{Platform: "discord", ID: "5"}
	guild := fmt.Sprintf(inGuild, 0)
	for name, tt := range map[string]struct {
		where string
		want  chat.Request
	}{
		"a guild":        {guild, chat.Request{Community: "7", Chat: "8"}},
		"a private chat": {inDM, chat.Request{Chat: "9", Direct: true}},
		"a group chat":   {`"channel_id":"9","context":2,"user":{"id":"5"}`, chat.Request{Chat: "9"}},
		"a private chat, in the older form without context": {
			where: `"channel_id":"9","user":{"id":"5"}`,
			want:  chat.Request{Chat: "9", Direct: true},
		},
		"a guild, in the older form that does not say who installed the bot": {
			where: `"guild_id":"7","channel_id":"8","member":{"user":{"id":"5"}}`,
			want:  chat.Request{Community: "7", Chat: "8"},
		},
		"a guild where only the user has installed the bot": {
			where: strings.Replace(fmt.Sprintf(inGuild, 8), `{"0":"7"}`, `{"1":"5"}`, 1),
			want:  chat.Request{Chat: "8"},
		},
		"a user with a language": {
			where: guild + `,"locale":"es-419","guild_locale":"tr"`,
			want:  chat.Request{Community: "7", Chat: "8", Locale: "es-419"},
		},
	} {
		tt.want.Command = "price"
		tt.want.From = me
		tt.want.Args = named()
		got := parsed(t, tt.where, `{"name":"price","type":1}`)
		if !reflect.DeepEqual(*got, tt.want) {
			t.Errorf("%s: got %+v, want %+v", name, *got, tt.want)
		}
	}
}

func TestARequestHasTheCommandAndItsArguments(t *testing.T) {
	other := &chat.User{Platform: "discord", ID: "6"}
	for name, tt := range map[string]struct {
		data    string
		command string
		args    chat.Args
		target  *chat.User
	}{
		"no options": {
			data:    `{"name":"price","type":1}`,
			command: "price",
			args:    named(),
		},
		"string options": {
			data: `{"name":"exists","type":1,"options":[` +
				`{"name":"platform","type":3,"value":" EVM "},{"name":"uid","type":3,"value":"0x1"}]}`,
			command: "exists",
			args:    named("platform", "EVM", "uid", "0x1"),
		},
		"a user option": {
			data:    `{"name":"exists","type":1,"options":[{"name":"user","type":6,"value":"6"}]}`,
			command: "exists",
			args:    named(),
			target:  other,
		},
		"an entry of a person's menu": {
			data:    `{"name":"Check registration","type":2,"target_id":"6"}`,
			command: "exists",
			args:    named(),
			target:  other,
		},
		"options of other kinds": {
			data: `{"name":"price","type":1,"options":[` +
				`{"name":"n","type":4,"value":3},{"name":"o","type":3,"value":{}}]}`,
			command: "price",
			args:    named(),
		},
		"a button": {
			data:    `{"component_type":2,"custom_id":"1 e 0 staked 0x1"}`,
			command: "staked",
			args:    chat.Typed("0x1"),
		},
	} {
		got := parsed(t, fmt.Sprintf(inGuild, 0), tt.data)
		equal(t, name+": command", got.Command, tt.command)
		equal(t, name+": the arguments are right", reflect.DeepEqual(got.Args, tt.args), true)
		equal(t, name+": the target is right", reflect.DeepEqual(got.Target, tt.target), true)
	}
}

func TestDecodeFindsWhatIsNotForUs(t *testing.T) {
	const (
		user  = `"user":{"id":"5"}`
		price = `"data":{"name":"price","type":1}`
		menu  = `"data":{"custom_id":"x","component_type":3}`
	)
	for name, raw := range map[string]string{
		"from a bot":    `{"id":"1","type":2,"token":"t","user":{"id":"5","bot":true},` + price + `}`,
		"from nobody":   `{"id":"1","type":2,"token":"t",` + price + `}`,
		"a select menu": `{"id":"1","type":3,"token":"t",` + user + `,` + menu + `}`,
		"no name":       `{"id":"1","type":2,"token":"t",` + user + `,"data":{"type":1}}`,
		"a ping":        `{"id":"1","type":1,"token":"t"}`,
		"no data":       `{"id":"1","type":2,"token":"t",` + user + `}`,
		"no token":      `{"id":"1","type":2,` + user + `,` + price + `}`,
		"a forged ID":   `{"id":"../1","type":2,"token":"t",` + user + `,` + price + `}`,
		"not JSON":      `{"id":`,
	} {
		if _, forUs := decode([]byte(raw)); forUs {
			t.Errorf("%s: taken for a command", name)
		}
	}
}

func TestPermissionsMakeAModerator(t *testing.T) {
	const harmless = discordgo.PermissionManageMessages | discordgo.PermissionManageRoles |
		discordgo.PermissionManageChannels
	for permissions, want := range map[string]bool{
		"0":                          false,
		"":                           false,
		"-1":                         false,
		"all":                        false,
		"99999999999999999999999999": false,
		fmt.Sprint(harmless):         false,
		fmt.Sprint(discordgo.PermissionAdministrator):             true,
		fmt.Sprint(discordgo.PermissionManageGuild):               true,
		fmt.Sprint(discordgo.PermissionModerateMembers):           true,
		fmt.Sprint(discordgo.PermissionKickMembers):               true,
		fmt.Sprint(int64(discordgo.PermissionBanMembers) | 1<<50): true,
	} {
		where := strings.Replace(inGuild, "%d", permissions, 1)
		i, _ := decode(interactionJSON(where, `{"name":"exists","type":1}`))
		req, _, _ := parse(i, nil)
		equal(t, "a moderator by permissions "+permissions, req.Role == chat.Moderator, want)
	}
}

func TestAMemberWhoHasNotAcceptedTheRulesIsPending(t *testing.T) {
	for _, pending := range []bool{true, false} {
		where := fmt.Sprintf(`"guild_id":"7","channel_id":"8",`+
			`"member":{"user":{"id":"1"},"roles":[],"permissions":"0","pending":%t}`, pending)
		req := parsed(t, where, `{"name":"verify","type":1}`)
		equal(t, "pending", req.RulesPending, pending)
	}
}

// A user can install the bot for themselves, and use it in a guild of their own, where they are an administrator. That
// does not make them a moderator.
func TestOnlyAGuildThatInstalledTheBotHasModerators(t *testing.T) {
	for owners, want := range map[string]bool{ // by "authorizing_integration_owners"
		`{"0":"7"}`:         true,
		`{"0":"7","1":"5"}`: true,
		`{"1":"5"}`:         false,
		`{"1":"7"}`:         false,
		`{"0":"0"}`:         false,
		`{"0":"77"}`:        false,
		`{"0":""}`:          false,
		`{}`:                false,
		`null`:              true, // the older form, from when only guilds could install a bot
	} {
		byAdministrator := fmt.Sprintf(inGuild, discordgo.PermissionAdministrator)
		where := strings.Replace(byAdministrator, `{"0":"7"}`, owners, 1)
		for _, data := range []string{
			`{"name":"exists","type":1}`,
			`{"component_type":2,"custom_id":"1 n 0 exists 6"}`,
		} {
			i, _ := decode(interactionJSON(where, data))
			req, _, err := parse(i, (&platformtest.Handler{}).Commands())
			equal(t, "a moderator if installed by "+owners, req.Role == chat.Moderator, want)
			equal(t, "the guild is a community", req.Community == "7", want)
			equal(t, "error", err, nil)
		}
	}
}

func FuzzDecode(f *testing.F) {
	const withUser = `{"name":"exists","type":1,"options":[{"name":"user","type":6,"value":"6"}]}`
	f.Add(interactionJSON(fmt.Sprintf(inGuild, 8), withUser))
	f.Add(interactionJSON(inDM, `{"name":"Exists","type":2,"target_id":"6"}`))
	f.Add(interactionJSON(inDM, `{"component_type":2,"custom_id":"1 e tlpwu8 staked 0x1"}`))
	f.Add([]byte(`{"id":"1","type":2,"token":"t","member":{"user":null},"data":{"options":[null]}}`))
	commands := (&platformtest.Handler{}).Commands()
	f.Fuzz(func(t *testing.T, raw []byte) {
		i, forUs := decode(raw)
		if !forUs {
			return
		}
		if req, _, err := parse(i, commands); err == nil && (req.From.ID == "" || req.Command == "") {
			t.Errorf("a request without a sender or a command: %+v", req)
		}
	})
}
