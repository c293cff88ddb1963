package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/app"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/e2etest/truth"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
)

const (
	// trialTTL is every TTL of a trial.
	trialTTL = 200 * time.Millisecond
	// slack is what a busy machine may take beyond a TTL. TTL and slack are less than
	// the longest pause of a service that failed repeatedly.
	slack = 4 * time.Second
	// askAgain is how often a question that awaits an answer is put.
	askAgain = 20 * time.Millisecond
)

// query is a question with whoever asks it.
type query struct {
	truth.Question
	name string
	from chat.User
	// staker is whether the wallet asked about stakes.
	staker bool
}

// queries put every command to which the world has an answer of its own.
func queries(w services.World) (all []query) {
	for _, q := range []struct {
		name, command string
		by            services.Person
		wallet        common.Address
	}{
		{name: "price", command: "price", by: w.Newcomer},
		{name: "supply", command: "supply", by: w.Newcomer},
		{name: "staked of a staker", command: "staked", by: w.Newcomer, wallet: w.Staker},
		{name: "staked of an idle wallet", command: "staked", by: w.Newcomer, wallet: w.Idle},
		{name: "mylogins", command: "mylogins", by: w.Registered},
		{name: "mylogins of a newcomer", command: "mylogins", by: w.Newcomer},
		{name: "exists of a registered", command: "exists", by: w.Registered},
		{name: "exists of an unregistered", command: "exists", by: w.Unregistered},
		{name: "verify of one's own wallet", command: "verify", by: w.Registered, wallet: w.Staker},
		{name: "verify of another's wallet", command: "verify", by: w.Newcomer, wallet: w.Staker},
	} {
		id := q.by.UID("Telegram")
		all = append(all, query{name: q.name, from: chat.User{Platform: "telegram", ID: id}, staker: q.wallet == w.Staker,
			Question: truth.Question{Command: q.command, Account: core.Identity{Platform: "Telegram", UID: id}, Wallet: q.wallet}})
	}
	return all
}

func (q query) needs(service fault.Target) bool {
	worthless := service == fault.Price && q.Wallet != (common.Address{}) && !q.staker
	return slices.Contains(truth.Uses(q.Command), service) && !worthless
}

// trial is the bot as the program assembles it, among services of its own.
type trial struct {
	*fault.Fakes
	judge   *truth.Judge
	bot     *app.Bot
	queries []query
	log     logtest.Buffer
}

func newTrial(t *testing.T, settings ...string) *trial {
	t.Helper()
	tr := &trial{Fakes: e2etest.Sandbox(t)}
	tr.queries, tr.judge = queries(tr.World), truth.NewJudge(tr.World)
	t.Cleanup(func() { tr.checkNothingLeaked(t) }) // runs once the bot is closed
	// The log has everything, and nothing is redacted in it.
	base := e2etest.Settings(tr.Fakes, "UPSTREAM_TIMEOUT=10s")
	tr.bot = e2etest.New(t, slices.Concat(base, e2etest.TTLs(trialTTL), settings), tr.log.Logger())
	return tr
}

// checkNothingLeaked is for the end of a trial, whatever happened in it.
func (tr *trial) checkNothingLeaked(t *testing.T) {
	t.Helper()
	if n := tr.Strayed(); n != 0 {
		t.Errorf("%d requests followed a redirect", n)
	}
	w := tr.World
	e2etest.Secrets{
		"partner's key": tr.SecretKey, "price key": tr.PriceKey, "DID": w.Registered.DID, "person": w.Registered.UID("Telegram"),
		"wallet": w.Staker.Hex()[2:], "wallet in lower case": strings.ToLower(w.Staker.Hex()[2:]),
	}.MustNotShow(t, "the log", tr.log.String())
}

// ask puts a question and judges the answer, which must be honest. On a busy machine a
// price may come too late: then it is there when the question is put again.
func (tr *trial) ask(t *testing.T, q query) truth.Outcomes {
	t.Helper()
	var args []string
	if q.Wallet != (common.Address{}) {
		args = []string{q.Wallet.Hex()}
	}
	for tries := 3; ; tries-- {
		reply := tr.bot.Router.Handle(t.Context(), chat.Request{
			ID: "trial", Command: q.Command, Args: chat.Typed(args...), From: q.from, Chat: "1", Direct: true,
		})
		got, err := tr.judge.Judge(q.Question, e2etest.Lines(reply))
		if err != nil {
			t.Errorf("%s: %v", q.name, err)
		}
		if late := got[fault.Price] == truth.Omitted && !tr.Price.Failing(); !late || tries == 1 {
			return got
		}
	}
}

// askUntil puts a question again and again until done with its answer.
func (tr *trial) askUntil(t *testing.T, q query, within time.Duration, done func(truth.Outcomes) bool) {
	t.Helper()
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	deadline := time.Now().Add(within)
	for {
		got := tr.ask(t, q)
		if t.Failed() || done(got) {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: still %v after %v", q.name, got, within)
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			return
		}
	}
}
