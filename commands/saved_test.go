package commands_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/members"
)

// A user with a saved address need not send it to join a group for stakers.
func TestASavedAddressLetsAStakerIn(t *testing.T) {
	w := savingMembers()
	w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Stakers: {Staker: true}}
	r := w.Router(t)

	reply := inGroup(t, r, commandstest.Ann, joinStakers)
	if reply.Join.Admit != nil || reply.Ask == nil {
		t.Errorf("with no saved address: %s", texts(reply))
	}

	inGroup(t, r, commandstest.Ann, save)
	reply = inGroup(t, r, commandstest.Ann, joinStakers)
	if reply.Join.Admit == nil || reply.Join.Admit.Group != commandstest.Stakers {
		t.Errorf("with a saved address that stakes: %s", texts(reply))
	}
}

func TestASavedAddressThatStakesNothingIsReplacedByAnother(t *testing.T) {
	w := savingMembers()
	w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Stakers: {Staker: true}}
	r := w.Router(t)
	inGroup(t, r, commandstest.Ann, save)
	stakesNothing(w)

	reply := inGroup(t, r, commandstest.Ann, joinStakers)

	anotherWallet := reply.Actions[len(reply.Actions)-1]
	if reply.Join.Admit != nil || anotherWallet.Command != chat.JoinCommand {
		t.Fatalf("want no admission, and [Another wallet] last: %s", texts(reply))
	}
	pressed := inGroup(t, r, commandstest.Ann, "/join "+strings.Join(anotherWallet.Args, " "))
	if pressed.Ask == nil || pressed.Tone == chat.Warning {
		t.Errorf("[Another wallet] asks for none: %s", texts(pressed))
	}
}

// consentAfterVerify returns the reply to /verify that offers to save Ann's wallet.
func consentAfterVerify(t *testing.T, w *commandstest.Answers) *chat.Reply {
	t.Helper()
	return inGroup(t, w.Router(t), commandstest.Ann, verify)
}

// consentAfterJoining returns the reply that offers to save Ann's wallet when she has joined Stakers with it.
func consentAfterJoining(t *testing.T, w *commandstest.Answers) *chat.Reply {
	t.Helper()
	w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Stakers: {Staker: true}}
	asked := inGroup(t, w.Router(t), commandstest.Ann, joinStakers+" "+commandstest.AnnsWallet)
	return asked.Join.Admit.Say(chat.LetIn)
}

// The sentence before a button that saves an address names the badges and their communities.
func TestConsentSaysWhereTheBadgesAre(t *testing.T) {
	const sees = " Everyone there sees %s; moderators see that you stake; " +
		"only the bot's operator can see the address. /forget deletes it."
	here := chat.Badge{Community: commandstest.Community, ID: "Staker"}
	whale := chat.Badge{Community: commandstest.Stakers, ID: "Whale", Amount: number("1000")}
	other := chat.Badge{Community: "-1005", ID: "Staker"}
	for _, test := range []struct {
		badges []chat.Badge
		gets   string
		names  string
	}{
		{[]chat.Badge{here}, "Staker in Token talk", "Staker"},
		{[]chat.Badge{here, whale}, "Staker in Token talk, Whale in Staking lounge", "Staker, Whale"},
		{[]chat.Badge{here, other}, "Staker in Token talk, Staker in one of your communities", "Staker"},
	} {
		want := "Save this address to get " + test.gets + ". I check the stake every 6 hours." +
			fmt.Sprintf(sees, test.names)
		checkConsent(t, test.badges, want)
	}
}

func TestConsentWithoutBadgesSaysWhatASavedAddressIsFor(t *testing.T) {
	checkConsent(t, nil, "Save this address, and /verify alone is enough from now on. "+
		"Moderators see whether you stake; only")
}

// checkConsent checks the sentence before the button that saves Ann's wallet, where members get these badges.
func checkConsent(t *testing.T, badges []chat.Badge, want string) {
	t.Helper()
	for place, consentIn := range map[string]func(*testing.T, *commandstest.Answers) *chat.Reply{
		"/verify":      consentAfterVerify,
		"joined group": consentAfterJoining,
	} {
		w := savingMembers()
		w.Saved.Badges = badges
		said := strings.NewReplacer("«", "", "»", "").Replace(texts(consentIn(t, w)))
		if !strings.Contains(said, "\n("+want) || !strings.Contains(said, "["+commandstest.AnnsWallet+"]") {
			t.Errorf("%s: want %q in\n%s", place, want, said)
		}
	}
}

// checkTone runs /verify for Ann and her wallet, which is saved, and makes these changes. The reply must say that the
// wallet is hers, in this tone.
func checkTone(
	t *testing.T, w *commandstest.Answers, saved members.Saved, changes []members.Change, want chat.Tone,
) {
	t.Helper()
	saved.Wallet = annsWallet
	reply, err := run(t, commandsWithMembers(w, changes, &saved), "verify", aboutAnns)
	if err != nil || reply.Title.Key != "verify.you.yes" || reply.Tone != want {
		t.Errorf("after %+v: tone %d, want %d: %s, %v", changes, reply.Tone, want, texts(reply), err)
	}
}

// A badge, and a saved address whose owner has lost it.
var (
	stakerBadge = members.Badge{Badge: chat.Badge{ID: "1"}, Name: "Staker"}
	stakerLost  = members.Saved{Missing: []members.LostBadge{{Badge: stakerBadge}}}
)

// A preview of a message shows little more than the sign of its first line.
func TestNoTickStandsOverALostBadge(t *testing.T) {
	has := []members.GivenBadge{{Badge: stakerBadge}}
	checkTone(t, savingMembers(), members.Saved{Given: has}, nil, chat.Positive)
	checkTone(t, savingMembers(), members.Saved{Given: has, AtRisk: has}, nil, chat.Negative)
	checkTone(t, savingMembers(), stakerLost, nil, chat.Negative)
}

func TestVerifyExplainsEachLossByItsOwnChecks(t *testing.T) {
	saved := &members.Saved{Wallet: annsWallet, Missing: []members.LostBadge{
		{Badge: members.Badge{Name: "Staker"}, Why: lostIn(time.March)},
		{Badge: members.Badge{Name: "Whale"}, Why: lostIn(time.November)},
		{Badge: members.Badge{Name: "Shark"}, Why: lostIn(time.November)},
	}}
	reply, err := run(t, commandsWithMembers(savingMembers(), nil, saved), "verify", aboutAnns)
	if err != nil {
		t.Fatal(err)
	}
	said := texts(reply)
	for _, pattern := range []string{`Staker.* Mar 24`, `Whale, Shark.* Nov 24`} {
		if !regexp.MustCompile(pattern).MatchString(said) {
			t.Errorf("%s: want %s", said, pattern)
		}
	}
}

func TestNoTickStandsOverAWalletThatStakesNothing(t *testing.T) {
	w := savingMembers()
	stakesNothing(w)
	checkTone(t, w, members.Saved{}, nil, chat.Negative)
	checkTone(t, w, stakerLost, nil, chat.Negative)
}

func TestATickStandsOverNoChangeButAGivenBadge(t *testing.T) {
	notGiven := []members.Change{{Badge: stakerBadge, Problem: chat.RoleAbove}}
	removed := []members.Change{{Badge: stakerBadge, Removed: true}}
	given := []members.Change{{Badge: stakerBadge}}
	checkTone(t, savingMembers(), members.Saved{}, notGiven, chat.Negative)
	checkTone(t, savingMembers(), members.Saved{}, removed, chat.Negative)
	checkTone(t, savingMembers(), stakerLost, given, chat.Positive)
}

// While a member has not accepted the rules, no role can be given. /verify then says so, even to a member who had the
// role before they left and came back.
func TestVerifySaysThatARoleWaitsForTheRules(t *testing.T) {
	here := chat.Badge{Community: commandstest.Community, ID: "Staker"}
	saved := &members.Saved{
		Wallet: annsWallet,
		Stakes: true,
		Given: []members.GivenBadge{{
			Badge: members.Badge{Badge: here, Name: "Staker"},
			Since: commandstest.Noon, // before they left
		}},
	}
	for pending, want := range map[bool]string{
		true:  "badge.awaits_rules badge.why.rules_pending",
		false: "badge.since",
	} {
		req := &chat.Request{From: ann, Community: commandstest.Community, RulesPending: pending}
		reply, err := runFor(t, req, commandsWithMembers(savingMembers(), nil, saved), "verify", nil)
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

// Moderators do not read about badges of other communities. Leaving these out must not change the saved value, which
// the next request reads, too.
func TestModeratorsReadOfTheirCommunityOnly(t *testing.T) {
	here := members.Badge{Badge: chat.Badge{Community: commandstest.Community, ID: "7001"}, Name: "Here"}
	other := members.Badge{Badge: chat.Badge{Community: "other", ID: "7003"}, Name: "Elsewhere"}
	saved := &members.Saved{Missing: []members.LostBadge{
		{Badge: other, Why: lostIn(time.March)},
		{Badge: here, Why: lostIn(time.November)},
	}}
	all := commandsWithMembers(savingMembers(), nil, saved)
	aboutBob := map[string]string{"platform": "telegram", "uid": commandstest.Bob}
	for range 2 {
		req := &chat.Request{From: ann, Role: chat.Moderator, Community: commandstest.Community}
		reply, err := runFor(t, req, all, "exists", aboutBob)
		said := texts(reply)
		if err != nil || !strings.Contains(said, "Here") || strings.Contains(said, "Elsewhere") {
			t.Errorf("%s, %v", said, err)
		}
		if !strings.Contains(said, "Nov 24") {
			t.Errorf("%s: want the checks in November", said)
		}
	}
	if saved.Missing[0].Badge != other || saved.Missing[1].Badge != here {
		t.Errorf("missing is %v", saved.Missing)
	}
}

// Each badge has the dates of the checks that it was lost by. Badges that were lost by the same checks share them.
func TestModeratorsReadOfEachLossByItsOwnChecks(t *testing.T) {
	disowned := lostIn(time.November)
	disowned.Disowned = true
	saved := &members.Saved{Missing: []members.LostBadge{
		{Badge: members.Badge{Name: "Staker"}, Why: lostIn(time.March)},
		{Badge: members.Badge{Name: "Whale"}, Why: lostIn(time.November)},
		{Badge: members.Badge{Name: "Orca"}, Why: disowned},
		{Badge: members.Badge{Name: "Shark"}, Why: lostIn(time.November)},
	}}
	req := &chat.Request{From: ann, Role: chat.Moderator}
	aboutBob := map[string]string{"platform": "telegram", "uid": commandstest.Bob}

	reply, err := runFor(t, req, commandsWithMembers(savingMembers(), nil, saved), "exists", aboutBob)
	if err != nil {
		t.Fatal(err)
	}
	said := strings.NewReplacer("«", "", "»", "").Replace(texts(reply))
	for _, want := range []string{
		"·\u00a0Staker removed: too little stake at two checks (Mar 24",
		"·\u00a0Whale, Shark removed: too little stake at two checks (Nov 24",
		"·\u00a0Orca removed: the address was not theirs any more (Nov 24",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%s: want %q", said, want)
		}
	}
}
