package commands_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/router"
	"herald/internal/service/market"
	"herald/internal/service/partner"
	"herald/internal/service/staking"
	"herald/internal/words"
)

var update = flag.Bool("update", false, "write the golden transcripts anew")

// Lines of several tests.
const (
	staked = "/staked " + commandstest.Wallet
	verify = "/verify " + commandstest.AnnsWallet
	save   = "/save " + commandstest.AnnsWallet
)

var (
	ann = chat.User{Platform: "telegram", ID: commandstest.Ann}
	bob = chat.User{Platform: "telegram", ID: commandstest.Bob}

	annsWallet = common.HexToAddress(commandstest.AnnsWallet)

	// What the partner is asked about: Ann as a user of Telegram, and Wallet, which nobody has registered.
	annsAccount = core.Identity{Platform: "Telegram", UID: commandstest.Ann}
	theWallet   = identityOf(commandstest.Wallet)

	// Arguments of a command about a wallet.
	aboutWallet = map[string]string{"wallet": commandstest.Wallet}
	aboutAnns   = map[string]string{"wallet": commandstest.AnnsWallet}
)

// Errors of the services.
var (
	errInner    = errors.New("inner")
	priceDown   = market.Service.Fail(core.Unreachable, errInner)
	partnerDown = partner.Service.Fail(core.Unreachable, errInner)
	chainSlow   = staking.Service.Fail(core.SlowAnswer, errInner)
)

// noCredit returns the reason why the price cannot be asked for. In a test that atNoon runs, it can be asked for at
// 12:46.
func noCredit() *core.Error {
	return &core.Error{
		Service:    market.Service,
		Reason:     core.NoCredit,
		RetryAfter: 44*time.Minute + time.Second,
	}
}

// unchanged leaves services as they are.
func unchanged(*commandstest.Answers) {}

// stakesNothing makes the chain answer that the wallet stakes nothing.
func stakesNothing(w *commandstest.Answers) { w.Stake = core.Stake{Checked: 21} }

// stakeUndetermined makes the chain answer that the wallet stakes nothing in 20 pools, and that another pool is unread.
func stakeUndetermined(w *commandstest.Answers) {
	w.Stake = core.Stake{Checked: 20, Failed: unreadPool()}
}

// unreadPool returns one pool that could not be read.
func unreadPool() []core.UnreadPool {
	return []core.UnreadPool{{Pool: core.Pool{Address: common.Address{5}}, Err: chainSlow}}
}

// identityOf returns what the partner is asked about a wallet.
func identityOf(address string) core.Identity { return core.IdentityOf(common.HexToAddress(address)) }

func number(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func known(s string) decimal.NullDecimal { return decimal.NewNullDecimal(number(s)) }

// answersTo returns healthy services after a change, which may be nil.
func answersTo(change func(*commandstest.Answers)) *commandstest.Answers {
	w := commandstest.Healthy()
	if change != nil {
		change(w)
	}
	return w
}

// withJoin returns healthy services of a bot that answers join requests: registered users can join Members, and stakers
// can join Stakers.
func withJoin() *commandstest.Answers {
	w := commandstest.Healthy()
	w.Options.JoinChats = map[string]chat.Requirement{
		"telegram:" + commandstest.Members: {},
		"telegram:" + commandstest.Stakers: {Staker: true},
	}
	return w
}

// registered registers Ann's account and Wallet under these DIDs. If a DID is empty, what it stands for is not
// registered. If it is failingDID, the partner fails when it is asked about that.
func registered(w *commandstest.Answers, annsDID, walletsDID string) {
	w.AccountErrs = map[string]error{}
	for id, did := range map[core.Identity]string{annsAccount: annsDID, theWallet: walletsDID} {
		w.Accounts[id] = core.Account{DID: did}
		if did == failingDID {
			w.AccountErrs[id.Platform] = partnerDown
		}
	}
}

// failingDID stands for an answer of the partner that fails.
const failingDID = "failing"

// savingMembers returns healthy services of a bot that saves addresses and gives stakers a badge of Community.
func savingMembers() *commandstest.Answers {
	w := commandstest.Healthy()
	w.Saved.Off = false
	w.Saved.Badges = []chat.Badge{{Community: commandstest.Community, ID: "Staker"}}
	return w
}

// allCommands returns the commands that ask the services of w.
func allCommands(w *commandstest.Answers) chat.Commands { return commands.All(w.Sources(), w.Options) }

// run runs a command for Ann in a private chat, without the Router's checks. It runs the form that has the parameters
// in args.
func run(t *testing.T, all chat.Commands, command string, args map[string]string) (*chat.Reply, error) {
	t.Helper()
	return runFor(t, &chat.Request{From: ann}, all, command, args)
}

// runFor is like run for the sender and the community of a request. It sets the request's Args.
func runFor(
	t *testing.T, req *chat.Request, all chat.Commands, command string, args map[string]string,
) (*chat.Reply, error) {
	t.Helper()
	c, found := all.Find(command)
	if !found {
		t.Fatalf("there is no command %q", command)
	}
	want := slices.Sorted(maps.Keys(args))
	for _, form := range c.Forms {
		var params []string
		for _, p := range form.Params {
			params = append(params, p.Name)
		}
		slices.Sort(params)
		if slices.Equal(params, want) {
			req.Args = chat.Named(args)
			return form.Run(t.Context(), req)
		}
	}
	t.Fatalf("/%s has no form with the parameters %q", command, want)
	return nil, nil
}

// inPrivate returns the reply to a command of Ann in her private chat with the bot. Her language is l.
func inPrivate(t *testing.T, r *router.Router, l chat.Language, command string, args chat.Args) *chat.Reply {
	t.Helper()
	return r.Handle(t.Context(), &chat.Request{
		Command: command,
		Args:    args,
		From:    ann,
		Locale:  string(l),
		Direct:  true,
	})
}

// inGroup returns the reply to a line that a user of Telegram types in Community.
func inGroup(t *testing.T, r *router.Router, user, line string) *chat.Reply {
	t.Helper()
	typed := strings.Fields(line)
	return r.Handle(t.Context(), &chat.Request{
		Command:   strings.TrimPrefix(typed[0], "/"),
		Args:      chat.Typed(typed[1:]...),
		From:      chat.User{Platform: "telegram", ID: user},
		Community: commandstest.Community,
		Chat:      commandstest.Community,
	})
}

// buttons returns the states of a reply's buttons that run a command, by their labels. A press sends the button's
// state.
func buttons(t *testing.T, r *chat.Reply) map[string]string {
	t.Helper()
	card := words.Print(r)
	if len(card.Buttons) != len(r.Actions) {
		t.Errorf("%s: %d buttons of %d are shown: a state is too long", r.Title.Key, len(card.Buttons), len(r.Actions))
	}
	states := map[string]string{}
	for _, b := range card.Buttons {
		if b.State != "" {
			states[b.Label] = b.State
		}
	}
	return states
}

// press returns the reply to a press of a button with this state.
func press(t *testing.T, r *router.Router, state string) *chat.Reply {
	t.Helper()
	p, err := chat.ParseState(state)
	if err != nil || !p.Edit {
		t.Fatalf("%q: %+v, %v", state, p, err)
	}
	line := append([]string{"/" + p.Command}, p.Args...)
	return commandstest.Ask(t, r, strings.Join(line, " "))
}

// atNoon runs a test two minutes after Noon, in simulated time.
func atNoon(t *testing.T, test func(*testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(commandstest.Noon.Add(2 * time.Minute)))
		test(t)
	})
}

// keys returns the keys of the messages in a reply's notes and title, in this order.
func keys(r *chat.Reply) []string {
	var all []string
	for _, text := range append(r.Notes, r.Title) {
		all = append(all, text.Key)
	}
	return all
}

// spaced returns text with ordinary spaces.
func spaced(text string) string { return strings.ReplaceAll(text, "\u00a0", " ") }

// texts returns everything that a reply shows, in its language. See shown.
func texts(r *chat.Reply) string { return shown(words.Print(r)) }

// shown returns everything that a card shows, as text: each part on a line, with marks that say what the part is.
func shown(c words.Card) string {
	lines := []string{fmt.Sprintf("[%d] %s", c.Tone, marked(words.Join(c.Title, c.Subtitle)))}
	add := func(format string, line words.Line) {
		if !line.Empty() {
			lines = append(lines, fmt.Sprintf(format, marked(line)))
		}
	}
	add("%s", c.Text)
	for _, s := range c.Sections {
		add("== %s", s.Heading)
		for _, f := range s.Fields {
			lines = append(lines, marked(f.Name)+" | "+marked(f.Value))
		}
	}
	for _, f := range c.FullValues {
		lines = append(lines, "… "+marked(f.Name)+" | "+marked(f.Value))
	}
	for _, note := range append(c.Notes, c.Footer) {
		add("(%s)", note)
	}
	if c.Image != nil {
		lines = append(lines, fmt.Sprintf("picture %s: %s", c.Image.Name, c.Image.Alt))
	}
	for _, b := range c.Buttons {
		button := fmt.Sprintf("[ %s ] %s", b.Label, b.State+b.URL+b.Copy)
		if b.NextStep {
			button += " (next step)"
		}
		lines = append(lines, button)
	}
	if c.Ask != nil {
		lines = append(lines, fmt.Sprintf("asks for /%s: %s", c.Ask.Command, c.Ask.Question))
	}
	return strings.Join(lines, "\n")
}

// marked returns a line as text, with marks around links, mentions, code and untrusted text.
func marked(l words.Line) string {
	var b strings.Builder
	for _, s := range l {
		switch {
		case s.URL != "":
			fmt.Fprintf(&b, "[%s](%s)", s.Text, s.URL)
		case s.Person != nil:
			fmt.Fprintf(&b, "<person %s>", s.Person.ID)
		case s.Style == words.Code:
			fmt.Fprintf(&b, "`%s`", s.Text)
		case s.Style == words.Untrusted:
			fmt.Fprintf(&b, "«%s»", s.Text)
		default:
			b.WriteString(s.Text)
		}
	}
	return b.String()
}
