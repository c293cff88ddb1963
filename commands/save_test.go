package commands_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/members"
	"herald/internal/words"
)

// fixedMembers is a Members with this saved address, even after Forget. Save, Refresh and Forget return these changes.
type fixedMembers struct {
	commands.Members
	changes []members.Change
	saved   *members.Saved
}

func (f fixedMembers) Save(context.Context, chat.User, common.Address, core.Stake) ([]members.Change, error) {
	return f.changes, nil
}

func (f fixedMembers) Refresh(
	context.Context, chat.User, string, common.Address, core.Stake,
) ([]members.Change, error) {
	return f.changes, nil
}

func (f fixedMembers) Saved(context.Context, chat.User) (*members.Saved, error) {
	return f.saved, nil
}

func (f fixedMembers) Forget(context.Context, chat.User) (members.Forgotten, error) {
	return members.Forgotten{Changes: f.changes}, nil
}

// commandsWithMembers returns the commands of a bot that asks the services of w, and whose Members is fixedMembers.
func commandsWithMembers(w *commandstest.Answers, changes []members.Change, saved *members.Saved) chat.Commands {
	from := w.Sources()
	from.Members = fixedMembers{Members: from.Members, changes: changes, saved: saved}
	return commands.All(from, commands.Options{})
}

// badgeIn returns a badge of a community.
func badgeIn(community string) members.Badge {
	return members.Badge{Badge: chat.Badge{Community: community, ID: "1"}, Name: "Staker"}
}

// offersToSave reports whether a reply has a button that saves an address.
func offersToSave(r *chat.Reply) bool {
	return slices.ContainsFunc(r.Actions, func(a chat.Action) bool { return a.Command == "save" })
}

// saveCase is a press of a button that saves a wallet.
type saveCase struct {
	name   string
	user   string // who presses
	wallet string
	change func(*commandstest.Answers)
	saved  bool // the address is saved
	given  bool // the user gets the badge
}

// saveCases returns presses by all kinds of users. A press proves again that the wallet is the user's, because anybody
// can forge the button.
func saveCases() []saveCase {
	const anns = commandstest.AnnsWallet
	return []saveCase{
		{name: "theirs", user: commandstest.Ann, wallet: anns, saved: true, given: true},
		{
			name:   "theirs, some pools unread",
			user:   commandstest.Ann,
			wallet: anns,
			change: func(w *commandstest.Answers) { w.Stake.Failed = unreadPool() },
			saved:  true,
			given:  true,
		},
		{name: "theirs, not staking", user: commandstest.Ann, wallet: anns, change: stakesNothing, saved: true},
		{name: "another's", user: commandstest.Ann, wallet: commandstest.BobsWallet},
		{name: "pressed by another", user: commandstest.Bob, wallet: anns},
		{name: "pressed by somebody unregistered", user: commandstest.Stranger, wallet: anns},
		{name: "pressed by somebody anonymous", user: "", wallet: anns},
		{name: "nobody's", user: commandstest.Ann, wallet: commandstest.Wallet},
		{name: "no wallet", user: commandstest.Ann, wallet: "0x12"},
		{
			name:   "stake unread",
			user:   commandstest.Ann,
			wallet: anns,
			change: func(w *commandstest.Answers) { w.StakeErr = chainSlow },
		},
		{name: "stake undetermined", user: commandstest.Ann, wallet: anns, change: stakeUndetermined},
		{
			name:   "owner unread",
			user:   commandstest.Ann,
			wallet: anns,
			change: func(w *commandstest.Answers) { w.AccountErrs = map[string]error{"EVM": errInner} },
		},
	}
}

// answers returns the services of the case.
func (c saveCase) answers() *commandstest.Answers {
	w := savingMembers()
	if c.change != nil {
		c.change(w)
	}
	return w
}

func TestSavingNeedsACompleteProofOfTheSendersOwn(t *testing.T) {
	for _, c := range saveCases() {
		w := c.answers()
		r := w.Router(t)
		inGroup(t, r, c.user, "/save "+c.wallet)
		holders := w.Saved.Holders()
		if slices.Contains(holders, c.user) != c.given || len(holders) > 1 {
			t.Errorf("%s: %q have the badge, want it given: %t", c.name, holders, c.given)
		}
		reply := inGroup(t, r, c.user, "/verify")
		asksForWallet := reply.Ask != nil
		if saved := !asksForWallet && c.user != ""; saved != c.saved {
			t.Errorf("%s: saved %t, want %t: %s", c.name, saved, c.saved, texts(reply))
		}
	}
}

func TestVerifyOffersToSaveOnlyWhatWouldBeSaved(t *testing.T) {
	for _, c := range saveCases() {
		if c.wallet != commandstest.AnnsWallet {
			continue
		}
		if reply := inGroup(t, c.answers().Router(t), c.user, verify); offersToSave(reply) != c.saved {
			t.Errorf("%s: a button that saves is offered: %t", c.name, !c.saved)
		}
	}
}

func TestVerifyGivesNoBadgeBeforeThePress(t *testing.T) {
	for _, c := range saveCases() {
		w := c.answers()
		inGroup(t, w.Router(t), c.user, verify)
		if holders := w.Saved.Holders(); holders != nil {
			t.Errorf("%s: %q have the badge", c.name, holders)
		}
	}
}

// If the only change is that a role was deleted, the reply is about the address.
func TestSavingSaysLastThatARoleIsDeleted(t *testing.T) {
	deleted := []members.Change{{Removed: true, Problem: chat.BadgeGone}}
	all := commandsWithMembers(savingMembers(), deleted, &members.Saved{})
	reply, err := run(t, all, "save", aboutAnns)
	said := strings.Join(keys(reply), " ")
	if err != nil || said != "badge.deleted save.done" || reply.Tone != chat.Positive {
		t.Errorf("says %s, tone %d, %v", said, reply.Tone, err)
	}
}

// unreadableCase is a form of a command, and what it says if saved addresses are unreadable.
type unreadableCase struct {
	name    string
	command string
	args    map[string]string
	says    string // a key
	warns   bool   // and has no button, because trying again would not help
}

var unreadableCases = []unreadableCase{
	{name: "/forget", command: "forget", says: "forget.unreadable", warns: true},
	{name: "/verify", command: "verify", says: "save.unreadable"},
	{name: "/verify with a wallet", command: "verify", args: aboutAnns, says: "save.unreadable"},
	{name: "/save", command: "save", says: "save.unreadable"},
	{name: "a press of [Save]", command: "save", args: aboutAnns, says: "save.failed", warns: true},
	{
		name:    "a moderator's /exists",
		command: "exists",
		args:    map[string]string{"platform": "Telegram", "uid": commandstest.Bob},
		says:    "exists.unreadable",
	},
}

// run runs the case's command while saved addresses are unreadable.
func (c unreadableCase) run(t *testing.T) (*chat.Reply, error) {
	t.Helper()
	w := savingMembers()
	w.Saved.Unreadable = true
	req := &chat.Request{From: ann, Community: commandstest.Community}
	return runFor(t, req, commands.All(w.Sources(), commands.Options{}), c.command, c.args)
}

func TestEveryCommandSaysThatASavedAddressIsUnreadable(t *testing.T) {
	for _, c := range unreadableCases {
		reply, _ := c.run(t)
		said := keys(reply)
		if !slices.Contains(said, c.says) || slices.Contains(said, "forget.nothing") {
			t.Errorf("%s: says %v, want %s", c.name, said, c.says)
		}
		if c.warns && reply.Tone != chat.Warning {
			t.Errorf("%s: tone %d, want a warning", c.name, reply.Tone)
		}
	}
}

func TestAnUnreadableAddressIsLogged(t *testing.T) {
	for _, c := range unreadableCases {
		_, err := c.run(t)
		_, isPartial := errors.AsType[*chat.PartialError](err)
		if !isPartial || !errors.Is(err, members.ErrUnreadable) {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}

func TestAnUnreadableAddressCannotBeSavedAgain(t *testing.T) {
	for _, c := range unreadableCases {
		reply, _ := c.run(t)
		if offersToSave(reply) || c.warns && len(reply.Actions) > 0 {
			t.Errorf("%s: offers %v", c.name, reply.Actions)
		}
	}
}

// An unavailable store may be available again in a minute.
func TestVerifyLogsThatTheStoreIsUnavailable(t *testing.T) {
	w := savingMembers()
	w.Saved.Away = true
	reply, err := run(t, commands.All(w.Sources(), commands.Options{}), "verify", nil)
	_, isPartial := errors.AsType[*chat.PartialError](err)
	if said := keys(reply); !slices.Contains(said, "save.unread") || !isPartial {
		t.Errorf("says %v, %v", said, err)
	}
}

// The member still has the badge, but the bot no longer knows of it.
func TestNoBadgeIsClaimedAfterTheStoreWasEmptied(t *testing.T) {
	for _, line := range []string{"/forget", "/verify", verify} {
		w := savingMembers()
		r := w.Router(t)
		inGroup(t, r, commandstest.Ann, save)
		w.Saved.Empty()
		reply := inGroup(t, r, commandstest.Ann, line)
		isClaim := func(key string) bool { return strings.HasPrefix(key, "badge.") || key == "forget.done" }
		if said := keys(reply); slices.ContainsFunc(said, isClaim) {
			t.Errorf("%s: says %v", line, said)
		}
		if holders := w.Saved.Holders(); !slices.Equal(holders, []string{commandstest.Ann}) {
			t.Errorf("%s: %v have the badge", line, holders)
		}
	}
}

func TestVerifyOfAnotherWalletOffersToSaveIt(t *testing.T) {
	w := savingMembers()
	second := common.HexToAddress(commandstest.Wallet)
	w.Accounts[core.IdentityOf(second)] = w.Accounts[core.IdentityOf(annsWallet)]
	r := w.Router(t)
	inGroup(t, r, commandstest.Ann, save)

	reply := inGroup(t, r, commandstest.Ann, "/verify "+commandstest.Wallet)

	offersSecond := slices.ContainsFunc(reply.Actions, func(a chat.Action) bool {
		return a.Command == "save" && slices.Equal(a.Args, []string{second.Hex()})
	})
	if !offersSecond {
		t.Errorf("buttons %v under\n%s", reply.Actions, texts(reply))
	}
	saved, err := w.Sources().Members.Saved(t.Context(), ann)
	if err != nil || saved.Wallet != annsWallet {
		t.Errorf("saved %+v, %v before the press", saved, err)
	}
}

// Platforms deliver a press again, and users press again.
func TestPressingAgainChangesNothing(t *testing.T) {
	w := savingMembers()
	r := w.Router(t)
	inGroup(t, r, commandstest.Ann, save)
	before, _ := w.Sources().Members.Saved(t.Context(), ann)

	inGroup(t, r, commandstest.Ann, save)

	after, err := w.Sources().Members.Saved(t.Context(), ann)
	if err != nil || after.Wallet != before.Wallet || after.SavedAt != before.SavedAt ||
		!slices.Equal(after.Given, before.Given) {
		t.Errorf("after %+v, before %+v, %v", after, before, err)
	}
	if holders := w.Saved.Holders(); len(holders) != 1 {
		t.Errorf("%v have the badge", holders)
	}
}

// A staker who is in no community with a badge need not stake.
func TestOnlyAMemberWhoStakesNothingIsToldToStake(t *testing.T) {
	for _, stakes := range []bool{false, true} {
		w := savingMembers()
		w.Saved.Problem = chat.NotAMember
		if !stakes {
			stakesNothing(w)
		}
		said := keys(inGroup(t, w.Router(t), commandstest.Ann, save))
		if toldToStake := slices.Contains(said, "save.later"); toldToStake == stakes {
			t.Errorf("stakes %t: %v", stakes, said)
		}
	}
}

// Changes of badges that a press can make.
var (
	roleGiven      = members.Change{Badge: badgeIn(commandstest.Community)}
	roleRemoved    = members.Change{Badge: whaleInA, Removed: true}
	roleNotGiven   = members.Change{Badge: badgeIn("B"), Problem: chat.RoleAbove}
	roleNotRemoved = members.Change{Badge: badgeIn("B"), Removed: true, Problem: chat.RoleAbove}
	roleLater      = members.Change{Badge: badgeIn("C"), Later: true}
	roleAfterRules = members.Change{Badge: badgeIn("D"), Problem: chat.RulesPending}
)

// whaleInA is a badge of community A that requires an amount.
var whaleInA = members.Badge{
	Badge: chat.Badge{Community: "A", ID: "2", Amount: number("1000")},
	Name:  "Whale",
}

// answer is the first part of a reply. The text explains the title. Both are keys of messages.
type answer struct {
	title string
	text  string
	tone  chat.Tone
}

// checkSaved presses a button that saves an address, and makes these changes. The reply must begin with want.
func checkSaved(t *testing.T, saved *members.Saved, changes []members.Change, want answer) {
	t.Helper()
	req := &chat.Request{From: ann, Community: commandstest.Community}
	reply, err := runFor(t, req, commandsWithMembers(savingMembers(), changes, saved), "save", aboutAnns)
	got := answer{reply.Title.Key, reply.Text.Key, reply.Tone}
	if err != nil || got != want {
		t.Errorf("after %+v: %+v, %v, want %+v", changes, got, err, want)
	}
}

func TestSavingSaysFirstThatTheRoleHereWasGiven(t *testing.T) {
	want := answer{"badge.given_here", "badge.text", chat.Positive}
	checkSaved(t, nil, []members.Change{roleGiven}, want)
	checkSaved(t, nil, []members.Change{roleRemoved, roleNotGiven, roleLater, roleGiven}, want)
}

func TestSavingSaysFirstWhichRoleWasNotGiven(t *testing.T) {
	want := answer{"badge.not_given", "badge.why.role_above", chat.Warning}
	checkSaved(t, nil, []members.Change{roleNotGiven}, want)
	checkSaved(t, nil, []members.Change{roleRemoved, roleNotGiven}, want)
	checkSaved(t, nil, []members.Change{roleLater, roleNotGiven}, want)
}

// The problem of the first role is not the reason for the second one.
func TestSavingExplainsRolesOfOneServerByTheirOwnProblems(t *testing.T) {
	other := members.Badge{Badge: chat.Badge{Community: "B", ID: "2"}, Name: "Whale"}
	changes := []members.Change{roleNotGiven, {Badge: other, Problem: chat.CannotHave}}
	req := &chat.Request{From: ann, Community: commandstest.Community}
	reply, err := runFor(t, req, commandsWithMembers(savingMembers(), changes, nil), "save", aboutAnns)
	if err != nil || strings.Contains(words.Say(chat.English, reply.Title), "Whale") {
		t.Errorf("title %q, %v, want one about Staker only", words.Say(chat.English, reply.Title), err)
	}
	const want = "badge.not_given badge.why.cannot_have badge.still_saved badge.not_given"
	if said := strings.Join(keys(reply), " "); said != want || reply.Text.Key != "badge.why.role_above" {
		t.Errorf("says %s, and explains the title by %s, want %s", said, reply.Text.Key, want)
	}
}

// The platform has not said yet, or refuses to say, which roles the user has.
func TestSavingSaysThatRolesAreNotCheckedYet(t *testing.T) {
	unknown := members.Badge{Badge: chat.Badge{Community: "B"}}
	later := members.Change{Badge: unknown, Later: true}
	checkSaved(t, nil, []members.Change{later}, answer{"save.done", "save.text", chat.Positive})

	refused := members.Change{Badge: unknown, Problem: chat.MissingRight}
	checkSaved(t, nil, []members.Change{later, refused},
		answer{"badge.not_checked", "badge.why.missing_right", chat.Warning})
}

func TestSavingExplainsEachRemovedRoleByItsOwnChecks(t *testing.T) {
	staker := badgeIn("A")
	lostAt := func(hour int) members.Loss {
		at := members.Time{Time: time.Date(2026, 11, 24, hour, 0, 0, 0, time.UTC)}
		return members.Loss{First: at, Second: at}
	}
	saved := &members.Saved{Missing: []members.LostBadge{
		{Badge: staker, Why: lostAt(1)},
		{Badge: whaleInA, Why: lostAt(2)},
	}}
	changes := []members.Change{{Badge: staker, Removed: true}, roleRemoved}
	req := &chat.Request{From: ann, Community: commandstest.Community}
	reply, err := runFor(t, req, commandsWithMembers(savingMembers(), changes, saved), "save", aboutAnns)
	if err != nil || reply.Text.Key != "lost.stake" || reply.Notes[0].Key != "lost.amount" {
		t.Errorf("explained by %s and %+v, %v", reply.Text.Key, reply.Notes, err)
	}
}

func TestSavingSaysFirstWhichRoleWasNotRemoved(t *testing.T) {
	want := answer{"badge.not_removed", "badge.why.role_above", chat.Warning}
	checkSaved(t, nil, []members.Change{roleRemoved, roleNotRemoved}, want)
}

func TestSavingSaysFirstWhichRoleWaitsForTheRules(t *testing.T) {
	want := answer{"badge.awaits_rules", "badge.why.rules_pending", chat.Warning}
	checkSaved(t, nil, []members.Change{roleRemoved, roleAfterRules}, want)
}

func TestSavingSaysWhyARoleWasRemoved(t *testing.T) {
	lost := &members.Saved{Missing: []members.LostBadge{{Badge: badgeIn("B")}, {Badge: whaleInA}}}
	checkSaved(t, nil, []members.Change{roleRemoved}, answer{"badge.removed", "badge.text", chat.Negative})
	checkSaved(t, lost, []members.Change{roleRemoved}, answer{"badge.removed", "lost.amount", chat.Negative})
}

// lostIn returns why a badge was lost on the 24th of a month.
func lostIn(month time.Month) members.Loss {
	checked := members.Time{Time: time.Date(2026, month, 24, 12, 0, 0, 0, time.UTC)}
	return members.Loss{First: checked, Second: checked}
}

// An older loss of another role comes first in the settings.
func TestARemovedRoleIsExplainedByItsOwnChecks(t *testing.T) {
	saved := &members.Saved{Missing: []members.LostBadge{
		{Badge: badgeIn("B"), Why: lostIn(time.March)},
		{Badge: whaleInA, Why: lostIn(time.November)},
	}}
	all := commandsWithMembers(savingMembers(), []members.Change{roleRemoved}, saved)
	req := &chat.Request{From: ann, Community: commandstest.Community}
	reply, err := runFor(t, req, all, "save", aboutAnns)
	said := texts(reply)
	if err != nil || !strings.Contains(said, "Nov 24") || strings.Contains(said, "Mar 24") {
		t.Errorf("%q, %v, want the checks in November", said, err)
	}
}

func TestSavingThatChangesNoRoleSaysSo(t *testing.T) {
	checkSaved(t, nil, nil, answer{"save.done", "save.text", chat.Positive})
}
