package discord

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/platform"
)

// start is what a test's first answer is as of: a minute before simulate makes the Adapter.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(untilSimulate - time.Minute)

// refresh is a button under an answer.
var refresh = chat.Action{Label: chat.Say("Refresh"), Command: "price", Edit: true, Refresh: true}

// pressEffect is where the answer to a press appears.
type pressEffect string

const (
	replaces     pressEffect = "replaces the message"
	newPublic    pressEffect = "is a new message that everybody can read"
	newEphemeral pressEffect = "is a new message that only the user who pressed can read"
)

// asOf returns a Source of a time after start.
func asOf(later time.Duration) chat.Source {
	return chat.Source{AsOf: chat.Version{Time: start.Add(later)}}
}

// firstAnswer returns the answer under which checkPresses presses.
func firstAnswer() *chat.Reply {
	return &chat.Reply{
		Title:   chat.Say("the answer"),
		Text:    chat.Say("text"),
		Source:  asOf(0),
		Checked: start,
		Actions: []chat.Action{refresh},
	}
}

// press is a press by user 6 of a button under the answer to user 5. The button may be forged.
type press struct {
	under string      // the command whose answer has the button
	state string      // of the button; "" is the state of Refresh
	reply *chat.Reply // to the press
	want  pressEffect
	says  string // text that the answer must contain
}

// speed is how long the answer to a press takes. If the answer replaces the message, firstResponse is the number that
// Discord gives to the first response.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object
type speed struct {
	takes         time.Duration
	firstResponse int
}

var (
	atOnce   = speed{takes: 0, firstResponse: 7}               // UPDATE_MESSAGE
	deferred = speed{takes: 5 * time.Second, firstResponse: 6} // DEFERRED_UPDATE_MESSAGE
)

// checkPresses presses each button, with an answer at once and with a deferred one.
func checkPresses(t *testing.T, cases map[string]press) {
	t.Helper()
	for name, tt := range cases {
		for _, s := range []speed{atOnce, deferred} {
			t.Run(fmt.Sprint(name, " after ", s.takes), func(t *testing.T) {
				simulateBothWays(t, func(t *testing.T, h *adapterTest) { tt.check(t, h, s) })
			})
		}
	}
}

// check presses the button, and fails the test unless the answer appears where it should.
func (tt press) check(t *testing.T, h *adapterTest, s speed) {
	h.replyAfter(0, firstAnswer())
	p := h.ask(t, command(tt.under))
	before := p.Answer().Message
	refreshButton, _ := before.Button("Refresh")
	h.replyAfter(s.takes, tt.reply)
	if h.way == byHTTP && s == deferred {
		h.fake.Script(fakediscord.Edit, tooEarly, tooEarly)
		h.fake.Script(fakediscord.FollowUp, tooEarly, tooEarly)
	}
	a := h.ask(t, p.Press("6", cmp.Or(tt.state, refreshButton.CustomID))).Answer()
	pass(10 * time.Second)
	if tt.want == replaces {
		equal(t, "type of the first response", a.Type, s.firstResponse)
	}
	tt.checkShown(t, before, h.fake.Messages())
}

// checkShown fails the test unless the answer to the press is shown where it should be. before is the message with the
// button before the press, and all are the messages after it.
func (tt press) checkShown(t *testing.T, before fakediscord.Message, all []fakediscord.Message) {
	t.Helper()
	newest := all[len(all)-1]
	checkText(t, newest, tt.says)
	if tt.want == replaces {
		equal(t, "messages", len(all), 1)
		equal(t, "message", newest.ID, before.ID)
		equal(t, "it is ephemeral", newest.Ephemeral, before.Ephemeral)
		return
	}
	equal(t, "messages", len(all), 2)
	equal(t, "the new message is ephemeral", newest.Ephemeral, tt.want == newEphemeral)
	if tt.want == newEphemeral {
		equal(t, "the new message is seen by", newest.SeenBy, "6")
	}
	equal(t, "text of the message with the button", all[0].Text(), before.Text())
	equal(t, "the message with the button has the answer", strings.Contains(all[0].Everything(), tt.says), false)
}

func TestANewerAnswerReplacesTheMessage(t *testing.T) {
	checkPresses(t, map[string]press{
		"an answer": {
			under: "price",
			reply: &chat.Reply{Title: chat.Say("new"), Source: asOf(time.Minute)},
			want:  replaces,
			says:  "new",
		},
		"another page of a private answer": {
			under: "mylogins",
			state: "1 e 0 mylogins 2",
			reply: &chat.Reply{Title: chat.Say("new")},
			want:  replaces,
			says:  "new",
		},
		"the answer to an unlisted private command": {
			under: "mylogins",
			state: "1 e 0 save 0x1",
			reply: &chat.Reply{Title: chat.Say("new")},
			want:  replaces,
			says:  "new",
		},
		"another answer without a version": {
			under: "price",
			reply: &chat.Reply{Title: chat.Say("new")},
			want:  replaces,
			says:  "new",
		},
	})
}

func TestAButtonThatDoesNotEditOpensAMessage(t *testing.T) {
	checkPresses(t, map[string]press{
		"a public command": {
			under: "price",
			state: "1 n 0 price",
			reply: &chat.Reply{Title: chat.Say("new")},
			want:  newPublic,
			says:  "new",
		},
		"a private command": {
			under: "price",
			state: "1 n 0 mylogins",
			reply: &chat.Reply{Title: chat.Say("secret")},
			want:  newEphemeral,
			says:  "secret",
		},
	})
}

func TestAnAnswerThatIsNotNewerIsNotShown(t *testing.T) {
	checkPresses(t, map[string]press{
		"an older answer": {
			under: "price",
			reply: &chat.Reply{Title: chat.Say("new"), Source: asOf(-time.Minute)},
			want:  newEphemeral,
			says:  "Nothing newer yet",
		},
		"an answer of the same second": {
			under: "price",
			reply: &chat.Reply{Title: chat.Say("new"), Source: asOf(time.Second - 1)},
			want:  newEphemeral,
			says:  "Nothing newer yet",
		},
		"the same answer without a version": {
			under: "price",
			reply: &chat.Reply{
				Title:   chat.Say("the answer"),
				Text:    chat.Say("text"),
				Checked: start,
				Actions: []chat.Action{refresh},
			},
			want: newEphemeral,
			says: "Nothing newer yet",
		},
	})
}

// A reply for one user never replaces a message that others see, and neither does a reply without an answer.
func TestARefusalDoesNotReplaceTheMessage(t *testing.T) {
	checkPresses(t, map[string]press{
		"a limit": {
			under: "price",
			reply: &chat.Reply{Title: chat.Say("Too many"), Audience: chat.SenderAlone},
			want:  newEphemeral,
			says:  "Too many",
		},
		"a limit with a picture": {
			under: "price",
			reply: &chat.Reply{Title: chat.Say("Too many"), Audience: chat.SenderAlone, Image: &curve},
			want:  newEphemeral,
			says:  "Too many",
		},
		"no answer": {
			under: "price",
			reply: &chat.Reply{Title: chat.NoAnswer("price")},
			want:  newEphemeral,
			says:  "Price unavailable",
		},
	})
}

// A button does not decide who sees its answer. Anybody can forge one, and a button of an earlier version may name a
// command that has become private.
func TestAForgedOrOldButtonShowsNothingToOthers(t *testing.T) {
	checkPresses(t, map[string]press{
		"private, forged to edit": {
			under: "price",
			state: "1 e 0 mylogins",
			reply: &chat.Reply{Title: chat.Say("secret"), Source: asOf(0)},
			want:  newEphemeral,
			says:  "secret",
		},
		"private, forged to refresh": {
			under: "price",
			state: "1 e tlpwu8 exists 6",
			reply: &chat.Reply{Title: chat.Say("secret"), Source: asOf(0)},
			want:  newEphemeral,
			says:  "secret",
		},
		"unlisted, forged to edit": {
			under: "price",
			state: "1 e 0 save 0x1",
			reply: &chat.Reply{Title: chat.Say("secret")},
			want:  newEphemeral,
			says:  "secret",
		},
		"an unknown command": {
			under: "price",
			state: "1 e 0 nonsense",
			reply: &chat.Reply{Title: chat.Say("secret")},
			want:  newEphemeral,
			says:  "secret",
		},
		"of another version": {
			under: "price",
			state: "0 price",
			reply: &chat.Reply{Title: chat.Say("secret")},
			want:  newEphemeral,
			says:  "has expired",
		},
	})
}

// Discord may refuse an edit, for example because the message is gone.
func TestARefusedEditBecomesANewMessage(t *testing.T) {
	for name, tt := range map[string]struct {
		slow  time.Duration // how long the command takes
		route fakediscord.Route
		fault discordtest.Fault
	}{
		"at once": {
			route: fakediscord.Callback,
			fault: discordtest.Fault{Status: http.StatusBadRequest, Code: 50035},
		},
		"deferred": {
			slow:  5 * time.Second,
			route: fakediscord.Edit,
			fault: discordtest.Fault{Status: http.StatusNotFound, Code: 10008},
		},
	} {
		for answered, isPrivate := range map[string]bool{"price": false, "mylogins": true} {
			t.Run(name+", "+answered, func(t *testing.T) {
				simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
					p := h.ask(t, command(answered))
					h.replyAfter(tt.slow, &chat.Reply{Title: chat.Say("new")})
					h.fake.Script(tt.route, tt.fault)
					h.ask(t, p.Press("5", "1 e 0 "+answered))
					all := h.messages(t, 2)
					equal(t, "the new message is ephemeral", all[1].Ephemeral, isPrivate)
					checkText(t, all[1], "new")
					h.checkCount(t, "answered", 2)
				})
			})
		}
	}
}

// Only the user sees a refusal, unless everybody has seen its deferral.
func TestRefusalsOfPublicCommandsAreEphemeral(t *testing.T) {
	simulateBothWays(t, func(t *testing.T, h *adapterTest) {
		for _, picture := range []*chat.Image{nil, &curve} {
			h.replyAfter(0, &chat.Reply{Title: chat.Say("Too many"), Audience: chat.SenderAlone, Image: picture})
			a := h.ask(t, command("price")).Answer()
			equal(t, "it is ephemeral", a.Ephemeral, true)
			equal(t, "it is seen by", a.SeenBy, "5")
			equal(t, "it was deferred", a.Deferred, picture != nil)
		}
		h.replyAfter(5*time.Second, &chat.Reply{Title: chat.Say("Too many"), Audience: chat.SenderAlone})
		a := h.ask(t, command("price")).Answer()
		equal(t, "after a deferral, it is ephemeral", a.Ephemeral, false)
		equal(t, "edits", a.Edits, 1)
		checkText(t, a, "Too many")
	})
}

// followUp is a follow-up whose first calls fail.
type followUp struct {
	faults []discordtest.Fault // of the calls, in order

	wantShown int           // messages with the answer
	wantCalls int           // of the route
	wantTakes time.Duration // from the first call to the last
}

var limited = discordtest.Fault{Status: 429, RetryAfter: time.Second}

var failedFollowUps = map[string]followUp{
	"nothing fails": {
		wantShown: 1,
		wantCalls: 1,
	},
	"limited again": {
		faults:    []discordtest.Fault{limited, limited, limited, limited},
		wantShown: 1,
		wantCalls: 5,
		wantTakes: 4 * time.Second,
	},
	"502, but carried out": {
		faults:    []discordtest.Fault{{Status: 502, Landed: true}},
		wantShown: 2,
		wantCalls: 2,
		wantTakes: 3 * time.Second,
	},
	"dropped twice": {
		faults:    []discordtest.Fault{{Drop: true}, {DropAnswer: true}},
		wantShown: 2,
		wantCalls: 3,
		wantTakes: 6 * time.Second,
	},
	"5xx three times": {
		faults:    []discordtest.Fault{{Status: 502}, {Status: 500}, {Status: 502}},
		wantCalls: 3,
		wantTakes: 6 * time.Second,
	},
	"refused": {
		faults:    []discordtest.Fault{{Status: 403, Code: 50001}},
		wantCalls: 1,
	},
}

// A follow-up whose outcome is unknown may be shown, so that sending it again shows it twice. It is sent again twice,
// with pauses.
func TestFollowUpsAreRepeatedWithCare(t *testing.T) {
	simulateEach(t, failedFollowUps, func(t *testing.T, h *adapterTest, tt followUp) {
		p := h.ask(t, command("price"))
		h.replyAfter(5*time.Second, &chat.Reply{Title: chat.Say("Too fast"), Audience: chat.SenderAlone})
		h.fake.Script(fakediscord.FollowUp, tt.faults...)
		h.send(t, p.Press("6", priceAgain))
		pass(5*time.Second + tt.wantTakes - time.Millisecond)
		if n := h.fake.Calls(fakediscord.FollowUp); tt.wantTakes > 0 && n >= tt.wantCalls {
			t.Errorf("%d calls before %v, want fewer", n, tt.wantTakes)
		}
		pass(10 * time.Second)
		all := h.messages(t, 1+tt.wantShown)
		equal(t, "calls", h.fake.Calls(fakediscord.FollowUp), tt.wantCalls)
		failures := h.events.Of("answer_failed") + h.events.Of("answer_outcome_unknown")
		equal(t, "it failed", failures == 1, tt.wantShown == 0)
		equal(t, "edits of the message with the button", all[0].Edited, 0)
		for _, m := range all[1:] {
			equal(t, "it is seen by", m.SeenBy, "6")
			equal(t, "it is ephemeral", m.Ephemeral, true)
		}
	})
}

// atBlock returns an answer as of a block, fetched now.
func atBlock(n uint64) *chat.Reply {
	asOf := chat.Version{Time: time.Now(), Block: chat.Block{Chain: 698, Number: n}}
	return &chat.Reply{
		Title:   chat.Say(fmt.Sprintf("block %d", n)),
		Source:  chat.Source{AsOf: asOf},
		Actions: []chat.Action{refresh},
	}
}

// The button's state includes the block of the answer that is shown, so this also works after a restart and on another
// replica.
func TestAnOlderBlockNeverReplacesANewerOne(t *testing.T) {
	for _, slow := range []time.Duration{0, 5 * time.Second} {
		simulateBothWays(t, func(t *testing.T, h *adapterTest) {
			h.replyAfter(0, atBlock(100))
			p := h.ask(t, command("price"))
			pressForBlock := func(n uint64) {
				refreshButton, _ := p.Answer().Button("Refresh")
				h.replyAfter(slow, atBlock(n))
				h.ask(t, p.Press("6", refreshButton.CustomID))
				pass(10 * time.Second)
			}
			pressForBlock(99)
			checkText(t, p.Answer(), "block 100")
			checkText(t, h.messages(t, 2)[1], "Nothing newer yet")
			pressForBlock(105)
			h.Adapter.shown = platform.Shown{} // as in another process, which did not change the message
			pressForBlock(104)
			checkText(t, p.Answer(), "block 105")
			equal(t, "messages", len(h.fake.Messages()), 3)
		})
	}
}

// Both users press the same button, and the older answer comes later.
func TestOfTwoPressesAtOneMomentTheNewerAnswerIsShown(t *testing.T) {
	for _, slow := range []time.Duration{time.Second, 5 * time.Second} {
		simulateBothWays(t, func(t *testing.T, h *adapterTest) {
			h.replyAfter(0, atBlock(100))
			p := h.ask(t, command("price"))
			refreshButton, _ := p.Answer().Button("Refresh")
			h.replyAfter(slow, atBlock(102))
			h.send(t, p.Press("6", refreshButton.CustomID))
			pass(100 * time.Millisecond) // The command of user 6 is running.
			h.replyAfter(0, atBlock(105))
			h.ask(t, p.Press("7", refreshButton.CustomID))
			pass(10 * time.Second)
			checkText(t, p.Answer(), "block 105")
			newest := h.messages(t, 2)[1]
			checkText(t, newest, "Nothing newer yet")
			equal(t, "it is seen by", newest.SeenBy, "6")
		})
	}
}

// The edit to block 105 fails, so block 102 is newer than the answer that is shown.
func TestAnAnswerThatWasNotShownDoesNotCount(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.replyAfter(0, atBlock(100))
		p := h.ask(t, command("price"))
		refreshButton, _ := p.Answer().Button("Refresh")
		h.replyAfter(0, atBlock(105))
		h.fake.Break(fakediscord.Callback, discordtest.Fault{Status: http.StatusForbidden, Code: 50001})
		h.send(t, p.Press("6", refreshButton.CustomID))
		pass(10 * time.Second)
		h.mend(fakediscord.Callback)
		h.replyAfter(0, atBlock(102))
		h.ask(t, p.Press("6", refreshButton.CustomID))
		checkText(t, p.Answer(), "block 102")
	})
}

// The edit to block 105 is refused, so that answer becomes a new message. The old one may still change to block 102.
func TestAMessageThatCouldNotBeChangedMayBeChangedLater(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.replyAfter(0, atBlock(100))
		p := h.ask(t, command("price"))
		refreshButton, _ := p.Answer().Button("Refresh")
		h.replyAfter(0, atBlock(105))
		h.fake.Script(fakediscord.Callback, discordtest.Fault{Status: http.StatusBadRequest, Code: 50035})
		h.ask(t, p.Press("6", refreshButton.CustomID))
		checkText(t, h.messages(t, 2)[1], "block 105")
		checkText(t, p.Answer(), "block 100")
		h.replyAfter(0, atBlock(102))
		h.ask(t, p.Press("6", refreshButton.CustomID))
		checkText(t, p.Answer(), "block 102")
	})
}

// An edit that Discord answers with 5xx is retried for minutes. A newer answer may be shown meanwhile.
func TestARetriedEditDoesNotReplaceANewerAnswer(t *testing.T) {
	simulateBothWays(t, func(t *testing.T, h *adapterTest) {
		h.replyAfter(0, atBlock(100))
		p := h.ask(t, command("price"))
		refreshButton, _ := p.Answer().Button("Refresh")
		h.fake.Script(fakediscord.Edit, slices.Repeat([]discordtest.Fault{{Status: 503}}, 4)...)
		h.replyAfter(5*time.Second, atBlock(101))
		h.send(t, p.Press("6", refreshButton.CustomID))
		pass(6 * time.Second) // The edit to block 101 fails, and is retried.
		h.replyAfter(0, atBlock(102))
		h.ask(t, p.Press("7", refreshButton.CustomID))
		checkText(t, p.Answer(), "block 102")
		pass(5 * time.Minute)
		checkText(t, p.Answer(), "block 102")
	})
}
