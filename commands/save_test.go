package commands_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/members"
	"herald/internal/router"
	"herald/internal/service/staking"
)

// as has somebody ask in the community where there is a badge.
func as(t *testing.T, r *router.Router, user, line string) *chat.Reply {
	t.Helper()
	words := strings.Fields(line)
	return r.Handle(t.Context(), &chat.Request{
		Command: strings.TrimPrefix(words[0], "/"), Args: chat.Typed(words[1:]...), From: chat.User{Platform: "telegram", ID: user},
		Community: commandstest.Community, Chat: commandstest.Community,
	})
}

// savingMembers is a world in which addresses are saved and stakers have a badge.
func savingMembers() *commandstest.Answers {
	w := commandstest.Healthy()
	w.Saved.Off, w.Saved.Badges = false, []chat.Badge{{Community: commandstest.Community, ID: "Staker"}}
	return w
}

// A press proves anew, for whoever presses, whatever the button says.
func TestSavingNeedsACompleteProofOfTheSendersOwn(t *testing.T) {
	down := staking.Service.Fail(core.SlowAnswer, errInner)
	for name, test := range map[string]struct {
		user, wallet string
		change       func(*commandstest.Answers)
		saved, has   bool
	}{
		"theirs":              {user: commandstest.Ann, wallet: commandstest.AnnsWallet, saved: true, has: true},
		"theirs, in part":     {user: commandstest.Ann, wallet: commandstest.AnnsWallet, change: func(w *commandstest.Answers) { w.Stake.Failed = unreadPool() }, saved: true, has: true},
		"theirs, idle":        {user: commandstest.Ann, wallet: commandstest.AnnsWallet, change: func(w *commandstest.Answers) { w.Stake = core.Stake{Checked: 21} }, saved: true},
		"another's":           {user: commandstest.Ann, wallet: commandstest.BobsWallet},
		"pressed by another":  {user: commandstest.Bob, wallet: commandstest.AnnsWallet},
		"of the unregistered": {user: commandstest.Stranger, wallet: commandstest.AnnsWallet},
		"nobody's":            {user: commandstest.Ann, wallet: commandstest.Wallet},
		"no wallet":           {user: commandstest.Ann, wallet: "0x12"},
		"stake unread":        {user: commandstest.Ann, wallet: commandstest.AnnsWallet, change: func(w *commandstest.Answers) { w.StakeErr = down }},
		"stake undetermined":  {user: commandstest.Ann, wallet: commandstest.AnnsWallet, change: func(w *commandstest.Answers) { w.Stake = core.Stake{Checked: 20, Failed: unreadPool()} }},
		"owner unread":        {user: commandstest.Ann, wallet: commandstest.AnnsWallet, change: func(w *commandstest.Answers) { w.AccountErrs = map[string]error{"EVM": errInner} }},
		"nameless":            {user: "", wallet: commandstest.AnnsWallet},
	} {
		w := savingMembers()
		if test.change != nil {
			test.change(w)
		}
		r := w.Router(t)
		before := as(t, r, test.user, "/verify "+commandstest.AnnsWallet)
		offers := slices.ContainsFunc(before.Actions, func(a chat.Action) bool { return a.Command == "save" })
		if test.wallet == commandstest.AnnsWallet && offers != test.saved {
			t.Errorf("%s: a button that would save is offered: %t", name, offers)
		}
		if has := w.Saved.Holders(); has != nil {
			t.Errorf("%s: /verify gives the badge to %q", name, has)
		}
		as(t, r, test.user, "/save "+test.wallet)
		if has := w.Saved.Holders(); slices.Contains(has, test.user) != test.has || len(has) > 1 {
			t.Errorf("%s: %q wear the badge, want it has: %t", name, has, test.has)
		}
		reply := as(t, r, test.user, "/verify")
		if saved := reply.Ask == nil && test.user != ""; saved != test.saved {
			t.Errorf("%s: saved %t, want %t: %s", name, saved, test.saved, texts(reply))
		}
	}
}

func TestForgettingSaysAReasonOnce(t *testing.T) {
	still := func(community string) members.Change {
		return members.Change{Badge: members.Badge{Badge: chat.Badge{Community: community}}, Problem: chat.RoleAbove}
	}
	from := savingMembers().Sources()
	from.Members = changing{Members: from.Members, changes: []members.Change{still("A"), still("B")}}
	command, _ := commands.All(from, commands.Options{}).Find("forget")
	reply, err := command.Forms[0].Run(t.Context(), &chat.Request{From: chat.User{Platform: "discord", ID: commandstest.Ann}})
	if said := keys(reply); err != nil || strings.Join(said, " ") != "badge.still badge.still badge.why.role_above forget.later" {
		t.Errorf("%v, %v", said, err)
	}
}

// Nothing is left to try again, and the person has fewer badges than before, as they wanted.
func TestForgettingARoleThatIsDeletedIsDone(t *testing.T) {
	in := func(community string, c members.Change) members.Change {
		c.Badge.Community = community
		return c
	}
	gone := in("A", members.Change{Removed: true, Problem: chat.BadgeGone})
	removed := in("B", members.Change{Removed: true})
	still := in("B", members.Change{Removed: true, Problem: chat.RoleAbove})
	for want, test := range map[string]struct {
		changes []members.Change
		tone    chat.Tone
		buttons int
	}{
		"badge.gone forget.done":                                   {[]members.Change{gone}, chat.Positive, 0},
		"badge.removed badge.gone forget.done":                     {[]members.Change{gone, removed}, chat.Positive, 0},
		"badge.still badge.gone badge.why.role_above forget.later": {[]members.Change{gone, still}, chat.Warning, 1},
	} {
		from := savingMembers().Sources()
		from.Members = changing{Members: from.Members, changes: test.changes}
		command, _ := commands.All(from, commands.Options{}).Find("forget")
		reply, err := command.Forms[0].Run(t.Context(), &chat.Request{From: chat.User{Platform: "discord", ID: commandstest.Ann}})
		if said := strings.Join(keys(reply), " "); err != nil || said != want {
			t.Errorf("says %s, want %s, %v", said, want, err)
		}
		if reply.Tone != test.tone || len(reply.Actions) != test.buttons {
			t.Errorf("%s: tone %d, buttons %v", want, reply.Tone, reply.Actions)
		}
	}
}

// A press that finds a role deleted is about the address that it saves.
func TestSavingSaysLastThatARoleIsDeleted(t *testing.T) {
	from := savingMembers().Sources()
	from.Members = changing{
		Members: from.Members,
		changes: []members.Change{{Removed: true, Problem: chat.BadgeGone}},
		saved:   &members.Saved{},
	}
	command, _ := commands.All(from, commands.Options{}).Find("save")
	reply, err := command.Forms[0].Run(t.Context(), &chat.Request{
		Args: chat.Named(map[string]string{"wallet": commandstest.AnnsWallet}),
		From: chat.User{Platform: "telegram", ID: commandstest.Ann},
	})
	if said := strings.Join(keys(reply), " "); err != nil || said != "badge.gone save.done" || reply.Tone != chat.Positive {
		t.Errorf("says %s, tone %d, %v", said, reply.Tone, err)
	}
}

// Trying again would not help, so that no button does. The log has it.
func TestWhatIsSavedAndUnreadableIsSaid(t *testing.T) {
	theirs := chat.Named(map[string]string{"platform": "Telegram", "uid": commandstest.Bob})
	wallet := chat.Named(map[string]string{"wallet": commandstest.AnnsWallet})
	for name, test := range map[string]struct {
		command string
		form    int
		args    chat.Args
		key     string
		warns   bool
	}{
		"/forget":          {command: "forget", key: "forget.unreadable", warns: true},
		"/verify":          {command: "verify", form: 2, key: "save.unreadable"},
		"/verify a wallet": {command: "verify", form: 1, args: wallet, key: "save.unreadable"},
		"a press":          {command: "save", args: wallet, key: "save.failed", warns: true},
		"/save":            {command: "save", form: 1, key: "save.unreadable"},
		"a moderator":      {command: "exists", form: 2, args: theirs, key: "exists.unreadable"},
	} {
		w := savingMembers()
		w.Saved.Unreadable = true
		command, _ := commands.All(w.Sources(), commands.Options{}).Find(test.command)
		reply, err := command.Forms[test.form].Run(t.Context(), &chat.Request{
			Args: test.args, From: chat.User{Platform: "telegram", ID: commandstest.Ann}, Community: commandstest.Community,
		})
		if said := keys(reply); !slices.Contains(said, test.key) || slices.Contains(said, "forget.nothing") {
			t.Errorf("%s: says %v, want %s", name, said, test.key)
		}
		_, isPartial := errors.AsType[*chat.PartialError](err)
		if !isPartial || !errors.Is(err, members.ErrUnreadable) {
			t.Errorf("%s: error %v", name, err)
		}
		if test.warns && (reply.Tone != chat.Warning || len(reply.Actions) > 0) {
			t.Errorf("%s: tone %d, buttons %v", name, reply.Tone, reply.Actions)
		}
		if offers := slices.ContainsFunc(reply.Actions, func(a chat.Action) bool { return a.Command == "save" }); offers {
			t.Errorf("%s: offers to save", name)
		}
	}
}

// A store that cannot be reached may be there again in a minute.
func TestVerifyLogsThatTheStoreCannotBeReached(t *testing.T) {
	w := savingMembers()
	w.Saved.Away = true
	command, _ := commands.All(w.Sources(), commands.Options{}).Find("verify")
	reply, err := command.Forms[2].Run(t.Context(), &chat.Request{From: chat.User{Platform: "telegram", ID: commandstest.Ann}})
	_, isPartial := errors.AsType[*chat.PartialError](err)
	if said := keys(reply); !slices.Contains(said, "save.unread") || !isPartial {
		t.Errorf("says %v, %v", said, err)
	}
}

// The badge is still worn, and the bot does not know of it any more.
func TestAfterTheStoreWasEmptiedNoBadgeIsClaimed(t *testing.T) {
	for _, line := range []string{"/forget", "/verify", verify} {
		w := savingMembers()
		r := w.Router(t)
		as(t, r, commandstest.Ann, "/save "+commandstest.AnnsWallet)
		w.Saved.Empty()
		reply := as(t, r, commandstest.Ann, line)
		isClaim := func(key string) bool { return strings.HasPrefix(key, "badge.") }
		if said := keys(reply); slices.ContainsFunc(said, isClaim) || slices.Contains(said, "forget.done") {
			t.Errorf("%s: says %v", line, said)
		}
		if has := w.Saved.Holders(); !slices.Equal(has, []string{commandstest.Ann}) {
			t.Errorf("%s: %v wear the badge", line, has)
		}
	}
}

func TestVerifyOfAnotherWalletOffersToSaveIt(t *testing.T) {
	w := savingMembers()
	second := common.HexToAddress(commandstest.Wallet)
	w.Accounts[core.IdentityOf(second)] = w.Accounts[core.IdentityOf(common.HexToAddress(commandstest.AnnsWallet))]
	r := w.Router(t)
	as(t, r, commandstest.Ann, "/save "+commandstest.AnnsWallet)
	reply := as(t, r, commandstest.Ann, "/verify "+commandstest.Wallet)
	offers := slices.ContainsFunc(reply.Actions, func(a chat.Action) bool {
		return a.Command == "save" && slices.Equal(a.Args, []string{second.Hex()})
	})
	if !offers {
		t.Errorf("buttons %v under\n%s", reply.Actions, texts(reply))
	}
	saved, err := w.Sources().Members.Saved(t.Context(), chat.User{Platform: "telegram", ID: commandstest.Ann})
	if err != nil || saved.Wallet != common.HexToAddress(commandstest.AnnsWallet) {
		t.Errorf("saved %+v, %v before the press", saved, err)
	}
}

// Platforms deliver a press again, and people press again.
func TestPressingAgainChangesNothing(t *testing.T) {
	w := savingMembers()
	r := w.Router(t)
	ann := chat.User{Platform: "telegram", ID: commandstest.Ann}
	as(t, r, commandstest.Ann, "/save "+commandstest.AnnsWallet)
	before, _ := w.Sources().Members.Saved(t.Context(), ann)
	as(t, r, commandstest.Ann, "/save "+commandstest.AnnsWallet)
	after, err := w.Sources().Members.Saved(t.Context(), ann)
	if err != nil || after.Wallet != before.Wallet || after.SavedAt != before.SavedAt ||
		!slices.Equal(after.Badges, before.Badges) {
		t.Errorf("after %+v, before %+v, %v", after, before, err)
	}
	if has := w.Saved.Holders(); len(has) != 1 {
		t.Errorf("%v wear the badge", has)
	}
}

func TestForgettingThatHasToWaitIsNoGift(t *testing.T) {
	w := savingMembers()
	r := w.Router(t)
	as(t, r, commandstest.Ann, "/save "+commandstest.AnnsWallet)
	w.Saved.Busy = true
	reply := as(t, r, commandstest.Ann, "/forget")
	if said := keys(reply); reply.Tone != chat.Warning || !slices.Contains(said, "badge.still") || slices.Contains(said, "badge.soon") {
		t.Errorf("%v, tone %v", said, reply.Tone)
	}
}

// A staker who is in no community with a badge has nothing to stake.
func TestOnlyWhoStakesNothingIsToldToStake(t *testing.T) {
	for _, stakes := range []bool{false, true} {
		w := savingMembers()
		w.Saved.Problem = chat.NotAMember
		if !stakes {
			w.Stake = core.Stake{Checked: 21}
		}
		reply := as(t, w.Router(t), commandstest.Ann, "/save "+commandstest.AnnsWallet)
		if said := keys(reply); slices.Contains(said, "save.later") == stakes {
			t.Errorf("stakes %t: %v", stakes, said)
		}
	}
}

// keys returns the keys of a reply's title and notes.
func keys(r *chat.Reply) (all []string) {
	for _, text := range append(r.Notes, r.Title) {
		all = append(all, text.Key)
	}
	return all
}

// Who asks to join a group for stakers need not name the wallet that they have saved.
func TestASavedAddressOpensTheDoor(t *testing.T) {
	w := savingMembers()
	w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Stakers: {Staker: true}}
	r := w.Router(t)
	line := "/join " + commandstest.Stakers
	if reply := as(t, r, commandstest.Ann, line); reply.Join.Admit != nil || reply.Ask == nil {
		t.Errorf("with nothing saved: %s", texts(reply))
	}
	as(t, r, commandstest.Ann, "/save "+commandstest.AnnsWallet)
	if reply := as(t, r, commandstest.Ann, line); reply.Join.Admit == nil || reply.Join.Admit.Group != commandstest.Stakers {
		t.Errorf("with a wallet that stakes: %s", texts(reply))
	}
	w.Stake = core.Stake{Checked: 21}
	reply := as(t, r, commandstest.Ann, line)
	last := reply.Actions[len(reply.Actions)-1]
	if reply.Join.Admit != nil || last.Command != chat.JoinCommand {
		t.Fatalf("with one that does not: %s", texts(reply))
	}
	if again := as(t, r, commandstest.Ann, "/join "+strings.Join(last.Args, " ")); again.Ask == nil || again.Tone == chat.Warning {
		t.Errorf("[Another wallet] asks for none: %s", texts(again))
	}
}

// The sentence before a button that saves an address says where which badges come, by a command and
// after a join request.
func TestConsentSaysWhereTheBadgesAre(t *testing.T) {
	const sees = "Everyone there sees %s; moderators see that you stake; " +
		"only the bot's operator can see the address. /forget deletes it."
	here := chat.Badge{Community: commandstest.Community, ID: "Staker"}
	whale := chat.Badge{Community: commandstest.Stakers, ID: "Whale", Amount: decimal.NewFromInt(1000)}
	other := chat.Badge{Community: "-1005", ID: "Staker"}
	const get = "Save this address to get "
	for want, test := range map[string]struct {
		badges []chat.Badge
		names  string
	}{
		get + "Staker in Token talk. I check the stake every 6 hours.":                                       {[]chat.Badge{here}, "Staker"},
		get + "Staker in Token talk, Whale in Staking lounge. I check the stake every 6 hours.":              {[]chat.Badge{here, whale}, "Staker, Whale"},
		get + "Staker in Token talk, Staker in one of your communities. I check the stake every 6 hours.":    {[]chat.Badge{here, other}, "Staker"},
		"Save this address, and /verify alone is enough from now on. Moderators see whether you stake; only": {nil, ""},
	} {
		w := savingMembers()
		w.Saved.Badges = test.badges
		w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Stakers: {Staker: true}}
		r := w.Router(t)
		letIn := as(t, r, commandstest.Ann, "/join "+commandstest.Stakers+" "+commandstest.AnnsWallet).Join.Admit.Say(chat.LetIn)
		for place, reply := range map[string]*chat.Reply{"/verify": as(t, r, commandstest.Ann, verify), "the door": letIn} {
			said := strings.NewReplacer("«", "", "»", "").Replace(texts(reply))
			all := want
			if test.names != "" {
				all += " " + strings.ReplaceAll(sees, "%s", test.names)
			}
			if !strings.Contains(said, "\n("+all) || !strings.Contains(said, "["+commandstest.AnnsWallet+"]") {
				t.Errorf("%s: want %q in\n%s", place, all, said)
			}
		}
	}
}

// A preview shows little more than the sign of the first line.
func TestNoTickStandsOverBadNews(t *testing.T) {
	idle := func(w *commandstest.Answers) { w.Stake = core.Stake{Checked: 21} }
	loss := &members.Loss{}
	lost := []members.Badge{{Name: "Staker"}}
	going := []members.Has{{Badge: lost[0]}}
	for name, test := range map[string]struct {
		change  func(*commandstest.Answers)
		saved   members.Saved
		changes []members.Change
		want    chat.Tone
	}{
		"staking, all well":         {saved: members.Saved{Badges: going}, want: chat.Positive},
		"not staked":                {change: idle, want: chat.Negative},
		"not staked, Staker lost":   {change: idle, saved: members.Saved{Lost: loss, Missing: lost}, want: chat.Negative},
		"staking, Staker lost":      {saved: members.Saved{Lost: loss, Missing: lost}, want: chat.Negative},
		"staking, Staker going":     {saved: members.Saved{Badges: going, Going: going}, want: chat.Negative},
		"staking, Staker not given": {changes: []members.Change{{Badge: lost[0], Problem: chat.RoleAbove}}, want: chat.Negative},
		"staking, Whale removed":    {changes: []members.Change{{Badge: lost[0], Removed: true}}, want: chat.Negative},
		"staking, Staker given":     {saved: members.Saved{Lost: loss, Missing: lost}, changes: []members.Change{{Badge: lost[0]}}, want: chat.Positive},
	} {
		w := savingMembers()
		if test.change != nil {
			test.change(w)
		}
		test.saved.Wallet = common.HexToAddress(commandstest.AnnsWallet)
		from := w.Sources()
		from.Members = changing{from.Members, test.changes, &test.saved}
		command, _ := commands.All(from, commands.Options{}).Find("verify")
		reply, err := command.Forms[1].Run(t.Context(), &chat.Request{
			Args: chat.Named(map[string]string{"wallet": commandstest.AnnsWallet}), From: chat.User{Platform: "telegram", ID: commandstest.Ann},
		})
		if err != nil || reply.Title.Key != "verify.you.yes" || reply.Tone != test.want {
			t.Errorf("%s: tone %d, want %d: %s, %v", name, reply.Tone, test.want, texts(reply), err)
		}
	}
}

// changing is a Members whose Save, Refresh and Forget return changes.
type changing struct {
	commands.Members
	changes []members.Change
	saved   *members.Saved
}

func (c changing) Save(context.Context, chat.User, common.Address, core.Stake) ([]members.Change, error) {
	return c.changes, nil
}

func (c changing) Refresh(context.Context, chat.User, string, common.Address, core.Stake) ([]members.Change, error) {
	return c.changes, nil
}

func (c changing) Saved(context.Context, chat.User) (*members.Saved, error) {
	return c.saved, nil
}

func (c changing) Forget(context.Context, chat.User) (members.Forgotten, error) {
	return members.Forgotten{Changes: c.changes}, nil
}

// The first line of a saved address says what the text below it explains.
func TestSavedAddressFirstSaysWhatMattersMost(t *testing.T) {
	in := func(community string) members.Badge {
		return members.Badge{Badge: chat.Badge{Community: community, ID: "1"}, Name: "Staker"}
	}
	gave, removed := members.Change{Badge: in(commandstest.Community)}, members.Change{Badge: in("A"), Removed: true}
	failed := members.Change{Badge: in("B"), Problem: chat.RoleAbove}
	still := members.Change{Badge: in("B"), Removed: true, Problem: chat.RoleAbove}
	later := members.Change{Badge: in("C"), Later: true}
	rules := members.Change{Badge: in("D"), Problem: chat.RulesPending}
	removed.Badge.Amount = decimal.NewFromInt(1000)
	saved := map[string]*members.Saved{"lost.amount": {Lost: &members.Loss{}, Missing: []members.Badge{in("B"), removed.Badge}}}
	for name, test := range map[string]struct {
		changes     []members.Change
		title, text string
	}{
		"given":                      {[]members.Change{gave}, "badge.here", "badge.text"},
		"given, after all else":      {[]members.Change{removed, failed, later, gave}, "badge.here", "badge.text"},
		"failed":                     {[]members.Change{failed}, "badge.failed", "badge.why.role_above"},
		"failed, after a removal":    {[]members.Change{removed, failed}, "badge.failed", "badge.why.role_above"},
		"failed, after what waits":   {[]members.Change{later, failed}, "badge.failed", "badge.why.role_above"},
		"not removed, after removal": {[]members.Change{removed, still}, "badge.still", "badge.why.role_above"},
		"before the rules":           {[]members.Change{removed, rules}, "badge.rules", "badge.why.rules_pending"},
		"removed":                    {[]members.Change{removed}, "badge.removed", "badge.text"},
		"removed by a loss":          {[]members.Change{removed}, "badge.removed", "lost.amount"},
		"nothing":                    {nil, "save.done", "save.text"},
	} {
		from := savingMembers().Sources()
		from.Members = changing{from.Members, test.changes, saved[test.text]}
		command, _ := commands.All(from, commands.Options{}).Find("save")
		reply, err := command.Forms[0].Run(t.Context(), &chat.Request{
			Args: chat.Named(map[string]string{"wallet": commandstest.AnnsWallet}), From: chat.User{Platform: "telegram", ID: commandstest.Ann}, Community: commandstest.Community,
		})
		if err != nil || reply.Title.Key != test.title || reply.Text.Key != test.text {
			t.Errorf("%s: %q over %q, %v, want %q over %q", name, reply.Title.Key, reply.Text.Key, err, test.title, test.text)
		}
		tones := map[string]chat.Tone{
			"badge.why.role_above":    chat.Warning,
			"badge.why.rules_pending": chat.Warning,
			"lost.amount":             chat.Negative,
		}
		tone := tones[test.text]
		if test.title == "badge.removed" {
			tone = chat.Negative
		}
		if want := cmp.Or(tone, chat.Positive); reply.Tone != want {
			t.Errorf("%s: tone %v, want %v", name, reply.Tone, want)
		}
	}
}

// The update that says so gives no role, so /verify says why there is none; also to somebody who had
// the role before they left and came back.
func TestVerifySaysThatARoleWaitsForTheRules(t *testing.T) {
	here := chat.Badge{Community: commandstest.Community, ID: "Staker"}
	given := []members.Has{{Badge: members.Badge{Badge: here, Name: "Staker"}, Since: commandstest.Noon}} // before they left
	for pending, want := range map[bool]string{true: "badge.rules badge.why.rules_pending", false: "badge.since"} {
		from := savingMembers().Sources()
		saved := &members.Saved{Wallet: common.HexToAddress(commandstest.AnnsWallet), Stakes: true, Badges: given}
		from.Members = changing{from.Members, nil, saved}
		command, _ := commands.All(from, commands.Options{}).Find("verify")
		i := slices.IndexFunc(command.Forms, func(f chat.Form) bool { return len(f.Params) == 0 })
		reply, err := command.Forms[i].Run(t.Context(), &chat.Request{
			From: chat.User{Platform: "telegram", ID: commandstest.Ann}, Community: commandstest.Community, RulesPending: pending,
		})
		var said []string
		for _, note := range reply.Notes {
			if strings.HasPrefix(note.Key, "badge.") {
				said = append(said, note.Key)
			}
		}
		if err != nil || strings.Join(said, " ") != want {
			t.Errorf("pending %t: %q, %v, want %q", pending, said, err, want)
		}
	}
}

// remembering is a Members that returns the same Saved again and again.
type remembering struct {
	commands.Members
	saved *members.Saved
}

func (r remembering) Saved(context.Context, chat.User) (*members.Saved, error) { return r.saved, nil }

// What moderators read leaves out badges of other communities, and changes nothing that is saved.
func TestModeratorsReadOfTheirCommunityAlone(t *testing.T) {
	here := members.Badge{Badge: chat.Badge{Community: commandstest.Community, ID: "7001"}, Name: "Here"}
	other := members.Badge{Badge: chat.Badge{Community: "other", ID: "7003"}, Name: "Elsewhere"}
	s := &members.Saved{Lost: &members.Loss{}, Missing: []members.Badge{other, here}}
	from := savingMembers().Sources()
	from.Members = remembering{from.Members, s}
	command, _ := commands.All(from, commands.Options{}).Find("exists")
	req := &chat.Request{
		Args:      chat.Named(map[string]string{"platform": "telegram", "uid": commandstest.Bob}),
		Community: commandstest.Community, Role: chat.Moderator, From: chat.User{Platform: "telegram", ID: commandstest.Ann},
	}
	for range 2 {
		reply, err := command.Forms[2].Run(t.Context(), req)
		if said := texts(reply); err != nil || !strings.Contains(said, "Here") || strings.Contains(said, "Elsewhere") {
			t.Errorf("%s, %v", said, err)
		}
	}
	if s.Missing[0] != other || s.Missing[1] != here {
		t.Errorf("missing is %v", s.Missing)
	}
}
