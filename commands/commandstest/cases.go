package commandstest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/router"
)

// Case is a command as it was typed, and its answer.
type Case struct {
	// Scene names the state of the services, such as "healthy".
	Scene string
	// Line is the command as typed, as in "/exists 12345".
	Line  string
	Reply *chat.Reply
	// Private answers reach the sender alone.
	Private bool
	// Direct marks a chat that only the sender and the bot can read.
	Direct bool
	// Asked has the names of the services that were asked for the answer. /status asks others.
	Asked []string
}

// sender is a user of Telegram who asks.
type sender struct {
	id        string // empty: anonymous
	role      chat.Role
	community string // empty: the private chat with the bot
	title     string // of the chat, or of the group to join
	ephemeral bool   // the platform can show answers to them alone
}

// talk is the title of Community.
const talk = "Token *talk*"

// annModerates returns Ann as a moderator of Community.
func annModerates() sender {
	return sender{id: Ann, role: chat.Moderator, community: Community, title: talk}
}

// scene is some commands in one state of the services.
type scene struct {
	name string
	// change makes healthy services answer as in the scene; nil leaves them healthy.
	change func(*Answers)
	// from is who asks; nil is Ann as a moderator.
	from *sender
	// wait is how long the rate limit makes each command wait.
	wait limit
	// lines are commands, and the names of events.
	lines []string
	// outcomes is how many outcomes of an Admission are shown after each line.
	outcomes chat.ApprovalResult
}

// Lines of a scene that are no commands. They change what the following lines find.
const (
	unstake = "(unstaked)"        // the wallet stakes nothing any more
	later   = "(six hours later)" // for what is saved
	refuse  = "(refused)"         // no badge can be given or removed any more
	gone    = "(deleted)"         // all badges are deleted
)

// Services are all services that can fail, in the order of Sources.
var Services = services()

func services() (all []*core.Service) {
	for _, s := range Healthy().Sources().Services {
		all = append(all, s.Health().Service)
	}
	return all
}

// Reasons are all reasons of a failure.
var Reasons = []core.Reason{
	core.Unreachable, core.SlowAnswer, core.Limited, core.UsedUp, core.NoCredit, core.Denied,
	core.Rejected, core.Malformed, core.NoData, core.Behind, core.Paused,
}

// Cases calls see with every outcome of every command in a language. Time stands still two
// minutes after Noon, so that ages in answers are the same in every run.
func Cases(t *testing.T, l chat.Language, see func(Case)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(Noon.Add(2 * time.Minute)))
		for _, s := range scenes() {
			s.play(t, l, see)
		}
	})
}

// play calls see with the answer to each line of the scene.
func (s scene) play(t *testing.T, l chat.Language, see func(Case)) {
	t.Helper()
	w := Healthy()
	if s.change != nil {
		s.change(w)
	}
	from := annModerates()
	if s.from != nil {
		from = *s.from
	}
	r := w.router(t, s.wait, l)
	for _, line := range s.lines {
		if w.happens(t, line) {
			continue
		}
		req := request(line, from)
		req.Locale = string(l)
		w.asked = nil
		answer := Case{
			Scene:   s.name,
			Line:    line,
			Reply:   r.Handle(t.Context(), req),
			Private: r.Visibility(req.Command) == chat.Private,
			Direct:  req.Direct,
		}
		answer.Asked = w.asked // after Handle
		see(answer)
		for outcome := range s.outcomes {
			see(answer.admitted(outcome))
		}
	}
	if s.name == badlyTyped && w.StakesAsked+len(w.AccountsAsked) > 0 {
		t.Error("a service was asked about bad input")
	}
}

// happens makes an event happen, and reports whether line names one.
func (w *Answers) happens(t *testing.T, line string) bool {
	switch line {
	case unstake:
		w.Stake = core.Stake{Block: 1, BlockTime: time.Now(), Checked: 21}
	case later:
		w.Saved.later(t)
	case refuse:
		w.Saved.Problem = chat.RoleAbove
	case gone:
		w.Saved.Problem = chat.BadgeGone
	default:
		return false
	}
	return true
}

// admitted returns what the answer to a join request becomes after this outcome of the admission.
func (c Case) admitted(outcome chat.ApprovalResult) Case {
	return Case{
		Scene:   c.Scene,
		Line:    fmt.Sprint(c.Line, ", outcome ", outcome),
		Reply:   c.Reply.Join.Admit.Say(outcome).In(c.Reply.Language),
		Private: true,
		Direct:  c.Direct,
	}
}

// Ask returns the answer to line, typed by Ann as a moderator.
func Ask(t testing.TB, r *router.Router, line string) *chat.Reply {
	t.Helper()
	return r.Handle(t.Context(), request(line, annModerates()))
}

// request returns the request of a line that a sender typed.
func request(line string, from sender) *chat.Request {
	typed := strings.Fields(line)
	req := &chat.Request{
		ID:                  "REF",
		Command:             strings.TrimPrefix(typed[0], "/"),
		Args:                chat.Typed(typed[1:]...),
		GroupName:           from.title,
		GroupURL:            "https://t.me/holders",
		From:                chat.User{Platform: "telegram", ID: from.id},
		Community:           from.community,
		Role:                from.role,
		Chat:                from.id,
		Direct:              from.community == "",
		CanReplyEphemerally: from.ephemeral,
	}
	if !req.Direct {
		req.Chat = from.community
	}
	return req
}
