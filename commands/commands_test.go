package commands_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/service/market"
	"herald/internal/service/staking"
	"herald/internal/words"
)

// texts are all of a reply, in English.
func texts(r *chat.Reply) string { return shown(words.Print(r)) }

// run runs one form of a command of w, with arguments by their names.
func run(w *commandstest.Answers, t *testing.T, command string, form int, args map[string]string) (*chat.Reply, error) {
	t.Helper()
	c, _ := w.Router(t).Commands().Find(command)
	return c.Forms[form].Run(t.Context(), &chat.Request{Args: chat.Named(args), From: chat.User{Platform: "telegram", ID: commandstest.Ann}})
}

// Anybody may ask about a wallet.
func TestWhatIsAskedAboutOthersIsForModerators(t *testing.T) {
	for _, c := range commandstest.Healthy().Router(t).Commands() {
		for _, f := range c.Forms {
			names := slices.ContainsFunc(f.Params, func(p chat.Param) bool { return p.Person || p.Name == "uid" })
			if names != f.Moderators || names && c.Visibility != chat.Private {
				t.Errorf("%s: moderators %t, visibility %d", c.Example(f), f.Moderators, c.Visibility)
			}
		}
	}
}

func TestPersonalAnswersArePrivateAndEachServicesFailureIsNamed(t *testing.T) {
	var failing strings.Builder
	commandstest.Cases(t, chat.English, func(c commandstest.Case) {
		name, _, _ := strings.Cut(c.Line, " ")
		if personal := slices.Contains([]string{"/mylogins", "/exists", "/verify", "/forget", "/save", "/details", "/join"}, name); c.Private != personal {
			t.Errorf("%s, %s: private is %t", c.Scene, c.Line, c.Private)
		}
		if c.Scene == "failing unreachable" && name != "/status" {
			failing.WriteString(texts(c.Reply))
		}
	})
	for _, s := range commandstest.Services {
		if name := words.Say(chat.English, chat.Say("service."+s.Name)); !strings.Contains(failing.String(), name) {
			t.Errorf("no command says that %s fails: name it in the Asks of the command that asks it", s.Name)
		}
	}
}

// The keys of these messages are put together of a beginning and a name.
func TestWhatHasANameHasItsWords(t *testing.T) {
	need := func(beginnings []string, name string) {
		for _, beginning := range beginnings {
			if key := beginning + name; words.Say(chat.English, chat.Say(key)) == key {
				t.Errorf("%q is missing in internal/words/locales/en.json", key)
			}
		}
	}
	for _, s := range commandstest.Services {
		need([]string{"service.", "status.", "status.down."}, s.Name)
	}
	for _, c := range commandstest.Healthy().Router(t).Config.Commands {
		if !slices.Contains([]string{"status", "help", chat.HelloCommand}, c.Name) { // which always have an answer
			need([]string{"unchecked."}, c.Name)
		}
		params, _ := c.Params()
		for _, p := range params {
			if p.Summary.Key != "" { // Buttons give the others.
				need([]string{"name."}, p.Name)
			}
		}
	}
	for _, r := range commandstest.Reasons {
		need([]string{"reason."}, string(r))
	}
	for _, flaw := range []core.Flaw{
		core.UnknownPlatform, core.HiddenCharacters, core.NameForAddress, core.AnotherChain, core.NoPrefix, core.WrongLength, core.WrongDigits,
		core.WrongChecksum, core.SeveralWallets, core.Transaction, "uid.numeric", "uid.evm", "uid.btc", "uid.tron", "uid.ton", "uid.sol", "uid.email",
	} {
		need([]string{"invalid."}, string(flaw))
	}
	for _, p := range []chat.BadgeProblem{
		chat.CannotHave, chat.RulesPending, chat.MissingRight, chat.RoleAbove, chat.NotAllowed, chat.TwoFactor,
		chat.BadgeGone, chat.CommunityGone, chat.BadgeFailed,
	} {
		need([]string{"badge.why."}, string(p))
	}
	for _, platform := range []string{"telegram", "discord"} {
		need([]string{"badge.right."}, platform)
	}
	for _, period := range []string{"24h", "7d", "30d"} {
		need([]string{"price.", "choice."}, period)
	}
	need([]string{"price."}, "1h")
}

// Words that are like no argument do not change what is asked.
func TestWordsThatAreLikeNoArgumentAreIgnored(t *testing.T) {
	r := manyLogins(5).Router(t)
	member := func(line string) *chat.Reply {
		typed := strings.Fields(line)
		return r.Handle(t.Context(), &chat.Request{Command: typed[0][1:], Args: chat.Typed(typed[1:]...), From: chat.User{Platform: "telegram", ID: commandstest.Ann}})
	}
	for line, same := range map[string]string{
		staked + " please": staked,
		"/staked check 0X" + commandstest.Wallet[2:] + " 👍": staked,
		"/chart $tkn":  "/price 24h",
		"/price chart": "/price 24h", "/price graph 7d": "/price 7d", "/price TKN/USD": "/price", "/price tkn in usd": "/price",
		"/p 7d please":     "/price 7d",
		"/price please":    "/price",
		"/price 7d or 30d": "/price 30d 90d",
		"/verify wallet " + commandstest.AnnsWallet: verify,
		"/verify my wallet":                         "/verify a b",
	} {
		if got, want := member(line), member(same); texts(got) != texts(want) || got.About != want.About || got.Title.Key == "forbidden.title" {
			t.Errorf("%s: got\n%s\nwant\n%s", line, texts(got), texts(want))
		}
	}
	down := commandstest.Healthy()
	down.StakeErr = errInner
	for _, reply := range []*chat.Reply{member("/staked " + strings.ToLower(commandstest.Wallet)), commandstest.Ask(t, down.Router(t), staked)} {
		if reply.About != commandstest.Wallet {
			t.Errorf("%s is about %q", reply.Title.Key, reply.About)
		}
	}
}

// What stands around a wallet does no harm, whoever asks for what.
func TestAWalletIsPastedWithWhatStandsAroundIt(t *testing.T) {
	const bobs, two = commandstest.BobsWallet, "https://explorer.example/token/" + commandstest.Wallet + "?a=" + commandstest.BobsWallet
	w := commandstest.Healthy()
	w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Stakers: {Staker: true}}
	r := w.Router(t)
	for _, before := range []string{"/staked", "/verify", "/verify " + commandstest.Bob, "/save", "/join " + commandstest.Stakers} {
		line := func(wallet string) *chat.Reply { return commandstest.Ask(t, r, before+" "+wallet) }
		want := texts(line(bobs))
		for _, pasted := range []string{
			"https://explorer.example/address/" + bobs + "?tab=stakes#code", "it's (" + bobs + "), I think", strings.ToLower(bobs[2:]), "\"" + bobs[2:] + "\"",
			"xdc" + bobs[2:], "@xdc" + strings.ToLower(bobs[2:]), "@" + bobs, bobs + " " + bobs, "see 0xmine: " + bobs, strings.Repeat("-", 2000) + bobs + strings.Repeat("…", 700),
		} {
			if got := texts(line(pasted)); got != want || strings.Contains(got, "Check the wallet") {
				t.Errorf("%s %.60s: got\n%s\nwant\n%s", before, pasted, got, want)
			}
		}
		const rootstocks = "0x956696E03aA3D62190E65f79911E2788740a1E29" // with the checksum of EIP-1191
		if got := texts(line(rootstocks)); !strings.Contains(got, "write it in lower case") || texts(line(strings.ToLower(rootstocks))) == got {
			t.Errorf("%s %s: got\n%s", before, rootstocks, got)
		}
		for _, both := range []string{two, bobs + " or " + commandstest.Wallet} {
			if got := texts(line(both)); !strings.Contains(got, "Which one? I see more than one address.") {
				t.Errorf("%s %s: got\n%s", before, both, got)
			}
		}
	}
	w.StakeErr, w.AccountsErr = errInner, errInner // A button has room for the wallet, but not for all that was pasted.
	for _, command := range []string{"staked", "verify"} {
		again := buttons(t, commandstest.Ask(t, r, "/"+command+" https://explorer.example/address/"+strings.ToLower(bobs)))["Try again"]
		if want, _ := chat.TryAgain(command, common.HexToAddress(bobs).Hex()).State(chat.Version{}); again != want {
			t.Errorf("/%s is tried again by %q, want %q", command, again, want)
		}
	}
	w.StakeErr, w.AccountsErr = nil, nil
	if got := texts(commandstest.Ask(t, r, "/verify @0xann "+bobs)); !strings.Contains(got, "Bots can't look up usernames.") {
		t.Errorf("a username like a wallet: %s", got)
	}
	named := &chat.Request{Command: "staked", Args: chat.Named(map[string]string{"wallet": "see 0xmine: (" + bobs + ")"})}
	if got, want := texts(r.Handle(t.Context(), named)), texts(commandstest.Ask(t, r, "/staked "+bobs)); got != want {
		t.Errorf("as a named argument: got\n%s\nwant\n%s", got, want)
	}
}

func TestHelpExplainsACommand(t *testing.T) {
	r := commandstest.Healthy().Router(t)
	help := func(role chat.Role, args chat.Args) string {
		return texts(r.Handle(t.Context(), &chat.Request{Command: "help", Args: args, From: chat.User{Platform: "telegram", ID: commandstest.Ann},
			Community: commandstest.Community, Role: role}))
	}
	list, price := help(chat.Member, chat.Args{}), help(chat.Member, chat.Typed("price"))
	for _, typed := range []string{"/price", "PRICE", "chart", "with price please"} {
		if got := help(chat.Member, chat.Typed(strings.Fields(typed)...)); got != price {
			t.Errorf("%s: %s", typed, got)
		}
	}
	for _, typed := range []string{"me", "moon please", "save", "details", "join"} {
		for _, args := range []chat.Args{chat.Typed(strings.Fields(typed)...), chat.Named(map[string]string{"command": typed})} {
			if got := help(chat.Moderator, args); got != list {
				t.Errorf("%s: %s", typed, got)
			}
		}
	}
}

func TestHelpOfACommandHasModeratorsFormsForModerators(t *testing.T) {
	r := commandstest.Healthy().Router(t)
	for _, test := range []struct {
		id       string
		role     chat.Role
		moderate bool
	}{
		{commandstest.Ann, chat.Member, false},
		{commandstest.Ann, chat.Moderator, true},
		{commandstest.Ann, chat.UnknownRole, true},
		{commandstest.Bob, chat.UnknownRole, false},
	} {
		for command, form := range map[string]string{"exists": "`/exists Telegram 123456789`", "verify": "`/verify 123456789 0x"} {
			got := texts(r.Handle(t.Context(), &chat.Request{Command: "help", Args: chat.Typed(command),
				From: chat.User{Platform: "telegram", ID: test.id}, Community: commandstest.Community, Role: test.role}))
			if strings.Contains(got, form) != test.moderate || !strings.Contains(got, "`/"+command+"`") {
				t.Errorf("user %s, role %d: %s", test.id, test.role, got)
			}
		}
	}
}

const staked, verify = "/staked " + commandstest.Wallet, "/verify " + commandstest.AnnsWallet

func TestAPartialAnswerTellsTheLogWhatIsMissing(t *testing.T) {
	unread := []core.UnreadPool{{
		Pool: core.Pool{Address: common.HexToAddress("0x05"), Name: "Pool 05"},
		Err:  staking.Service.Fail(core.Rejected, errors.New("the pool reverted the call")),
	}}
	const line = `pools unread: 1, such as 0x0000000000000000000000000000000000000005: chain: rejected: the pool reverted the call`
	for name, test := range map[string]struct {
		command string
		form    int
		change  func(*commandstest.Answers)
		want    string // "" is a whole answer
	}{
		"whole":            {"staked", 0, func(*commandstest.Answers) {}, ""},
		"undetermined":     {"staked", 0, func(w *commandstest.Answers) { w.Stake.Staked, w.Stake.Failed = nil, unread }, line},
		"both, named once": {"staked", 0, func(w *commandstest.Answers) { w.Stake.Failed, w.Stake.UnbondingFailed = unread, unread }, line},
		"supply without a price": {"supply", 0, func(w *commandstest.Answers) {
			w.PriceErr = market.Service.Fail(core.Limited, errors.New("status 429"))
		}, "price: limited: status 429"},
		"supply at an old price": {"supply", 0, func(w *commandstest.Answers) { w.Price.Stale = true }, ""},
		"no picture":             {"price", 1, func(w *commandstest.Answers) { w.ChartErr = errInner }, "inner"},
	} {
		w := commandstest.Healthy()
		test.change(w)
		reply, err := run(w, t, test.command, test.form, map[string]string{"wallet": commandstest.Wallet, "period": "7d"})
		partial, ok := errors.AsType[*chat.PartialError](err)
		switch {
		case reply.Title.Key == "", test.want == "" && err != nil, test.want != "" && !ok:
			t.Errorf("%s: %v beside %s", name, err, texts(reply))
		case ok && (partial.Err.Error() != test.want || strings.Contains(strings.ToLower(err.Error()), strings.ToLower(commandstest.Wallet[2:]))):
			t.Errorf("%s: the log says %q, want %q", name, err, test.want)
		}
	}
}

func TestAPictureIsInTheLanguageOfItsAnswer(t *testing.T) {
	w := commandstest.Healthy()
	r := w.Router(t)
	r.Config.Language = chat.Russian
	for _, direct := range []bool{false, true} {
		r.Handle(t.Context(), &chat.Request{
			Command: "price", Args: chat.Typed("7d"), From: chat.User{Platform: "telegram", ID: "1"}, Locale: "tr", Direct: direct,
		})
	}
	if want := []chat.Language{chat.Russian, chat.Turkish}; !slices.Equal(w.ChartedIn, want) {
		t.Errorf("drawn in %q, want %q", w.ChartedIn, want)
	}
}
