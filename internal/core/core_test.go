package core

import (
	"errors"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

func TestAnAmountIsReachedByWhatWasRead(t *testing.T) {
	staked := func(amounts ...string) (all []PoolAmount) {
		for _, a := range amounts {
			all = append(all, PoolAmount{Amount: decimal.RequireFromString(a)})
		}
		return all
	}
	unread := []UnreadPool{{}}
	for _, c := range []struct {
		stake  Stake
		amount string
		want   StakerStatus
	}{
		{Stake{Checked: 21, Staked: staked("400", "600")}, "1000", Staker},
		{Stake{Checked: 21, Staked: staked("999.999999999999999999")}, "1000", NotStaker},
		{Stake{Checked: 20, Staked: staked("1000"), Failed: unread}, "1000", Staker},
		{Stake{Checked: 20, Staked: staked("999"), Failed: unread}, "1000", Undetermined},
		{Stake{Checked: 21, Staked: staked("0.000000000000000001")}, "0", Staker},
		{Stake{Checked: 1, Staked: staked("1"), Failed: unread}, "0", Staker},
		{Stake{Checked: 21}, "0", NotStaker},
		{Stake{Checked: 20, Failed: unread}, "0", Undetermined},
		{Stake{}, "0", Undetermined},
	} {
		if got := c.stake.Reaches(decimal.RequireFromString(c.amount)); got != c.want {
			t.Errorf("%+v reaches %s: %v, want %v", c.stake, c.amount, got, c.want)
		}
		if got := c.stake.StakerStatus(); c.amount == "0" && got != c.want {
			t.Errorf("the outcome of %+v is %v, want %v", c.stake, got, c.want)
		}
	}
}

func TestAQuoteIsOldFromATimeOn(t *testing.T) {
	for name, c := range map[string]struct {
		from time.Time
		want bool
	}{"never": {time.Time{}, false}, "in an hour": {time.Now().Add(time.Hour), false}, "now": {time.Now(), true}} {
		if got := (Quote{CurrentUntil: c.from}).Old(); got != c.want {
			t.Errorf("%s: old %t, want %t", name, got, c.want)
		}
	}
}

func TestTheTextOfAnErrorLeavesOutTheRequest(t *testing.T) {
	failed := (&Service{Name: "supply"}).Fail(Rejected, errors.New("answered with status 400"))
	failed.Asked = "GET /total-supply"
	if got := failed.Error(); got != "supply: rejected: answered with status 400" {
		t.Errorf("the text is %q", got)
	}
	if got := failed.During("total supply").Asked; got != failed.Asked {
		t.Errorf("During changes the request to %q", got)
	}
}
