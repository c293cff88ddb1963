package truth

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/sandbox"
	"herald/internal/sandbox/fault"
)

// tokens is an amount, of which every digit counts. That the exact value of one
// that is shown short can be read as well is tested in package words.
func tokens(d decimal.Decimal) chat.Amount { return chat.Amount{Decimal: d, Symbol: sandbox.Symbol} }

// sameFields compares fields with those that must stand there, in order.
func sameFields(got, want []chat.Field) error {
	if len(got) != len(want) {
		return fmt.Errorf("wrong: %d fields of %d", len(got), len(want))
	}
	var errs []error
	for i := range want {
		errs = append(errs, sameField(got[i], want[i]))
	}
	return errors.Join(errs...)
}

func sameField(got, want chat.Field) error {
	g, w := spelled(got), spelled(want)
	return expect(g == w, g+", which is "+w)
}

// spelled is a field with its types and all digits.
func spelled(f chat.Field) string {
	text := fmt.Sprintf("%v: %T %v", f.Name, f.Value, f.Value)
	if amount, ok := f.Value.(chat.Amount); ok {
		text += " " + amount.Symbol
	}
	return text
}

// stakeNotes is what the notes below a stake tell.
type stakeNotes struct {
	checked, pools int
	unreadLeft     int // pools whose withdrawals are unread
	block          chat.Block
	rest           []chat.Text
}

func readStakeNotes(notes []chat.Text) (n stakeNotes, err error) {
	count := func(note chat.Text, arg string) int {
		c, _ := note.Args[arg].(chat.Count)
		return int(c)
	}
	for _, note := range notes {
		switch note.Key {
		case "stake.checked":
			n.checked, n.pools = count(note, "checked"), count(note, "n")
			n.block, _ = note.Args["block"].(chat.Block)
		case "stake.unstaking_unread":
			n.unreadLeft = count(note, "failed")
			err = errors.Join(err, expect(n.unreadLeft > 0 && count(note, "n") == n.pools, "an impossible count"))
		default:
			n.rest = append(n.rest, note)
		}
	}
	return n, err
}

// judgeStake returns what the sections and notes say of a wallet's stake.
func judgeStake(w sandbox.World, wallet common.Address, sections []chat.Section, notes stakeNotes) (found bool, o outcome, err error) {
	var staked, left []core.PoolAmount
	if wallet == w.Staker {
		staked, left = w.Staked, w.Unbonding
	}
	shown := map[string][]chat.Field{}
	for _, s := range sections {
		shown[s.Heading.Key] = append(shown[s.Heading.Key], s.Fields...)
	}
	unread := notes.pools - notes.checked
	sum, errStaked := amounts(shown["stake.pools"], staked, unread)
	_, errLeft := amounts(shown["stake.unstaking"], left, notes.unreadLeft)
	err = errors.Join(errStaked, errLeft,
		expect(aBlock(notes.block), "an impossible block"),
		expect(notes.pools == len(w.Pools) && unread >= 0, "another number of pools"))

	found = len(shown["stake.pools"]) > 0
	var total []chat.Field
	if found {
		name := "stake.total"
		if unread > 0 {
			name = "stake.at_least"
		}
		total = []chat.Field{{Name: chat.Say(name), Value: tokens(sum)}}
	}
	err = errors.Join(err, sameFields(shown[""], total))
	switch {
	case unread == 0 && notes.unreadLeft == 0:
		return found, right, err
	case found || unread == 0:
		return found, partial, err
	}
	return found, undecided, err
}

func judgeStaked(w sandbox.World, q query, r chat.Reply) (outcomes, error) {
	notes, err := readStakeNotes(r.Notes)
	if err != nil || len(r.Sections) == 0 || len(notes.rest) > 0 {
		return nil, errors.Join(err, errors.New("wrong: no stake, or another note"))
	}
	wallet := common.HexToAddress(q.words[0])
	found, o, err := judgeStake(w, wallet, r.Sections[1:], notes)
	err = errors.Join(err, sameFields(r.Sections[0].Fields, []chat.Field{walletField(wallet)}))
	switch {
	case o == undecided:
		err = errors.Join(err, expect(r.Title.Key == "unchecked.title" && r.Tone == chat.Warning, "a verdict without all pools"), undetermined(r.Text, notes))
	case found:
		err = errors.Join(err, expect(r.Title.Key == "stake.yes" && r.Tone == chat.Positive, "no yes"))
	default:
		err = errors.Join(err, expect(r.Title.Key == "stake.no" && r.Tone == chat.Negative, "no no"))
	}
	return outcomes{fault.Chain: o}, err
}

func walletField(wallet common.Address) chat.Field {
	return chat.Field{Name: chat.Say("stake.wallet"), Value: chat.Address{Hex: wallet.Hex()}}
}

func undetermined(text chat.Text, notes stakeNotes) error {
	key := "stake.undetermined"
	if text.Key == "stake.undetermined_unread" {
		key = text.Key
	}
	return same(text, chat.SayWith(key, chat.Values{"failed": chat.Count(notes.pools - notes.checked), "n": chat.Count(notes.pools)}))
}

// judgeVerify judges whose the wallet is and what it stakes, each by itself.
func judgeVerify(w sandbox.World, q query, r chat.Reply) (outcomes, error) {
	got := outcomes{fault.Partner: right}
	var err error
	verdict := shown{tone: r.Tone, title: r.Title, text: r.Text}
	switch {
	case r.Title.Key == "verify.unknown" && r.Tone == chat.Warning:
		got[fault.Partner], err = reason(r.Text, fault.Partner)
	case q.from.ID == w.Registered.UID("Telegram"):
		err = same(verdict, shown{tone: chat.Positive, title: chat.Say("verify.you.yes"), text: ofService("verify.you.same")})
	default:
		err = same(verdict, shown{tone: chat.Negative, title: chat.Say("verify.you.no"), text: ofService("verify.you.another")})
	}
	wallet := common.HexToAddress(q.words[0])
	if len(r.Sections) < 2 || len(r.Sections[1].Fields) != 1 {
		return nil, errors.Join(err, errors.New("wrong: no stake"))
	}
	err = errors.Join(err, sameFields(r.Sections[0].Fields, []chat.Field{walletField(wallet)}))
	stake, _ := r.Sections[1].Fields[0].Value.(chat.Text)
	if stake.Key == "verify.stake_unchecked" {
		why, _ := stake.Args["why"].(chat.Text)
		var errWhy error
		got[fault.Chain], errWhy = reason(why, fault.Chain)
		return got, errors.Join(err, errWhy, expect(len(r.Sections) == 2, "an answer and an excuse at once"))
	}
	notes, errNotes := readStakeNotes(r.Notes)
	found, o, errStake := judgeStake(w, wallet, r.Sections[2:], notes)
	got[fault.Chain] = o
	switch {
	case o == undecided:
		errStake = errors.Join(errStake, undetermined(stake, notes))
	case found:
		errStake = errors.Join(errStake, expect(stake.Key == "stake.yes", "no yes"))
	default:
		errStake = errors.Join(errStake, expect(stake.Key == "stake.no", "no no"))
	}
	return got, errors.Join(err, errNotes, errStake)
}

func ofService(key string) chat.Text {
	return chat.SayWith(key, chat.Values{"service": chat.Say("exists.service")})
}

// amounts compares the pools shown with the true ones, of which as many may be
// missing as could not be read, and sums up what is shown.
func amounts(fields []chat.Field, truth []core.PoolAmount, unread int) (decimal.Decimal, error) {
	sum := decimal.Zero
	rest := slices.Clone(truth)
	for _, field := range fields {
		i := slices.IndexFunc(rest, func(p core.PoolAmount) bool {
			return sameField(field, chat.Field{Name: chat.Foreign(p.Pool.Name), Value: tokens(p.Amount)}) == nil
		})
		if i < 0 {
			return sum, fmt.Errorf("wrong: %s", spelled(field))
		}
		sum = sum.Add(rest[i].Amount)
		rest = rest[i+1:]
	}
	return sum, expect(len(truth)-len(fields) <= unread, "a pool is missing")
}
