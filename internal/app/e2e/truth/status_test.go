package truth

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"herald/internal/chat"
	"herald/internal/sandbox"
	"herald/internal/sandbox/fault"
)

// lines are the messages that name the services' lines in the answer to /status.
var lines = map[string]fault.Target{
	"status.price": fault.Price, "status.supply": fault.Supply, "status.chain": fault.Chain, "status.partner": fault.Partner,
}

// judgeStatus judges each line by itself. A service works as of when it was last
// asked, so that of one whose fault nobody has met this is right.
func judgeStatus(w sandbox.World, r chat.Reply, asked time.Time) (outcomes, error) {
	if len(r.Sections) != 1 || len(r.Sections[0].Fields) != len(lines) || r.Text.Key != "" {
		return nil, errors.New("wrong: not a line for each service")
	}
	got := outcomes{}
	var errs []error
	failing := false
	for _, f := range r.Sections[0].Fields {
		name, _ := f.Name.(chat.Text)
		service, known := lines[name.Key]
		said, _ := f.Value.(chat.Text)
		var err error
		if got[service], err = judgeLine(w, service, said, r.Notes, asked); !known || err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name.Key, errors.Join(err, expect(known, "no service"))))
		}
		failing = failing || said.Key == "status.failing" || got[service] == partial
	}
	title, tone := "status.unsure", chat.Warning
	switch {
	case failing:
		title = "status.some"
	case allRight(got):
		title, tone = "status.all", chat.Positive
	}
	return got, errors.Join(append(errs, expect(r.Title.Key == title && r.Tone == tone, "the title does not go with the lines"))...)
}

func judgeLine(w sandbox.World, service fault.Target, said chat.Text, notes []chat.Text, asked time.Time) (outcome, error) {
	chain := service == fault.Chain
	switch said.Key {
	case "status.fine":
		return right, expect(!chain && recent(said.Args["when"], asked), "asked at another time")
	case "status.fine_block":
		return right, expect(chain && aBlock(said.Args["block"]), "an impossible block")
	case "stake.checked":
		n, err := readStakeNotes([]chat.Text{said})
		return partial, errors.Join(err, expect(chain && aBlock(n.block) && n.pools == len(w.Pools) && n.checked <= n.pools, "an impossible count"))
	case "status.failing":
		if !recent(said.Args["since"], asked) || !recent(said.Args["last"], asked) {
			return "", errors.New("wrong: it failed at another time")
		}
	case "status.unknown":
	default:
		return "", errors.New("wrong: " + said.Key)
	}
	for _, note := range notes {
		if reflect.DeepEqual(note.Args["service"], called[service]) {
			return reason(note, service)
		}
	}
	return "", errors.New("wrong: no reason")
}

// aBlock reports whether v may be the newest block of the sandbox's chain, which
// is a million blocks high when it starts.
func aBlock(v chat.Value) bool {
	b, ok := v.(chat.Block)
	return ok && b.Number >= 990_000 && b.Number < 1_010_000 && time.Since(b.At).Abs() < time.Minute
}
