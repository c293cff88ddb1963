package truth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/sandbox"
	"herald/internal/sandbox/fault"
)

// figure is a field that shows a number.
type figure struct {
	name          string
	before, after string
	truth         decimal.Decimal
}

// check compares a field with the figure: tokens exactly, everything else as
// far as its decimals go, which must show four significant digits if it is the
// price.
func (f figure) check(field chat.Field) error {
	shown, err := f.read(field)
	switch {
	case err != nil:
		return err
	case !shown.Equal(f.truth.Round(-shown.Exponent())):
		return fmt.Errorf("wrong: %s is %s and shown as %s", f.name, f.truth, shown)
	case f.after == " HRLD" && !shown.Equal(f.truth):
		return fmt.Errorf("wrong: %s is %s exactly and shown as %s", f.name, f.truth, shown)
	case !f.truth.IsZero() && shown.NumDigits() < min(4, f.truth.NumDigits()) && f.after == "":
		return fmt.Errorf("wrong: %s is shown with %d digits", f.name, shown.NumDigits())
	}
	return nil
}

func (f figure) read(field chat.Field) (decimal.Decimal, error) {
	number, before := strings.CutPrefix(field.Value, f.before)
	number, after := strings.CutSuffix(number, f.after)
	shown, err := decimal.NewFromString(strings.ReplaceAll(number, ",", ""))
	if field.Name != f.name || !before || !after || err != nil || strings.ContainsAny(number, "eE") {
		return decimal.Decimal{}, fmt.Errorf("wrong: %s: %s is not %s", field.Name, field.Value, f.name)
	}
	return shown, nil
}

// inOrder compares fields with the figures that must stand there.
func inOrder(fields []chat.Field, figures []figure) error {
	if len(fields) != len(figures) {
		return fmt.Errorf("wrong: %d figures of %d", len(fields), len(figures))
	}
	var errs []error
	for i, f := range figures {
		errs = append(errs, f.check(fields[i]))
	}
	return errors.Join(errs...)
}

// stakeNotes is what the notes below a stake tell.
type stakeNotes struct {
	pools      int // as far as all were read
	unread     int
	unreadLeft int // pools whose withdrawals are unread
	block      int
	age        int  // of the block, in seconds
	nothing    bool // found, in the pools that could be read
}

func readStakeNotes(notes []string, pools int) (n stakeNotes, err error) {
	for _, note := range notes {
		var of int
		switch {
		case scan(note, "All %d pools were read.", &n.pools):
		case scan(note, "%d of %d pools could not be read.", &n.unread, &of) && of == pools:
		case scan(note, "Withdrawals from %d of %d pools could not be read.", &n.unreadLeft, &of) && of == pools:
		case scan(strings.ReplaceAll(note, ",", ""), "Block %d %d s ago.", &n.block, &n.age):
		case strings.HasPrefix(note, "No stake was found in the pools that could be read,"):
			n.nothing = true
		default:
			return n, fmt.Errorf("wrong: %q", note)
		}
	}
	// The sandbox's chain is a million blocks high when it starts.
	return n, expect(n.block >= 990_000 && n.block < 1_010_000 && n.age < 60, "an impossible block")
}

// scan reads a note of exactly the given form.
func scan(note, format string, numbers ...any) bool {
	_, err := fmt.Sscanf(note, format, numbers...)
	return err == nil
}

func judgeStake(w sandbox.World, q query, r chat.Reply) (outcomes, error) {
	notes, err := readStakeNotes(r.Notes, len(w.Pools))
	if err != nil {
		return nil, err
	}
	wallet, staked, left := w.Idle, []core.PoolAmount(nil), []core.PoolAmount(nil)
	if q.words[0] == w.Staker.Hex() {
		wallet, staked, left = w.Staker, w.Staked, w.Unbonding
	}
	sections := map[string][]chat.Field{}
	for _, s := range r.Sections {
		sections[s.Heading] = s.Fields
	}
	found, errStaked := amounts(sections["Pools"], staked, notes.unread)
	_, errLeft := amounts(sections["Being withdrawn, not staked"], left, notes.unreadLeft)
	delete(sections, "Being withdrawn, not staked")
	err = errors.Join(errStaked, errLeft,
		expect(r.Text == "Wallet "+wallet.Hex(), "another wallet"),
		expect(notes.nothing == (r.Title == "Could not be checked"), "nothing found and not said so"))

	whole := notes.unread == 0 && notes.unreadLeft == 0
	switch {
	case r.Title == "Staked" && r.Tone == chat.Positive && len(staked) > 0:
		total := figure{"Total", "", " HRLD", found}
		if notes.unread > 0 {
			total.name = "At least"
		}
		err = errors.Join(err, inOrder(sections[""], []figure{total}), expect(len(sections) == 2, "another section"))
		if whole {
			return outcomes{fault.Chain: right}, err
		}
		return outcomes{fault.Chain: partial}, err
	case r.Title == "Not staked" && r.Tone == chat.Negative && len(staked) == 0:
		err = errors.Join(err,
			expect(notes.unread == 0 && notes.pools == len(w.Pools) && len(sections) == 0, "a no without all pools"))
		if whole {
			return outcomes{fault.Chain: right}, err
		}
		return outcomes{fault.Chain: partial}, err
	case r.Title == "Could not be checked" && r.Tone == chat.Warning:
		return outcomes{fault.Chain: undecided}, errors.Join(err,
			expect(notes.unread > 0 && len(sections) == 0, "an answer and an excuse at once"))
	}
	return nil, errors.Join(err, errors.New("wrong: "+r.Title))
}

// amounts compares the pools shown with the true ones, of which as many may be
// missing as could not be read, and sums up what is shown.
func amounts(fields []chat.Field, truth []core.PoolAmount, unread int) (decimal.Decimal, error) {
	sum := decimal.Zero
	rest := slices.Clone(truth)
	for _, field := range fields {
		i := slices.IndexFunc(rest, func(p core.PoolAmount) bool {
			return figure{p.Pool.Name, "", " HRLD", p.Amount}.check(field) == nil
		})
		if i < 0 {
			return sum, fmt.Errorf("wrong: %s: %s", field.Name, field.Value)
		}
		sum = sum.Add(rest[i].Amount)
		rest = rest[i+1:]
	}
	return sum, expect(len(truth)-len(fields) <= unread, "a pool is missing")
}
