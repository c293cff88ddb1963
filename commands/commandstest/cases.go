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

// Case is a line that a user typed in a scene, and the reply to it.
type Case struct {
	// Scene is the scene's name, such as "healthy".
	Scene string
	// Line is the command as typed, such as "/exists 12345".
	Line  string
	Reply *chat.Reply
	// Private says that only the sender may read the reply.
	Private bool
	// Direct says that the line was typed in the private chat with the bot.
	Direct bool
	// Asked has the names of the services that were asked for the reply. Pings of /status do not count.
	Asked []string
}

// Cases calls see with each line of each scene, and the reply to it in a language. It is two minutes after Noon in
// simulated time, so that ages in replies are the same in every run.
func Cases(t *testing.T, l chat.Language, see func(Case)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(Noon.Add(2 * time.Minute)))
		for _, s := range scenes() {
			s.play(t, l, see)
		}
	})
}

// Ask returns the reply to a line that Ann types as a moderator of Community.
func Ask(t testing.TB, r *router.Router, line string) *chat.Reply {
	t.Helper()
	return r.Handle(t.Context(), request(line, annModerates()))
}

// scene is a state of the services, and lines that a user types in it.
type scene struct {
	name string
	// change makes healthy services answer as in the scene. If it is nil, they stay healthy.
	change func(*Answers)
	// from is who types the lines. If it is nil, Ann does, as a moderator of Community.
	from *sender
	// wait is how long the rate limit makes each command wait.
	wait fixedWait
	// lines are commands, and events between them.
	lines []string
	// outcomes is set if every line is a join request that the bot approves. There is then also a Case for each
	// ApprovalResult below outcomes.
	outcomes chat.ApprovalResult
}

// Events, which happen between the commands of a scene.
const (
	unstake = "(unstaked)"        // the wallet stakes nothing any more
	later   = "(six hours later)" // every saved address is checked
	refuse  = "(refused)"         // the platform refuses to give or remove badges from now on
	gone    = "(deleted)"         // the community has deleted all badges
)

// sender is a user of Telegram who types a line, and the chat where they type it.
type sender struct {
	id        string // empty: anonymous
	role      chat.Role
	community string // empty: the private chat with the bot
	title     string // of the community, or of the group that they ask to join
	ephemeral bool   // replies can be shown to the sender alone
}

// communityTitle is the title of Community.
const communityTitle = "Token *talk*"

// annModerates returns Ann, who types as a moderator of Community.
func annModerates() sender {
	return sender{id: Ann, role: chat.Moderator, community: Community, title: communityTitle}
}

// play calls see with the reply to each command of the scene.
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
		if isEvent := w.happen(t, line); isEvent {
			continue
		}
		req := request(line, from)
		req.Locale = string(l)
		w.asked = nil
		played := Case{
			Scene:   s.name,
			Line:    line,
			Reply:   r.Handle(t.Context(), req),
			Private: r.Visibility(req.Command) == chat.Private,
			Direct:  req.Direct,
		}
		played.Asked = w.asked // Handle has set it.
		see(played)
		for outcome := range s.outcomes {
			see(played.after(outcome))
		}
	}
	if s.name == badlyTyped && w.StakesAsked+len(w.AccountsAsked) > 0 {
		t.Error("a service was asked about bad input")
	}
}

// happen makes the event of a line happen. It returns false if the line is not an event.
func (w *Answers) happen(t *testing.T, line string) bool {
	switch line {
	case unstake:
		w.Stake = core.Stake{Block: 1, BlockTime: time.Now(), Checked: 21}
	case later:
		w.Saved.checkAll(t)
	case refuse:
		w.Saved.Problem = chat.RoleAbove
	case gone:
		w.Saved.Problem = chat.BadgeGone
	default:
		return false
	}
	return true
}

// after returns the Case for what becomes of the reply after this outcome of the approval.
func (c Case) after(outcome chat.ApprovalResult) Case {
	return Case{
		Scene:   c.Scene,
		Line:    fmt.Sprint(c.Line, ", outcome ", outcome),
		Reply:   c.Reply.Join.Admit.Say(outcome).In(c.Reply.Language),
		Private: true,
		Direct:  c.Direct,
	}
}

// request returns the request that a sender makes by typing a line.
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

// Services are all services that the commands ask, in the order of commands.Sources.Services.
var Services = services()

func services() (all []*core.Service) {
	for _, s := range Healthy().Sources().Services {
		all = append(all, s.Health().Service)
	}
	return all
}

// Reasons are all reasons why a service can fail.
var Reasons = []core.Reason{
	core.Unreachable, core.SlowAnswer, core.Limited, core.UsedUp, core.NoCredit, core.Denied,
	core.Rejected, core.Malformed, core.NoData, core.Behind, core.Paused,
}
