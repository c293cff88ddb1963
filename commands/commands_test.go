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

// A question about a user is for moderators; one about a wallet is for everybody.
func TestQuestionsAboutOthersAreForModerators(t *testing.T) {
	for _, c := range commandstest.Healthy().Router(t).Commands() {
		for _, f := range c.Forms {
			isAboutOthers := slices.ContainsFunc(f.Params, func(p chat.Param) bool { return p.Person || p.Name == "uid" })
			if isAboutOthers != f.Moderators {
				t.Errorf("%s: about others %t, for moderators %t", c.Example(f), isAboutOthers, f.Moderators)
			}
			if isAboutOthers && c.Visibility != chat.Private {
				t.Errorf("%s: visibility %d", c.Example(f), c.Visibility)
			}
		}
	}
}

func TestPersonalAnswersArePrivate(t *testing.T) {
	personal := []string{"/mylogins", "/exists", "/verify", "/forget", "/save", "/details", "/join"}
	commandstest.Cases(t, chat.English, func(c commandstest.Case) {
		command, _, _ := strings.Cut(c.Line, " ")
		if isPersonal := slices.Contains(personal, command); c.Private != isPersonal {
			t.Errorf("%s, %s: private is %t", c.Scene, c.Line, c.Private)
		}
	})
}

func TestEachServicesFailureIsNamed(t *testing.T) {
	var failing strings.Builder
	commandstest.Cases(t, chat.English, func(c commandstest.Case) {
		if c.Scene == "failing unreachable" && c.Line != "/status" {
			failing.WriteString(texts(c.Reply))
		}
	})
	for _, s := range commandstest.Services {
		name := words.Say(chat.English, chat.Say("service."+s.Name))
		if !strings.Contains(failing.String(), name) {
			t.Errorf("no command says that %s fails: name it in the Asks of the command that asks it", s.Name)
		}
	}
}

// needWords checks that there is a message for each key that begins with one of beginnings and ends with name.
func needWords(t *testing.T, name string, beginnings ...string) {
	t.Helper()
	for _, beginning := range beginnings {
		key := beginning + name
		if words.Say(chat.English, chat.Say(key)) == key {
			t.Errorf("%q is missing in internal/words/locales/en.json", key)
		}
	}
}

func TestServicesHaveTheirWords(t *testing.T) {
	for _, s := range commandstest.Services {
		needWords(t, s.Name, "service.", "status.", "status.down.", "status.delayed.")
	}
}

func TestCommandsAndParametersHaveTheirWords(t *testing.T) {
	alwaysAnswered := []string{"status", "help", chat.HelloCommand}
	for _, c := range commandstest.Healthy().Router(t).Config.Commands {
		if !slices.Contains(alwaysAnswered, c.Name) {
			needWords(t, c.Name, "unchecked.")
		}
		params, _ := c.Params()
		for _, p := range params {
			onlyFromButtons := p.Summary.Key == ""
			if !onlyFromButtons {
				needWords(t, p.Name, "name.")
			}
		}
	}
	for _, period := range []string{"24h", "7d", "30d"} {
		needWords(t, period, "price.", "choice.")
	}
	needWords(t, "1h", "price.")
}

func TestReasonsAndFlawsHaveTheirWords(t *testing.T) {
	for _, r := range commandstest.Reasons {
		needWords(t, string(r), "reason.")
	}
	for _, flaw := range []core.Flaw{
		core.UnknownPlatform,
		core.HiddenCharacters,
		core.NameForAddress,
		core.AnotherChain,
		core.NoPrefix,
		core.WrongLength,
		core.WrongDigits,
		core.WrongChecksum,
		core.SeveralWallets,
		core.Transaction,
		"uid.numeric",
		"uid.evm",
		"uid.btc",
		"uid.tron",
		"uid.ton",
		"uid.sol",
		"uid.email",
	} {
		needWords(t, string(flaw), "invalid.")
	}
}

func TestProblemsOfBadgesHaveTheirWords(t *testing.T) {
	for _, p := range []chat.BadgeProblem{
		chat.CannotHave,
		chat.RulesPending,
		chat.MissingRight,
		chat.RoleAbove,
		chat.NotAllowed,
		chat.TwoFactor,
		chat.BadgeGone,
		chat.CommunityGone,
		chat.BadgeFailed,
	} {
		needWords(t, string(p), "badge.why.")
	}
}

// inDirectChat returns the reply to a line that Ann types in a private chat.
func inDirectChat(t *testing.T, w *commandstest.Answers, line string) *chat.Reply {
	t.Helper()
	typed := strings.Fields(line)
	return w.Router(t).Handle(t.Context(), &chat.Request{
		Command: typed[0][1:],
		Args:    chat.Typed(typed[1:]...),
		From:    ann,
	})
}

func TestWordsThatAreLikeNoArgumentAreIgnored(t *testing.T) {
	for line, same := range map[string]string{
		staked + " please": staked,
		"/staked check 0X" + commandstest.Wallet[2:] + " 👍": staked,
		"/chart $tkn":       "/price 24h",
		"/price chart":      "/price 24h",
		"/price graph 7d":   "/price 7d",
		"/p 7d please":      "/price 7d",
		"/price TKN/USD":    "/price",
		"/price tkn in usd": "/price",
		"/price please":     "/price",
		"/price 7d or 30d":  "/price 30d 90d",
		"/verify wallet " + commandstest.AnnsWallet: verify,
		"/verify my wallet":                         "/verify a b",
	} {
		got := inDirectChat(t, commandstest.Healthy(), line)
		want := inDirectChat(t, commandstest.Healthy(), same)
		if texts(got) != texts(want) || got.About != want.About || got.Title.Key == "forbidden.title" {
			t.Errorf("%s: got\n%s\nwant\n%s", line, texts(got), texts(want))
		}
	}
}

// A newer reply replaces an earlier one that is about the same wallet.
func TestAReplyIsAboutTheWalletAsItIsWritten(t *testing.T) {
	lowerCase := inDirectChat(t, commandstest.Healthy(), "/staked "+strings.ToLower(commandstest.Wallet))
	if lowerCase.About != commandstest.Wallet {
		t.Errorf("%s is about %q", lowerCase.Title.Key, lowerCase.About)
	}
	failed := inDirectChat(t, answersTo(func(w *commandstest.Answers) { w.StakeErr = errInner }), staked)
	if failed.About != commandstest.Wallet {
		t.Errorf("%s is about %q", failed.Title.Key, failed.About)
	}
}

// takesWallet are the beginnings of lines that end with a wallet.
var takesWallet = []string{
	"/staked ",
	"/verify ",
	"/verify " + commandstest.Bob + " ",
	"/save ",
	"/join " + commandstest.Stakers + " ",
}

func TestAWalletIsFoundInTheTextAroundIt(t *testing.T) {
	const bobs = commandstest.BobsWallet
	r := withJoin().Router(t)
	for _, line := range takesWallet {
		want := texts(commandstest.Ask(t, r, line+bobs))
		for _, pasted := range []string{
			"https://explorer.example/address/" + bobs + "?tab=stakes#code",
			"it's (" + bobs + "), I think",
			"\"" + bobs[2:] + "\"",
			strings.ToLower(bobs[2:]),
			"xdc" + bobs[2:],
			"@xdc" + strings.ToLower(bobs[2:]),
			"@" + bobs,
			bobs + " " + bobs,
			"see 0xmine: " + bobs,
			strings.Repeat("-", 2000) + bobs + strings.Repeat("…", 700),
		} {
			got := texts(commandstest.Ask(t, r, line+pasted))
			if got != want || strings.Contains(got, "Check the wallet") {
				t.Errorf("%s%.60s: got\n%s\nwant\n%s", line, pasted, got, want)
			}
		}
	}
	named := &chat.Request{
		Command: "staked",
		Args:    chat.Named(map[string]string{"wallet": "see 0xmine: (" + bobs + ")"}),
	}
	want := texts(commandstest.Ask(t, r, "/staked "+bobs))
	if got := texts(r.Handle(t.Context(), named)); got != want {
		t.Errorf("as a named argument: got\n%s\nwant\n%s", got, want)
	}
}

func TestAnotherChainsChecksumIsWrittenInLowerCase(t *testing.T) {
	const rootstocks = "0x956696E03aA3D62190E65f79911E2788740a1E29" // with the checksum of EIP-1191
	r := withJoin().Router(t)
	for _, line := range takesWallet {
		got := texts(commandstest.Ask(t, r, line+rootstocks))
		lowerCase := texts(commandstest.Ask(t, r, line+strings.ToLower(rootstocks)))
		if !strings.Contains(got, "write it in lower case") || lowerCase == got {
			t.Errorf("%s%s: got\n%s", line, rootstocks, got)
		}
	}
}

func TestTwoWalletsAreRefused(t *testing.T) {
	r := withJoin().Router(t)
	for _, line := range takesWallet {
		for _, both := range []string{
			"https://explorer.example/token/" + commandstest.Wallet + "?a=" + commandstest.BobsWallet,
			commandstest.BobsWallet + " or " + commandstest.Wallet,
		} {
			got := texts(commandstest.Ask(t, r, line+both))
			if !strings.Contains(got, "Which one? I see more than one address.") {
				t.Errorf("%s%s: got\n%s", line, both, got)
			}
		}
	}
}

// A button has room for the wallet, but not for everything that was pasted.
func TestTryAgainRepeatsOnlyTheWallet(t *testing.T) {
	w := withJoin()
	w.StakeErr = errInner
	w.AccountsErr = errInner
	pasted := "https://explorer.example/address/" + strings.ToLower(commandstest.BobsWallet)
	wallet := common.HexToAddress(commandstest.BobsWallet).Hex()
	for _, command := range []string{"staked", "verify"} {
		reply := commandstest.Ask(t, w.Router(t), "/"+command+" "+pasted)
		got := buttons(t, reply)["Try again"]
		if want, _ := chat.TryAgain(command, wallet).State(chat.Version{}); got != want {
			t.Errorf("/%s is tried again by %q, want %q", command, got, want)
		}
	}
}

func TestAUsernameLikeAWalletIsAUsername(t *testing.T) {
	said := texts(commandstest.Ask(t, withJoin().Router(t), "/verify @0xann "+commandstest.BobsWallet))
	if !strings.Contains(said, "Bots can't look up usernames.") {
		t.Errorf("it says %s", said)
	}
}

// helpFor returns what /help with these arguments says to a user in Community.
func helpFor(t *testing.T, user chat.User, role chat.Role, args chat.Args) string {
	t.Helper()
	return texts(commandstest.Healthy().Router(t).Handle(t.Context(), &chat.Request{
		Command:   "help",
		Args:      args,
		From:      user,
		Community: commandstest.Community,
		Role:      role,
	}))
}

func TestHelpExplainsACommandByAnyOfItsNames(t *testing.T) {
	want := helpFor(t, ann, chat.Member, chat.Typed("price"))
	for _, typed := range []string{"/price", "PRICE", "chart", "with price please"} {
		if got := helpFor(t, ann, chat.Member, chat.Typed(strings.Fields(typed)...)); got != want {
			t.Errorf("%s: %s", typed, got)
		}
	}
}

func TestHelpOfNoListedCommandIsTheList(t *testing.T) {
	list := helpFor(t, ann, chat.Member, chat.Args{})
	for _, typed := range []string{"me", "moon please", "save", "details", "join"} {
		for way, args := range map[string]chat.Args{
			"typed":     chat.Typed(strings.Fields(typed)...),
			"an option": chat.Named(map[string]string{"command": typed}),
		} {
			if got := helpFor(t, ann, chat.Moderator, args); got != list {
				t.Errorf("%s, %s: %s", typed, way, got)
			}
		}
	}
}

func TestHelpShowsModeratorsFormsToModerators(t *testing.T) {
	for _, test := range []struct {
		user      chat.User
		role      chat.Role
		moderates bool
	}{
		{user: ann, role: chat.Member, moderates: false},
		{user: ann, role: chat.Moderator, moderates: true},
		{user: ann, role: chat.UnknownRole, moderates: true}, // The Router asks for the role.
		{user: bob, role: chat.UnknownRole, moderates: false},
	} {
		for command, moderatorsForm := range map[string]string{
			"exists": "`/exists Telegram 123456789`",
			"verify": "`/verify 123456789 0x",
		} {
			got := helpFor(t, test.user, test.role, chat.Typed(command))
			if strings.Contains(got, moderatorsForm) != test.moderates || !strings.Contains(got, "`/"+command+"`") {
				t.Errorf("user %s, role %d: %s", test.user.ID, test.role, got)
			}
		}
	}
}

// checkLogged runs a command with the services after change. The reply must be partial, and the error for the log must
// be want, without the wallet.
func checkLogged(
	t *testing.T, change func(*commandstest.Answers), command string, args map[string]string, want string,
) {
	t.Helper()
	reply, err := run(t, allCommands(answersTo(change)), command, args)
	partial, isPartial := errors.AsType[*chat.PartialError](err)
	if reply.Title.Key == "" || !isPartial {
		t.Fatalf("/%s: %v beside %s", command, err, texts(reply))
	}
	if partial.Err.Error() != want {
		t.Errorf("/%s: the log says %q, want %q", command, err, want)
	}
	if strings.Contains(strings.ToLower(err.Error()), strings.ToLower(commandstest.Wallet[2:])) {
		t.Errorf("/%s: the log has the wallet: %q", command, err)
	}
}

func TestTheLogNamesAPoolThatIsUnreadOnce(t *testing.T) {
	unread := []core.UnreadPool{{
		Pool: core.Pool{Address: common.HexToAddress("0x05"), Name: "Pool 05"},
		Err:  staking.Service.Fail(core.Rejected, errors.New("the pool reverted the call")),
	}}
	const want = "pools unread: 1, such as 0x0000000000000000000000000000000000000005: " +
		"chain: rejected: the pool reverted the call"
	undetermined := func(w *commandstest.Answers) {
		w.Stake.Staked = nil
		w.Stake.Failed = unread
	}
	withdrawalUnread := func(w *commandstest.Answers) {
		w.Stake.Failed = unread
		w.Stake.UnbondingFailed = unread
	}
	checkLogged(t, undetermined, "staked", aboutWallet, want)
	checkLogged(t, withdrawalUnread, "staked", aboutWallet, want)
}

func TestTheLogSaysWhyAPriceOrAPictureIsMissing(t *testing.T) {
	noPrice := func(w *commandstest.Answers) {
		w.PriceErr = market.Service.Fail(core.Limited, errors.New("status 429"))
	}
	noPicture := func(w *commandstest.Answers) { w.ChartErr = errInner }
	checkLogged(t, noPrice, "supply", nil, "price: limited: status 429")
	checkLogged(t, noPicture, "price", map[string]string{"period": "7d"}, "inner")
}

func TestAWholeAnswerIsNoError(t *testing.T) {
	reply, err := run(t, allCommands(commandstest.Healthy()), "staked", aboutWallet)
	if err != nil || reply.Title.Key == "" {
		t.Errorf("a stake: %v beside %s", err, texts(reply))
	}
	oldPrice := answersTo(func(w *commandstest.Answers) { w.Price.Stale = true })
	reply, err = run(t, allCommands(oldPrice), "supply", nil)
	if err != nil || reply.Title.Key == "" {
		t.Errorf("a supply at an old price: %v beside %s", err, texts(reply))
	}
}
